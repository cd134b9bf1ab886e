import BindingMachines
import Essentials
import JSONWire
import Testing

@Suite("A message of a tab")
struct PageMessageTests {
  private static let text =
    #"{"tab":"a1","epoch":"e","seq":7,"ops":[["set","name","x"],["call","go",[]],"#
    + #"["set",["rows","k","done"],true],["call",["rows","k","open"],[3]]]}"#

  private static func fault(_ text: String) -> PageMessage.Fault? {
    do throws(PageMessage.Fault) {
      _ = try PageMessage(Array(text.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test("a message has a tab, an epoch, a number and operations in order")
  func reading() throws {
    let message = try PageMessage(Array(Self.text.utf8))
    #expect(message.tab == "a1" && message.epoch == "e" && message.sequence == 7)
    #expect(
      message.operations == [
        .set(.page("name"), .string("x")), .call(.page("go"), nil),
        .set(.row(list: "rows", key: "k", name: "done"), .bool(true)),
        .call(.row(list: "rows", key: "k", name: "open"), .integer(3)),
      ])
  }

  @Test(
    "a message of any other form is refused as malformed",
    arguments: [
      "", "[]", "{}", "null", #"{"tab":"a","epoch":"e","seq":1}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[],"more":1}"#,
      #"{"tab":"a","epoch":"e","seq":1,"before":[]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[],"before":7}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[],"before":[1]}"#,
      #"{"tab":"a","epoch":"e","seq":-1,"ops":[]}"#, #"{"tab":"a","epoch":"e","seq":1.5,"ops":[]}"#,
      #"{"tab":"a","epoch":7,"seq":1,"ops":[]}"#, #"{"tab":"a b","epoch":"e","seq":1,"ops":[]}"#,
      #"{"tab":"","epoch":"e","seq":1,"ops":[]}"#, #"{"tab":"a.b.c","epoch":"e","seq":1,"ops":[]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":{}}"#, #"{"tab":"a","epoch":"e","seq":1,"ops":[1]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["set","x"]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["put","x",1]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["set",1,1]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["set",["a","b"],1]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["set","x",[1]]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["set","x",{}]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["call","x",[1,2]]]}"#,
      #"{"tab":"a","epoch":"e","seq":1,"ops":[["call","x",1]]}"#,
    ])
  func malformed(_ text: String) {
    guard case .malformed = Self.fault(text) else {
      Issue.record("\(String(describing: Self.fault(text)))")
      return
    }
  }

  @Test("a message is refused as too large beyond each bound, and accepted at it")
  func bounds() {
    func message(_ operations: String) -> String {
      #"{"tab":"a","epoch":"e","seq":1,"ops":["# + operations + "]}"
    }
    func text(_ count: Int) -> String {
      message(#"["set","x",""# + String(repeating: "a", count: count) + #""]"#)
    }
    func key(_ count: Int) -> String {
      message(#"["set",["l",""# + String(repeating: "k", count: count) + #"","x"],1]"#)
    }
    func list(_ count: Int) -> String {
      message(Array(repeating: #"["call","x",[]]"#, count: count).joined(separator: ","))
    }
    #expect(Self.fault(text(BindingLimits.textByteCountMax)) == nil)
    #expect(Self.fault(text(BindingLimits.textByteCountMax + 1)) == .tooLarge("a text"))
    #expect(Self.fault(key(BindingLimits.keyByteCountMax)) == nil)
    #expect(Self.fault(key(BindingLimits.keyByteCountMax + 1)) == .tooLarge("a key"))
    #expect(Self.fault(list(BindingLimits.operationCountMax)) == nil)
    #expect(Self.fault(list(BindingLimits.operationCountMax + 1)) == .tooLarge("ops"))
    let spaces = String(repeating: " ", count: BindingLimits.bodyByteCountMax)
    #expect(Self.fault(Self.text + spaces) == .tooLarge("the body"))
  }

  @Test("a message that is cut or changed is read or refused, and nothing else")
  func mutations() {
    let bytes = Array(Self.text.utf8)
    for end in bytes.indices {
      #expect {
        try PageMessage(Array(bytes[..<end]))
      } throws: { error in
        guard case PageMessage.Fault.malformed(let reason) = error else { return false }
        return reason.hasPrefix("not JSON: ")
      }
    }
    for seed in 0..<5_000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var changed = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8(
          truncatingIfNeeded: random.next())
      }
      _ = try? PageMessage(changed)
    }
  }
}

import BindingMachines
import Essentials
import JSONWire
import PageClient
import Testing

@Suite("The state of a page")
struct PageStateTests {
  private static let schema = {
    var page = BindingScope()
    for name in ["a", "b", "c"] { page.add(BindingScope.Value(name: name, isTwoWay: true)) }
    var row = BindingScope()
    for name in ["x", "y"] { row.add(BindingScope.Value(name: name, isTwoWay: true)) }
    return BindingSchema(page: page, lists: [.init(name: "rows", row: row)])
  }()

  /// A page that gets the texts of a state, as its events have them.
  private struct Reader {
    let client = PageClient(tab: "t")
    var revision: UInt64

    init(_ state: inout PageState) {
      revision = state.revision
      receive("snap", ",\"epoch\":\"e\",\"model\":\"m\",\"a\":0", state.snapshot(), revision)
    }

    mutating func catchUp(_ state: inout PageState) {
      let text = state.patch(since: revision)
      revision = state.revision
      receive("patch", "", text, revision)
    }

    private mutating func receive(
      _ name: String, _ head: String, _ text: [UInt8], _ revision: UInt64
    ) {
      let data = "{\"tab\":\"t\"\(head)" + String(decoding: text, as: UTF8.self) + "}"
      client.receive(StreamEvent(name: name, id: "e-\(revision)", data: data))
    }
  }

  private static func isEqual(_ client: PageClient, to state: PageState) -> Bool {
    let names = schema.page.values.map(\.name)
    let fields = schema.lists[0].row.values.map(\.name)
    return client.faults.isEmpty
      && names.indices.allSatisfy {
        client.values[names[$0]] == state.value(at: ValuePath(.page, $0))
      }
      && client.lists["rows"]?.keys == state.order(of: 0)
      && state.order(of: 0).allSatisfy { key in
        fields.indices.allSatisfy {
          client.lists["rows"]?.rows[key]?[fields[$0]]
            == state.value(at: ValuePath(.row(list: 0, key: key), $0))
        }
      }
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test("a state is written whole as a snapshot, and its changes as a patch")
  func texts() {
    var state = PageState(schema: Self.schema)
    state.set(.string("1"), at: 0)
    state.setRows(
      of: 0, order: ["k", "l"],
      rows: [("k", [.integer(1), .integer(2)]), ("l", [.integer(3), .null])])
    state.commit()
    let snapshot = Self.text(state.snapshot())
    #expect(
      snapshot == #","v":{"a":"1","b":null,"c":null},"#
        + #""l":[["all","rows",[["k",{"x":1,"y":2}],["l",{"x":3,"y":null}]]]]"#)
    let before = state.revision
    let nothing = state.patch(since: before)
    #expect(nothing == [])
    state.set(.bool(true), at: 1)
    state.setRows(
      of: 0, order: ["m", "l"], rows: [("m", [.null, .null]), ("l", [.integer(3), .integer(4)])])
    state.commit()
    let patch = Self.text(state.patch(since: before))
    #expect(
      patch == #","v":{"b":true},"l":[["del","rows","k"],"#
        + #"["ins","rows","m","l",{"x":null,"y":null}],["upd","rows","l",{"y":4}]]"#)
  }

  @Test("a state has no new revision when the value set equals the present one")
  func noChange() {
    var state = PageState(schema: Self.schema)
    state.set(.null, at: 0)
    state.setRows(of: 0, order: [], rows: [])
    let isNothing = !state.commit()
    #expect(isNothing)
    state.set(.integer(1), at: 0)
    let isSomething = state.commit()
    #expect(isSomething)
    let isNothingMore = !state.commit()
    #expect(isNothingMore)
  }

  @Test("a state corrects a value that a client has set, changed or not")
  func corrections() {
    var state = PageState(schema: Self.schema)
    state.setRows(of: 0, order: ["k"], rows: [("k", [.integer(1), .integer(2)])])
    state.commit()
    let paths: Set = [
      ValuePath(.page, 2), ValuePath(.row(list: 0, key: "k"), 1),
      ValuePath(.row(list: 0, key: "gone"), 1),
    ]
    let patch = Self.text(state.patch(since: state.revision, corrections: paths))
    #expect(patch == #","v":{"c":null},"l":[["upd","rows","k",{"y":2}]]"#)
  }

  @Test("a state brings pages up to date from any earlier revision, from 500 seeds")
  func random() {
    for seed in 0..<500 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var state = PageState(schema: Self.schema)
      var readers = [Reader(&state)]
      for step in 0..<120 {
        Self.change(&state, &random, step)
        if Int.random(in: 0..<5, using: &random) == 0 { continue }
        state.commit()
        if Int.random(in: 0..<10, using: &random) == 0 { readers.append(Reader(&state)) }
        // One often, others seldom, the first one hardly ever: its difference isn't known any more.
        for index in readers.indices
        where Int.random(in: 0..<(index == 0 ? 100 : 1 + index * 3), using: &random) == 0 {
          readers[index].catchUp(&state)
          let isEqual = Self.isEqual(readers[index].client, to: state)
          #expect(isEqual, "seed \(seed), step \(step): \(readers[index].client.faults)")
          guard isEqual else { return }
        }
      }
      state.commit()
      for index in readers.indices {
        readers[index].catchUp(&state)
        #expect(Self.isEqual(readers[index].client, to: state), "seed \(seed)")
      }
    }
  }

  /// Changes something, in one or more steps.
  private static func change(_ state: inout PageState, _ random: inout SeededGenerator, _ step: Int)
  {
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        state.set(.integer(Int64(step)), at: Int.random(in: 0..<3, using: &random))
      case 1:
        let rows = state.order(of: 0).filter { _ in Bool.random(using: &random) }
          .map {
            (key: $0, values: [JSON.integer(Int64(step)), .bool(Bool.random(using: &random))])
          }
        state.setRows(of: 0, order: nil, rows: rows)
      default:
        let old = Set(state.order(of: 0))
        let keys = (0..<8).map(String.init).shuffled(using: &random)
          .filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
        let added = keys.filter { !old.contains($0) }
        state.setRows(
          of: 0, order: keys,
          rows: added.map { ($0, [.integer(Int64(step)), .null]) })
      }
    }
  }
}

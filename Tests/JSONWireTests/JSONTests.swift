import Essentials
import JSONWire
import Testing

@Suite("JSON texts")
struct JSONTests {
  private static func parse(_ text: String) throws(JSONError) -> JSON {
    try JSON(parsing: Array(text.utf8))
  }

  @Test("JSON texts are read with numbers as they are written")
  func numbers() throws {
    let text = "[0,-1,9223372036854775807,9223372036854775808,1.5,1e2,-0.25E-1]"
    let expected: [JSON] = [
      .integer(0), .integer(-1), .integer(.max), .number(9_223_372_036_854_775_808), .number(1.5),
      .number(100), .number(-0.025),
    ]
    #expect(try Self.parse(text) == .array(expected))
  }

  @Test("JSON texts keep the order of keys, and all characters of strings")
  func objects() throws {
    let text = #" { "b" : "\u00e9\ud83d\ude00\n\"\/" , "a" : [ null , true , false , { } ] } "#
    let value = try Self.parse(text)
    let expected = JSON.object([
      "b": .string("é😀\n\"/"), "a": .array([.null, .bool(true), .bool(false), .object([])]),
    ])
    #expect(value == expected)
    #expect(value.line == #"{"b":"é😀\n\"/","a":[null,true,false,{}]}"#)
  }

  @Test(
    "an invalid JSON text is refused with the position",
    arguments: [
      ("", 0, "expected a value, found the end"),
      ("01", 0, "\"01\" is not a number"),
      ("1.", 0, "\"1.\" is not a number"),
      ("-", 0, "\"-\" is not a number"),
      ("1e999", 0, "\"1e999\" is not a number"),
      ("nul", 0, "expected a value, found \"n\""),
      ("[1,]", 3, "expected a value, found \"]\""),
      ("{\"a\":1,\"a\":2}", 7, "the key \"a\" is used twice"),
      ("{1:2}", 1, "expected a key in double quotes, found \"1\""),
      ("[1 2]", 3, "expected \",\" or \"]\", found \"2\""),
      ("\"\\ud83d\"", 1, "unknown escape sequence"),
      ("\"\\u12", 1, "unknown escape sequence"),
      ("\"\t\"", 1, "a control character in a string must be written as \\u000…"),
      ("{} {}", 3, "expected the end after the value"),
    ])
  func mistakes(text: String, offset: Int, sentence: String) throws {
    let error = #expect(throws: JSONError.self) { try Self.parse(text) }
    #expect(error == JSONError(offset: offset, reason: "not JSON: " + sentence))
  }

  @Test("a JSON text that is not UTF-8 is refused")
  func encoding() {
    for bytes: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
      let error = #expect(throws: JSONError.self) { try JSON(parsing: [0x22] + bytes + [0x22]) }
      #expect(error?.reason == "not JSON: the text is not UTF-8")
    }
  }

  @Test("JSON texts are written without control characters, line breaks and changes of direction")
  func escapes() {
    let text = "\u{0}\u{1B}[31m\u{85}\u{2028}\u{2029}\u{202E}\u{7F}\r\n\t\\"
    let line = JSON.string(text).line
    let expected =
      #""\u0000\u001b[31m\u0085\u2028\u2029\u202e\u007f\r\n\t\\""#
    #expect(line == expected)
    #expect(line.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
  }

  @Test("JSON texts have every invisible character as an escape, and come back as they were")
  func formatCharacters() throws {
    let line = JSON.string("a\u{200F}\u{2066}b\u{2069}\u{61C}\u{FEFF}\u{E0041}").line
    #expect(line == #""a\u200f\u2066b\u2069\u061c\ufeff\udb40\udc41""#)
    // Fillers that have no width, a combining joiner, selectors of variants.
    #expect(
      JSON.string("\u{3164}\u{115F}\u{FFA0}\u{34F}\u{180B}\u{E0100}").line
        == #""\u3164\u115f\uffa0\u034f\u180b\udb40\udd00""#)
    let all = String(
      String.UnicodeScalarView(
        (0x80...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap(Unicode.Scalar.init)
          .filter { $0.properties.generalCategory == .format }))
    let written = JSON.string(all).line
    let raw = written.unicodeScalars.filter { !$0.isASCII }
    #expect(Array(raw) == ["\u{200D}"])
    #expect(try Self.parse(written) == .string(all))
    // Visible characters stay as they are.
    #expect(JSON.string("é\u{2019}👩\u{200D}🔬❤\u{FE0F}").line == "\"é\u{2019}👩\u{200D}🔬❤\u{FE0F}\"")
  }

  @Test("numbers without a JSON form are written as null")
  func infinity() {
    #expect(JSON.array([.number(.infinity), .number(.nan)]).line == "[null,null]")
  }

  @Test("JSON texts come back from values as they were, from 2,000 seeds")
  func roundTrip() throws {
    for seed in 0..<2_000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let value = Self.value(depth: 0, &random)
      var bytes: [UInt8] = []
      value.write(to: &bytes)
      let read = try JSON(parsing: bytes)
      #expect(read == value, "seed \(seed)")
      guard read == value else { return }
    }
  }

  @Test("JSON texts that are cut or changed in one byte are read or refused, and nothing else")
  func mutations() throws {
    for seed in 0..<300 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var bytes: [UInt8] = []
      JSON.array([Self.value(depth: 0, &random)]).write(to: &bytes)
      for end in bytes.indices {
        let error = #expect(throws: JSONError.self, "seed \(seed)") {
          try JSON(parsing: Array(bytes[..<end]))
        }
        #expect((0...end).contains(error?.offset ?? -1), "seed \(seed)")
      }
      for index in bytes.indices {
        var changed = bytes
        changed[index] = UInt8.random(in: 0...255, using: &random)
        if let value = try? JSON(parsing: changed) {
          #expect(try JSON(parsing: Array(value.line.utf8)) == value, "seed \(seed)")
        }
      }
    }
  }

  private static func value(depth: Int, _ random: inout SeededGenerator) -> JSON {
    switch Int.random(in: 0..<(depth < 4 ? 8 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .integer(Int64(bitPattern: random.next()))
    case 3: return .number(Double.random(in: -1...1, using: &random) + 0.125)
    case 4, 5: return .string(text(&random))
    case 6:
      let count = Int.random(in: 0..<4, using: &random)
      return .array((0..<count).map { _ in value(depth: depth + 1, &random) })
    default:
      let count = Int.random(in: 0..<4, using: &random)
      return .object(
        (0..<count).map {
          JSON.Member(key: "\($0)" + text(&random), value: value(depth: depth + 1, &random))
        })
    }
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    let scalars = Array("a\"\\\n\u{1}é\u{2028}😀\u{7F}".unicodeScalars)
    var text = ""
    for _ in 0..<Int.random(in: 0..<6, using: &random) {
      text.unicodeScalars.append(scalars.randomElement(using: &random) ?? "a")
    }
    return text
  }
}

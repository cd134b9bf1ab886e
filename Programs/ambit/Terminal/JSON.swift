import Foundation

/// A JSON value whose objects keep the order of their keys, so that lines read well and stay stable.
indirect enum JSON: Hashable, Sendable {
  case string(String)
  case integer(Int64)
  case number(Double)
  case bool(Bool)
  case array([JSON])
  case object([Member])

  /// A key with its value.
  struct Member: Hashable, Sendable {
    var key: String
    var value: JSON
  }

  /// An object of those members that have a value.
  static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(
      members.compactMap { pair in pair.value.map { Member(key: pair.key, value: $0) } })
  }

  /// The value on one line, without blanks.
  var line: String {
    switch self {
    case .string(let text): return Self.quoted(text)
    case .integer(let value): return String(value)
    case .number(let value): return value.isFinite ? String(value) : "null"
    case .bool(let value): return value ? "true" : "false"
    case .array(let values): return "[" + values.map(\.line).joined(separator: ",") + "]"
    case .object(let members):
      let parts = members.map { Self.quoted($0.key) + ":" + $0.value.line }
      return "{" + parts.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension JSON {
  /// A point in time as `2026-01-31T12:00:00.123Z`.
  static func time(_ date: Date) -> JSON {
    .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }
}

extension JSON: Decodable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Any JSON; keys come in the order of the alphabet. Nulls in arrays are an error.
  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: Key.self) {
      let keys = object.allKeys.sorted { $0.stringValue < $1.stringValue }
      self = .object(
        try keys.map {
          Member(key: $0.stringValue, value: try object.decode(JSON.self, forKey: $0))
        })
      return
    }
    if var array = try? decoder.unkeyedContainer() {
      var elements: [JSON] = []
      while !array.isAtEnd { elements.append(try array.decode(JSON.self)) }
      self = .array(elements)
      return
    }
    let value = try decoder.singleValueContainer()
    if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int64.self) {
      self = .integer(integer)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else {
      self = .string(try value.decode(String.self))
    }
  }

  /// What a value is when it is encoded, so that all of it is there.
  init(encoding value: some Encodable) throws {
    self = try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(value))
  }
}

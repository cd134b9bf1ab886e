import Foundation

/// Any JSON value, as `JSONDecoder` finds it.
enum JSONValue: Decodable, Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// What kind of value it is, for a sentence.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

/// A value with its place in the file, so that every complaint says where and what was expected.
struct JSONField {
  let path: String
  let value: JSONValue

  /// The failure that names this place.
  func failure(_ sentence: String) -> CommandFailure {
    CommandFailure(.badData, path.isEmpty ? sentence : "\(path): \(sentence)")
  }

  func expected(_ what: String) -> CommandFailure {
    failure("expected \(what), found \(value.kind)")
  }

  /// The members of an object that may have these keys only.
  func object(keys: [String]) throws -> JSONObject {
    guard case .object(let members) = value else { throw expected("an object") }
    for key in members.keys.sorted() where !keys.contains(key) {
      let hint =
        Self.nearest(String(key.prefix(64)), keys).map { "did you mean \"\($0)\"?" }
        ?? "known keys are \(keys.joined(separator: ", "))"
      throw failure("unknown key \"\(key)\"; \(hint)")
    }
    return JSONObject(path: path, members: members)
  }

  func array() throws -> [JSONField] {
    guard case .array(let values) = value else { throw expected("an array") }
    return values.enumerated().map { JSONField(path: "\(path)[\($0.offset)]", value: $0.element) }
  }

  func string() throws -> String {
    guard case .string(let text) = value else { throw expected("a string") }
    return text
  }

  func bool() throws -> Bool {
    guard case .bool(let value) = value else { throw expected("true or false") }
    return value
  }

  func number() throws -> Double {
    guard case .number(let value) = value else { throw expected("a number") }
    return value
  }

  /// The key that was probably meant.
  private static func nearest(_ key: String, _ keys: [String]) -> String? {
    let distances = keys.map { ($0, distance($0.lowercased(), key.lowercased())) }
    guard let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(2, key.count / 2) else {
      return nil
    }
    return best.0
  }

  /// How many letters must be put in, taken away or changed to make one of the other
  /// (Levenshtein).
  private static func distance(_ a: String, _ b: String) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let change = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(change, row[j] + 1, diagonal + 1)
      }
    }
    return row[b.count]
  }
}

/// An object's members with its place in the file.
struct JSONObject {
  let path: String
  let members: [String: JSONValue]

  /// The member, if it is there.
  subscript(key: String) -> JSONField? {
    members[key].map { JSONField(path: path.isEmpty ? key : "\(path).\(key)", value: $0) }
  }

  /// The member, which must be there.
  func required(_ key: String, _ what: String) throws -> JSONField {
    if let field = self[key] { return field }
    let place = path.isEmpty ? "" : "\(path): "
    throw CommandFailure(.badData, "\(place)the key \"\(key)\" is missing; expected \(what)")
  }
}

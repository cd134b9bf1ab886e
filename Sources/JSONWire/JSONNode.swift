/// A JSON value with its position in the text (RFC 8259).
package struct JSONNode: Hashable, Sendable {
  package enum Value: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without a fraction and an exponent that fits in 64 bits.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONNode])
    /// The members in the order of the text, with distinct keys.
    case object([Member])
  }

  package struct Member: Hashable, Sendable {
    package var key: String
    /// The offset of the key.
    package var offset: Int
    package var value: JSONNode
  }

  package var value: Value
  /// The offset of the value, in bytes from the start of the text.
  package var offset: Int

  /// The kind of the value, for error messages.
  package var kind: String {
    switch value {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The value without its positions.
  package var json: JSON {
    switch value {
    case .null: .null
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .number(let value): .number(value)
    case .string(let value): .string(value)
    case .array(let elements): .array(elements.map(\.json))
    case .object(let members):
      .object(members.map { JSON.Member(key: $0.key, value: $0.value.json) })
    }
  }
}

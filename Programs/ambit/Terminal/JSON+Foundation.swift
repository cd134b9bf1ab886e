package import Foundation
package import JSONWire

extension JSON {
  /// A point in time as `2026-01-31T12:00:00.123Z`.
  package static func time(_ date: Date) -> JSON {
    .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }

  /// What a value is when it is encoded, so that all of it is there. Keys come in the order of the
  /// alphabet.
  init(encoding value: some Encodable) throws {
    self = try JSON(parsing: Array(JSONEncoder().encode(value))).sorted
  }

  private var sorted: JSON {
    switch self {
    case .array(let elements): return .array(elements.map(\.sorted))
    case .object(let members):
      let sorted = members.map { Member(key: $0.key, value: $0.value.sorted) }
      return .object(sorted.sorted { $0.key < $1.key })
    case .null, .bool, .integer, .number, .string: return self
    }
  }
}

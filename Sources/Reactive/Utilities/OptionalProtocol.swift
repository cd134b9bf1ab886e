/// An optional, seen from a generic constraint.
public protocol OptionalProtocol: ExpressibleByNilLiteral, SendableMetatype {
  /// What it holds when it isn't nil.
  associatedtype Wrapped

  /// The same value again.
  init(reconstructing value: Wrapped?)

  /// The value as an `Optional`.
  var optional: Wrapped? { get }
}

extension Optional: OptionalProtocol {
  /// The optional itself.
  public var optional: Wrapped? { self }

  /// The optional itself.
  public init(reconstructing value: Wrapped?) {
    self = value
  }
}

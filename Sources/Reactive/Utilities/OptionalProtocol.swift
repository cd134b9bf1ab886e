/// A protocol for generic constraints, to which only `Optional` conforms.
public protocol OptionalProtocol: ExpressibleByNilLiteral, SendableMetatype {
  /// The type of the wrapped value.
  associatedtype Wrapped

  /// Creates the optional from an `Optional` of the same value.
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

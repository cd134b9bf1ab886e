/// Distinguishes overloads for the Swift 5 language mode from those for Swift 6. Callers never pass
/// it.
@_documentation(visibility: internal)
public struct Swift5: Sendable {
  /// Creates the only value.
  public init() {}
}

/// Tells what the Swift 5 language mode sees from what Swift 6 sees. Never written by callers.
@_documentation(visibility: internal)
public struct Swift5: Sendable {
  /// The only one.
  public init() {}
}

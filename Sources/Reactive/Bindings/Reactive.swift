/// A type that can be extended with reactive members. They are found under `reactive`, so that they
/// don't collide with its own.
public protocol ReactiveExtensionsProvider {}

extension ReactiveExtensionsProvider {
  /// The reactive members of an instance.
  public var reactive: Reactive<Self> { Reactive(self) }

  /// The reactive members of the type.
  public static var reactive: Reactive<Self>.Type { Reactive<Self>.self }
}

/// The namespace of reactive members: `extension Reactive where Base: Door { … }`.
public struct Reactive<Base> {
  /// The instance whose reactive members these are.
  public let base: Base

  fileprivate init(_ base: Base) {
    self.base = base
  }
}

extension Reactive: Sendable where Base: Sendable {}

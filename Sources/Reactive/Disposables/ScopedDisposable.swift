/// Disposes of its content when it is deinitialised, or earlier by hand.
public final class ScopedDisposable<Inner: Disposable>: Disposable {
  /// The content.
  public let inner: Inner

  /// Whether the content has been disposed.
  public var isDisposed: Bool { inner.isDisposed }

  /// Ties the life of `disposable` to the new object's.
  public init(_ disposable: Inner) {
    inner = disposable
  }

  deinit {
    dispose()
  }

  /// Disposes of the content.
  public func dispose() {
    inner.dispose()
  }
}

extension ScopedDisposable where Inner == AnyDisposable {
  /// Ties the life of `disposable` to the new object's.
  public convenience init(_ disposable: any Disposable) {
    self.init(AnyDisposable(disposable))
  }
}

extension ScopedDisposable where Inner == CompositeDisposable {
  /// Adds a disposable to the content.
  @discardableResult
  public static func += (
    lhs: ScopedDisposable<CompositeDisposable>, rhs: (any Disposable)?
  ) -> (any Disposable)? {
    lhs.inner.add(rhs)
  }

  /// Adds an action to the content.
  @preconcurrency
  @discardableResult
  public static func += (
    lhs: ScopedDisposable<CompositeDisposable>, rhs: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    lhs.inner.add(rhs)
  }
}

extension ScopedDisposable where Inner == SerialDisposable {
  /// The content of the serial disposable; setting it disposes of the previous one.
  public var inner: (any Disposable)? {
    get { (inner as SerialDisposable).inner }
    set { (inner as SerialDisposable).inner = newValue }
  }
}

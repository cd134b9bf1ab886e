/// The observable lifetime of an object: it ends once, when its token is deinitialised or disposed
/// of.
///
/// An object that wants to be observed holds a ``Token`` and hands out the lifetime:
///
/// ```swift
/// final class Session {
///   let lifetime: Lifetime
///   private let token: Lifetime.Token
///   init() { (lifetime, token) = Lifetime.make() }
/// }
/// ```
public final class Lifetime: Sendable {
  /// What to do at the end.
  let disposables: CompositeDisposable

  /// Whether the lifetime has ended.
  public var hasEnded: Bool { disposables.isDisposed }

  /// The lifetime that ends when `disposables` is disposed of.
  init(_ disposables: CompositeDisposable) {
    self.disposables = disposables
  }

  /// The lifetime that `token` ends.
  public convenience init(_ token: Token) {
    self.init(token.disposables)
  }

  /// Runs `action` when the lifetime ends, on the thread that ends it; at once if it has ended.
  ///
  /// - Returns: A disposable that removes the action. Nil if the lifetime has ended.
  @available(swift 6)
  @discardableResult
  public func observeEnded(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    disposables.add(action)
  }

  /// Disposes of `disposable` at the end of `lifetime`; at once if it has ended.
  ///
  /// - Returns: A disposable that removes it. Nil if nothing was added or the lifetime has ended.
  @discardableResult
  public static func += (
    lifetime: Lifetime, disposable: (any Disposable)?
  ) -> (any Disposable)? {
    lifetime.disposables.add(disposable)
  }

  /// Disposes of `disposable` at the end, or at once if that has come; it can't be removed again.
  func hold(_ disposable: (any Disposable)?) {
    if let disposable { disposables.hold(disposable) }
  }

  /// A lifetime and the token that ends it.
  public static func make() -> (lifetime: Lifetime, token: Token) {
    let token = Token()
    return (Lifetime(token), token)
  }

  /// A lifetime that has ended.
  public static let empty: Lifetime = {
    let disposables = CompositeDisposable()
    disposables.dispose()
    return Lifetime(disposables)
  }()

  /// Ends a lifetime when it is deinitialised, or earlier by hand.
  public final class Token: Sendable {
    fileprivate let disposables = CompositeDisposable()

    /// The token of a lifetime that has not ended.
    public init() {}

    deinit {
      dispose()
    }

    /// Ends the lifetime.
    public func dispose() {
      disposables.dispose()
    }
  }
}

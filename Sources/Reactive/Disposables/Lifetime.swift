/// The life of an object, as something that can be observed: it ends once, when its token does.
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

  /// Whether the end has come.
  public var hasEnded: Bool { disposables.isDisposed }

  /// The lifetime that ends when `disposables` is disposed of.
  init(_ disposables: CompositeDisposable) {
    self.disposables = disposables
  }

  /// The lifetime that `token` ends.
  public convenience init(_ token: Token) {
    self.init(token.disposables)
  }

  /// Runs `action` at the end, on the thread that ends the life; at once if it has ended.
  ///
  /// - Returns: A disposable that takes the action back. Nil if the end has come.
  @available(swift 6)
  @discardableResult
  public func observeEnded(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    disposables.add(action)
  }

  /// Disposes of `disposable` at the end of `lifetime`; at once if it has ended.
  ///
  /// - Returns: A disposable that takes it out again. Nil if there was nothing to add or the end
  ///   has come.
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

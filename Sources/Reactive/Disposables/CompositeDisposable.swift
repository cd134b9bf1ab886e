/// A set of disposables that are disposed together, in the order in which they were added.
public final class CompositeDisposable: Disposable {
  /// The disposables that are not disposed of yet; nil once disposed. One lock guards both facts,
  /// so that an addition that races the disposal is either disposed with the others or by the
  /// adder.
  private let members: Locked<TokenList<any Disposable>?>

  /// Whether ``dispose()`` has been called.
  public var isDisposed: Bool {
    members.withLock { $0 == nil }
  }

  /// The disposables that are not disposed of yet.
  var content: [any Disposable] {
    members.withLock { $0?.elements ?? [] }
  }

  /// A composite of the given disposables.
  public init<S: Sequence>(_ disposables: S) where S.Element == any Disposable {
    var list = TokenList<any Disposable>()
    for disposable in disposables { list.insert(disposable) }
    members = Locked(list)
  }

  /// A composite of the given disposables, leaving out nil.
  public convenience init<S: Sequence>(_ disposables: S) where S.Element == (any Disposable)? {
    self.init(disposables.compactMap { $0 })
  }

  /// Creates an empty composite.
  public convenience init() {
    self.init([any Disposable]())
  }

  /// Disposes of every member, in the order in which they were added.
  public func dispose() {
    guard let list = members.withLock({ $0.take() }) else { return }
    for disposable in list.elements { disposable.dispose() }
  }

  /// Adds a disposable; disposes of it at once if the composite has been disposed.
  ///
  /// - Returns: A disposable that removes it without disposing of it. Nil if nothing was added: the
  ///   argument was nil, or it or the composite has been disposed.
  @discardableResult
  public func add(_ disposable: (any Disposable)?) -> (any Disposable)? {
    guard let disposable, let token = insert(disposable) else { return nil }
    return AnyDisposable { [weak self] in
      // Returned out of the lock, so that a deinitialiser that it starts may add or remove.
      _ = self?.members.withLock { $0?.remove(using: token) }
    }
  }

  /// Adds a disposable that can't be removed again.
  func hold(_ disposable: any Disposable) {
    _ = insert(disposable)
  }

  /// - Returns: Nil if `disposable` wasn't inserted because it or this is disposed; then it is
  ///   disposed of now.
  private func insert(_ disposable: any Disposable) -> TokenList<any Disposable>.Token? {
    let token = disposable.isDisposed ? nil : members.withLock { $0?.insert(disposable) }
    if token == nil { disposable.dispose() }
    return token
  }

  /// Adds an action to be run at disposal; runs it at once if the composite has been disposed.
  ///
  /// - Returns: A disposable that removes the action. Nil if the action has run.
  @available(swift 6)
  @discardableResult
  public func add(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    add(AnyDisposable(action))
  }

  /// Adds a disposable, as `add` does.
  @discardableResult
  public static func += (
    lhs: CompositeDisposable, rhs: (any Disposable)?
  ) -> (any Disposable)? {
    lhs.add(rhs)
  }

  /// Adds an action, as ``add(_:)-(()->Void)`` does.
  @preconcurrency
  @discardableResult
  public static func += (
    lhs: CompositeDisposable, rhs: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    lhs.add(rhs)
  }
}

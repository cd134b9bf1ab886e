/// A disposable with exchangeable content. The replaced content is disposed of.
public final class SerialDisposable: Disposable {
  private struct State {
    var inner: (any Disposable)?
    var isDisposed = false
  }

  private let state: Locked<State>

  /// Whether ``dispose()`` has been called.
  public var isDisposed: Bool {
    state.withLock { $0.isDisposed }
  }

  /// The content. Setting it disposes of the previous one; once this has been disposed, new content
  /// is disposed of at once.
  public var inner: (any Disposable)? {
    get { state.withLock { $0.inner } }
    set {
      let unwanted = state.withLock { state in
        guard !state.isDisposed else { return newValue }
        let previous = state.inner
        state.inner = newValue
        return previous
      }
      unwanted?.dispose()
    }
  }

  /// Sets the content to what `start` returns, unless what it has started has set another by then:
  /// work that is scheduled may be done, on another thread, before its disposable is here.
  func setInner(byStarting start: () -> (any Disposable)?) {
    let place = SerialDisposable()
    inner = place
    place.inner = start()
  }

  /// A serial disposable with the given content.
  public init(_ disposable: (any Disposable)? = nil) {
    state = Locked(State(inner: disposable))
  }

  /// Disposes of the content, and from now on of any new content.
  public func dispose() {
    let inner = state.withLock { state in
      state.isDisposed = true
      return state.inner.take()
    }
    inner?.dispose()
  }
}

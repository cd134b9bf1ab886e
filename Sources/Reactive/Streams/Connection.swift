internal import Synchronization

/// What one start of a producer holds on to, from its source to its last operator, and what a
/// signal disposes of at its end.
///
/// Disposing of it interrupts the root, if there is one, so that the interruption goes down the
/// chain as an event, in its turn; what else there is to dispose of follows.
@usableFromInline
final class Connection: Disposable {
  private struct State {
    var root: (any Disposable)?
    /// Interrupts a source that enters elsewhere.
    var source: (any Disposable)?
    var rest: CompositeDisposable?
    var input: UncheckedTransfer<AnyObject>?
    var isTornDown = false
  }
  private let state = Locked(State())
  private let disposed = Synchronization.Atomic(false)

  init() {}

  /// The connection of a stream that enters at `root`.
  init(root: any Disposable) {
    state.withLock { $0.root = root }
  }

  /// Whether the source is to send no more.
  @usableFromInline var isDisposed: Bool { disposed.load(ordering: .acquiring) }

  /// Puts the connection of a start under the control of its root.
  func setRoot(_ root: any Disposable) {
    state.withLock { if !$0.isTornDown { $0.root = root } }
    if isDisposed { root.dispose() }
  }

  /// Has `source` interrupted before all else is disposed of.
  func setSource(_ source: any Disposable) {
    let isTornDown = state.withLock { state in
      if !state.isTornDown { state.source = source }
      return state.isTornDown
    }
    if isTornDown { source.dispose() }
  }

  func isRoot(_ object: AnyObject) -> Bool {
    state.withLock { $0.root === object }
  }

  /// The life of the connection.
  var lifetime: Lifetime { Lifetime(rest) }

  private var rest: CompositeDisposable {
    let (rest, isTornDown) = state.withLock { state in
      if let rest = state.rest { return (rest, false) }
      let rest = CompositeDisposable()
      state.rest = rest
      return (rest, state.isTornDown)
    }
    if isTornDown { rest.dispose() }
    return rest
  }

  /// Disposes of `disposable` with the connection; at once if that has been disposed.
  func add(_ disposable: (any Disposable)?) {
    if let disposable { rest.hold(disposable) }
  }

  /// Keeps an input while the connection lasts.
  func hold(_ input: AnyObject) {
    let transfer = UncheckedTransfer(input)
    state.withLock { if !$0.isTornDown { $0.input = transfer } }
  }

  /// Interrupts the root, or, where there is none, tears down.
  @usableFromInline
  func dispose() {
    guard !disposed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if let root = state.withLock({ $0.root }) { root.dispose() } else { release() }
  }

  /// Disposes of everything but the root, which has ended.
  func tearDown() {
    disposed.store(true, ordering: .releasing)
    release()
  }

  private func release() {
    let (source, rest, input) = state.withLock { state in
      state.isTornDown = true
      state.root = nil
      return (state.source.take(), state.rest, state.input.take())
    }
    // Its loss may interrupt: not under the lock.
    withExtendedLifetime(input) {}
    source?.dispose()
    rest?.dispose()
  }
}

/// A connection, and the input that the source was given: when neither is retained any more, the
/// source can't send, and its stream is interrupted.
final class HeldConnection: Disposable, @unchecked Sendable {
  let connection: Connection
  // Only held. Set once at most, by the start, which holds this meanwhile.
  private var input: AnyObject?

  init(_ connection: Connection, holding input: AnyObject? = nil) {
    self.connection = connection
    self.input = input
  }

  func hold(_ input: AnyObject) { self.input = input }

  var isDisposed: Bool { connection.isDisposed }
  func dispose() { connection.dispose() }
}

// MARK: Debugging

extension Connection: GraphLink {
  var graphSource: AnyObject? { state.withLock { $0.root } }

  /// What is still to be disposed of.
  var content: [(any Disposable)?] {
    let (source, rest) = state.withLock { ($0.source, $0.rest) }
    return [source] + (rest?.content ?? [])
  }
}

extension HeldConnection: GraphLink {
  var graphSource: AnyObject? { connection.graphSource }
}

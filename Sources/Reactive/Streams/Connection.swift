internal import Synchronization

/// The cancellation of one start of a producer, from its sink up to the part at which its events
/// come in.
///
/// That part is the connection's *entry*: a ``Root``, or an operator that has a scheduler. The
/// entry starts its upstream with a connection of its own, which is among the resources of this
/// one. So disposal enters a chain at its most downstream entry: that delivers an interruption and
/// then releases the resources, which disposes of the connection above, and so on up to the source.
/// It works in the same way whether the upstream is running, has ended or hasn't been started.
@usableFromInline
final class Connection: Disposable {
  private struct State {
    var entry: (any Disposable)?
    var resources: CompositeDisposable?
    var isTornDown = false
  }
  private let state = Locked(State())
  private let disposed = Synchronization.Atomic(false)

  init() {}

  /// Whether nothing more is to be sent.
  @usableFromInline var isDisposed: Bool { disposed.load(ordering: .acquiring) }

  /// Makes `entry` the part that an interruption is delivered by. It must call ``tearDown(by:)``
  /// at its end.
  func setEntry(_ entry: any Disposable) {
    state.withLock { if !$0.isTornDown { $0.entry = entry } }
    if isDisposed { entry.dispose() }
  }

  /// Ends when the connection is torn down.
  var lifetime: Lifetime { Lifetime(resources) }

  private var resources: CompositeDisposable {
    let (resources, isTornDown) = state.withLock { state in
      if let resources = state.resources { return (resources, false) }
      let resources = CompositeDisposable()
      state.resources = resources
      return (resources, state.isTornDown)
    }
    if isTornDown { resources.dispose() }
    return resources
  }

  /// Disposes of `disposable` when the connection is torn down; at once if it has been.
  func add(_ disposable: (any Disposable)?) {
    if let disposable { resources.hold(disposable) }
  }

  /// Retains an input until the connection is torn down.
  func hold(_ input: AnyObject?) {
    if let input { resources.hold(HeldInput(input)) }
  }

  /// Interrupts the entry. Without an entry the events come from a loop, which checks
  /// ``isDisposed``: then there is nothing to deliver, and the connection is torn down.
  @usableFromInline
  func dispose() {
    guard !disposed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if let entry = state.withLock({ $0.entry }) { entry.dispose() } else { tearDown(by: self) }
  }

  /// Releases everything. To be called by the entry at its end, or by a part further down that has
  /// become unreachable: the entry is then disposed of.
  func tearDown(by part: AnyObject) {
    disposed.store(true, ordering: .releasing)
    let (entry, resources) = state.withLock { state in
      state.isTornDown = true
      return (state.entry.take(), state.resources)
    }
    if let entry, entry !== part { entry.dispose() }
    resources?.dispose()
  }
}

/// Retains the input of a source, whose loss would interrupt the source, until it is disposed of.
// Sendable: it is only retained, and released under no lock by whichever thread disposes.
final class HeldInput: Disposable, @unchecked Sendable {
  private let input: Locked<AnyObject?>

  init(_ input: AnyObject) {
    self.input = Locked(input)
  }

  var isDisposed: Bool { input.withLock { $0 == nil } }

  func dispose() {
    // Its deinitialiser may interrupt: not under the lock.
    let released = input.withLock { $0.take() }
    withExtendedLifetime(released) {}
  }
}

/// What a start returns: a connection, and the input that the source was given. When neither this
/// nor the source retains the input any more, the source can't send, and the run is interrupted.
final class Run: Disposable, @unchecked Sendable {
  let connection: Connection
  // Only retained. Set once at most, by the start, which holds this meanwhile.
  private var input: AnyObject?

  init(_ connection: Connection) {
    self.connection = connection
  }

  func hold(_ input: AnyObject?) { self.input = input }

  var isDisposed: Bool { connection.isDisposed }
  func dispose() { connection.dispose() }
}

// MARK: Debugging

extension Connection: GraphLink {
  var graphSource: AnyObject? { state.withLock { $0.entry } }

  /// The disposables that are not disposed of yet.
  var content: [(any Disposable)?] { state.withLock { $0.resources }?.content ?? [] }
}

extension Run: GraphLink {
  var graphSource: AnyObject? { connection.graphSource }
}

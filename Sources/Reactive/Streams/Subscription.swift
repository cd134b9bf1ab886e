internal import Synchronization

/// One observation of a signal: what the signal delivers to, and what ends the observation.
@usableFromInline
class Subscription<Value, Error: Swift.Error>: StreamObserver<Value, Error>, Disposable,
  @unchecked Sendable
{
  private let disposed = Synchronization.Atomic(false)
  private let isLookedAt = Synchronization.Atomic(false)
  // Read and cleared by the one caller that turned `disposed` to true. Others may look at it before.
  private var core: (any SignalCore<Value, Error>)?

  @usableFromInline
  init(to core: any SignalCore<Value, Error>) {
    self.core = core
  }

  @inline(__always)
  final var isActive: Bool { !disposed.load(ordering: .relaxed) }

  @usableFromInline final var isDisposed: Bool { disposed.load(ordering: .acquiring) }

  @usableFromInline
  final func dispose() {
    guard !disposed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    waitForLooks()
    // Not `take()`, which has to look up the type of the optional.
    let core = self.core
    self.core = nil
    core?.detach(self)
  }

  @inline(__always)
  private func waitForLooks() {
    while isLookedAt.load(ordering: .sequentiallyConsistent) {}
  }

  // Apart, since it mentions a type that has to be looked up.
  @inline(never)
  final func interrupt() {
    terminate(.interrupted)
  }

  /// To be called at the end. Whether the end is still to be delivered.
  final func close() -> Bool {
    guard !disposed.exchange(true, ordering: .sequentiallyConsistent) else { return false }
    waitForLooks()
    core = nil
    return true
  }
}

/// Delivers to an observer.
@usableFromInline
final class ObserverSubscription<Value, Error: Swift.Error>: Subscription<Value, Error>,
  @unchecked Sendable
{
  // Touched only from inside the gate. Released at the end, though the subscriber may retain this.
  // Other modules see it, too: as of `Stage.output`.
  @exclusivity(unchecked)
  @usableFromInline var observer: Unmanaged<StreamObserver<Value, Error>>?

  @inlinable
  init(of observer: StreamObserver<Value, Error>, to core: any SignalCore<Value, Error>) {
    self.observer = .passRetained(observer)
    super.init(to: core)
  }

  deinit {
    observer?.release()
  }

  @usableFromInline
  override func receive(_ value: Value) {
    guard isActive else { return }
    // Not retained for the call: the gate keeps removed observers alive while it is held.
    observer?._withUnsafeGuaranteedRef { $0.receive(value) }
  }

  @usableFromInline
  override func terminate(_ termination: Termination<Error>) {
    guard close() else { return }
    didDetach()?.terminate(termination)
  }

  @usableFromInline
  override func didDetach() -> StreamObserver<Value, Error>? {
    defer { observer = nil }
    return observer?.takeRetainedValue()
  }
}

/// Calls a closure with every value.
@usableFromInline
final class ValueObserver<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  @usableFromInline let action: (Value) -> Void

  @inlinable
  init(_ action: @escaping (Value) -> Void) {
    self.action = action
  }

  @usableFromInline
  override func receive(_ value: Value) {
    action(value)
  }

  @usableFromInline
  override func terminate(_ termination: Termination<Error>) {}
}

extension ObserverSubscription: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    if let observer { body([observer.takeUnretainedValue()]) }
    return true
  }
}

extension Subscription: GraphLink {
  final var graphSource: AnyObject? {
    // One reader at a time. A thread that disposes meanwhile waits until the read is over, or the
    // reader sees the disposal here.
    guard !isLookedAt.exchange(true, ordering: .sequentiallyConsistent) else { return nil }
    defer { isLookedAt.store(false, ordering: .sequentiallyConsistent) }
    return disposed.load(ordering: .sequentiallyConsistent) ? nil : core
  }
}

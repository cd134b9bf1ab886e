internal import Synchronization

/// The events of one run of a producer, for all observers, also for those that come late.
///
/// The buffer is guarded by the lock: a new observer receives it at once, also from inside a
/// delivery, or while another thread is delivering. From then on it is pending: the next event
/// attaches it to the observers, and those are guarded by the gate.
private final class Replay<Value, Error: Swift.Error>: StreamObserver<Value, Error>,
  @unchecked Sendable
{
  private let gate = Gate()
  private let capacity: Int
  /// Only inside the gate.
  private var observers = Fanout<Value, Error>()
  private let hasStarted = Synchronization.Atomic(false)
  private let connection = Connection()

  private let lock = PlainLock()
  // The rest is guarded by the lock.
  private let buffer = FIFO<Value>()
  private var end: Termination<Error>?
  private var newcomers: [StreamObserver<Value, Error>] = []

  init(capacity: Int) {
    self.capacity = capacity
  }

  deinit {
    connection.dispose()
  }

  // MARK: Events

  override func receive(_ value: Value) {
    if gate.enter() {
      pass(value)
      gate.leave()
    } else {
      gate.submit { self.pass(value) }
      gate.waitForRoom()
    }
  }

  private func pass(_ value: Value) {
    lock.lock()
    guard end == nil else { return lock.unlock() }
    // Destroyed when the lock is free again.
    let forgotten = capacity > 0 && buffer.count == capacity ? buffer.popFirst() : nil
    if capacity > 0 { buffer.append(value) }
    let admitted = takeNewcomers()
    lock.unlock()
    for newcomer in admitted { observers.add(newcomer) }
    observers.receive(value)
    withExtendedLifetime(forgotten) {}
  }

  override func terminate(_ termination: Termination<Error>) {
    if gate.enter() {
      finish(termination)
      gate.leave()
    } else {
      gate.submit { self.finish(termination) }
    }
  }

  private func finish(_ termination: Termination<Error>) {
    lock.lock()
    guard end == nil else { return lock.unlock() }
    end = termination
    let admitted = takeNewcomers()
    lock.unlock()
    let observers = observers
    self.observers = Fanout()
    for newcomer in admitted { observers.add(newcomer) }
    observers.terminate(termination)
  }

  private func takeNewcomers() -> [StreamObserver<Value, Error>] {
    let taken = newcomers
    newcomers = []
    return taken
  }

  // MARK: Observers

  /// Makes an observer of all events from now on, unless the end has come.
  ///
  /// - Returns: What came before.
  private func register(
    _ newcomer: StreamObserver<Value, Error>
  ) -> (past: [Value], end: Termination<Error>?) {
    lock.lock()
    defer { lock.unlock() }
    if end == nil { newcomers.append(newcomer) }
    return (buffer.values, end)
  }

  private func remove(_ observer: StreamObserver<Value, Error>) {
    lock.lock()
    let place = newcomers.firstIndex { $0 === observer }
    let newcomer = place.map { newcomers.remove(at: $0) }
    lock.unlock()
    guard newcomer == nil else { return }
    if gate.enter() {
      expel(observer)
      gate.leave()
    } else {
      gate.submit { self.expel(observer) }
    }
  }

  private func expel(_ observer: StreamObserver<Value, Error>) {
    if let removed = observers.remove(observer) { gate.retire(removed) }
  }

  /// Sends the remembered values, and then new ones. New ones may be sent by another thread before
  /// the remembered ones have been delivered.
  ///
  /// - Parameter source: The producer that the first start begins.
  func start(
    into root: Root<Value, Error>, _ connection: Connection,
    of source: ProducerCore<Value, Error>? = nil
  ) {
    guard let gate = root.gate, gate.enter() else { return }
    let (past, end) = register(root)
    for value in past where !root.isInterrupted { root.emit(value) }
    gate.leave()
    if let end {
      root.terminate(end)
    } else {
      connection.add(AnyDisposable { self.remove(root) })
    }
    if let source { startOnce(source) }
  }

  // MARK: Source

  private func startOnce(_ core: ProducerCore<Value, Error>) {
    guard !hasStarted.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // Weakly, so that the run ends when it has become unreachable.
    connection.hold(Demand.withNone { core.start(WeakRelay(self), connection) })
  }
}

private final class WeakRelay<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private weak let replay: Replay<Value, Error>?

  init(_ replay: Replay<Value, Error>) {
    self.replay = replay
  }

  override func receive(_ value: Value) {
    replay?.receive(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    replay?.terminate(termination)
  }
}

extension SignalProducer {
  /// Shares one run among all starts of the returned producer. The first start begins it, and each
  /// start gets the last `capacity` values before new ones.
  ///
  /// Remembered events, including the end, are sent on the starting thread, new ones on the thread
  /// that sends them. Disposing of one start doesn't affect the shared run, which is disposed of
  /// when the returned producer and everything started from it are gone. It waits for none of its
  /// observers, not even for a single one with ``AsyncBuffering/backpressure(_:)``.
  ///
  /// - Parameter capacity: The number of values to keep; traps if it is negative.
  /// - Returns: A producer that starts this one once at most.
  public func replayLazily(upTo capacity: Int) -> SignalProducer<Value, Error> {
    precondition(capacity >= 0, "replayLazily(upTo:) keeps no negative number, got \(capacity)")
    let replay = Replay<Value, Error>(capacity: capacity)
    return SignalProducer(
      core: RootedCore { [core] root, connection in
        replay.start(into: root, connection, of: core)
        return nil
      })
  }

  /// Creates a producer of the events that are sent to an observer. Each start gets the last
  /// `capacity` values, and the end if it was sent, before new events.
  ///
  /// Values are remembered while the producer, its runs or the observer are held. Releasing the
  /// observer interrupts the runs.
  ///
  /// - Parameter capacity: The number of values to keep; traps if it is negative. By default, all.
  /// - Returns: The producer, and the observer that its events are sent to, from any thread.
  public static func replayPipe(
    upTo capacity: Int = .max
  ) -> (output: SignalProducer<Value, Error>, input: Signal<Value, Error>.Observer) {
    precondition(capacity >= 0, "replayPipe(upTo:) keeps no negative number, got \(capacity)")
    let replay = Replay<Value, Error>(capacity: capacity)
    return (
      SignalProducer(
        core: RootedCore { root, connection in
          replay.start(into: root, connection)
          return nil
        }),
      Signal<Value, Error>.Observer(replay, interruptsOnDeinit: true)
    )
  }
}

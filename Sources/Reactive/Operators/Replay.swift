internal import Synchronization

/// The events of one run of a producer, for everyone who comes, late or early. Its state is
/// guarded by its gate.
private final class Replay<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let gate = Gate()
  private let capacity: Int
  private var buffer = WaitingLine<Value>()
  private var buffered = 0
  private var observers = Fanout<Value, Error>()
  private var end: Termination<Error>?
  private let hasStarted = Synchronization.Atomic(false)
  private let connection = Connection()

  init(capacity: Int) {
    self.capacity = capacity
  }

  deinit {
    connection.dispose()
  }

  private func inTurn(_ operation: @escaping () -> Void) {
    if gate.enter() {
      operation()
      gate.leave()
    } else {
      gate.submit(operation)
    }
  }

  override func receive(_ value: Value) {
    inTurn { [self] in
      guard end == nil else { return }
      if capacity > 0 {
        if buffered == capacity { _ = buffer.popFirst() } else { buffered += 1 }
        buffer.append(value)
      }
      observers.receive(value)
    }
  }

  override func terminate(_ termination: Termination<Error>) {
    inTurn { [self] in
      guard end == nil else { return }
      end = termination
      let observers = observers
      self.observers = Fanout()
      observers.terminate(termination)
    }
  }

  /// Delivers what is remembered, and then what comes.
  func add(_ observer: StreamObserver<Value, Error>) {
    // One who comes from inside a delivery is told before this returns, as anyone is.
    if gate.isHeldHere { admit(observer) } else { inTurn { [self] in admit(observer) } }
  }

  private func admit(_ observer: StreamObserver<Value, Error>) {
    for value in buffer { observer.receive(value) }
    if let end { observer.terminate(end) } else { observers.add(observer) }
  }

  /// Delivers to `observer` until `lifetime` ends.
  func add(_ observer: Signal<Value, Error>.Observer, during lifetime: Lifetime) {
    let target = UncheckedTransfer((replay: self, observer: observer.sink))
    add(target.value.observer)
    lifetime.observeEnded { target.value.replay.remove(target.value.observer) }
  }

  private func remove(_ observer: StreamObserver<Value, Error>) {
    inTurn { [self] in
      if let removed = observers.remove(observer) { gate.retire(removed) }
    }
  }

  func startOnce(_ core: ProducerCore<Value, Error>) {
    guard !hasStarted.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // Weakly, so that the run ends when nobody can see it any more.
    if let input = core.start(WeakRelay(self), connection) { connection.hold(input) }
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
  /// One run, shared by all starts of the returned producer: the first begins it, and each gets
  /// the last `capacity` values before what comes. The run is disposed of when the returned
  /// producer and everything started from it are gone.
  public func replayLazily(upTo capacity: Int) -> SignalProducer<Value, Error> {
    precondition(capacity >= 0, "replayLazily(upTo:) keeps no negative number, got \(capacity)")
    let replay = Replay<Value, Error>(capacity: capacity)
    let core = core
    return SignalProducer(
      core: HandlerCore { observer, lifetime in
        replay.add(observer, during: lifetime)
        replay.startOnce(core)
      })
  }

  /// A producer of events that are sent to the observer, whose every start gets the last
  /// `capacity` values, and the end, if those are past, before what comes.
  ///
  /// Values are remembered while the producer, its runs or the observer are held.
  public static func replayPipe(
    upTo capacity: Int = .max
  ) -> (output: SignalProducer<Value, Error>, input: Signal<Value, Error>.Observer) {
    precondition(capacity >= 0, "replayPipe(upTo:) keeps no negative number, got \(capacity)")
    let replay = Replay<Value, Error>(capacity: capacity)
    return (
      SignalProducer(core: HandlerCore { replay.add($0, during: $1) }),
      Signal<Value, Error>.Observer(replay, interruptsOnDeinit: true)
    )
  }
}

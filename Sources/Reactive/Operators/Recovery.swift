public import FoundationEssentials
internal import Synchronization

extension Signal {
  func recovering<F>(
    _ transform: @escaping (Error) -> SignalProducer<Value, F>
  ) -> Signal<Value, F> {
    .joining { junction in
      junction.observe(
        self, value: { junction.emit($0) },
        end: { termination in
          switch termination {
          case .failed(let error):
            let connection = Connection()
            junction.lifetime += connection
            // Not inside: a recovery may take its time, and the root takes its events as anyone's.
            let input = transform(error).core.start(junction.root, connection)
            if let input { connection.hold(input) }
          case .completed: junction.finish(.completed)
          case .interrupted: junction.finish(.interrupted)
          }
        })
    }
  }
}

extension SignalProducer {
  func recovering<F>(
    _ transform: @escaping (Error) -> SignalProducer<Value, F>
  ) -> SignalProducer<Value, F> {
    SignalProducer<Value, F>(core: LiftedCore(core) { $0.recovering(transform) })
  }
}

/// Time to wait.
struct Pause {
  let interval: TimeInterval
  let scheduler: any DateScheduler
}

/// Starts a producer again and again.
final class RestartingCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  enum Reason { case completed, failed }

  private let source: ProducerCore<Value, Error>
  private let restarts: Int
  private let reason: Reason
  private let pause: Pause?

  /// - Parameters:
  ///   - restarts: How often, at most, the source is started again when it has ended for `reason`.
  ///   - pause: What comes before each of those starts.
  init(
    _ source: ProducerCore<Value, Error>, restarts: Int, after reason: Reason,
    pause: Pause? = nil
  ) {
    self.source = source
    self.restarts = restarts
    self.reason = reason
    self.pause = pause
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let run = RestartingRun(source, restarts: restarts, after: reason, pause: pause)
    run.connect(to: sink, connection: connection)
    let current = SerialDisposable()
    connection.setSource(current)
    run.start(current)
    return nil
  }
}

private final class RestartingRun<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private enum Phase {
    static var starting: UInt8 { 0 }
    static var started: UInt8 { 1 }
    static var ended: UInt8 { 2 }
  }

  private let source: ProducerCore<Value, Error>
  private let reason: RestartingCore<Value, Error>.Reason
  private let pause: Pause?
  private var restarts: Int
  private var current: SerialDisposable?
  private let phase = Synchronization.Atomic<UInt8>(Phase.starting)

  init(
    _ source: ProducerCore<Value, Error>, restarts: Int,
    after reason: RestartingCore<Value, Error>.Reason, pause: Pause?
  ) {
    self.source = source
    self.restarts = restarts
    self.reason = reason
    self.pause = pause
  }

  /// Starts the source; again, and without growing the stack, if it ends before this returns.
  func start(_ disposable: SerialDisposable) {
    current = disposable
    repeat {
      guard !disposable.isDisposed else { return }
      phase.store(Phase.starting, ordering: .releasing)
      let connection = Connection()
      disposable.inner = connection
      let input = source.start(self, connection)
      if let input { connection.hold(input) }
    } while phase.exchange(Phase.started, ordering: .acquiringAndReleasing) == Phase.ended
  }

  override func receive(_ value: Value) {
    emit(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    guard restarts > 0, isReason(termination), let current else { return finish(termination) }
    restarts -= 1
    if let pause { return start(current, after: pause) }
    if phase.exchange(Phase.ended, ordering: .acquiringAndReleasing) == Phase.started {
      start(current)
    }
  }

  private func start(_ disposable: SerialDisposable, after pause: Pause) {
    let wait = HandlerCore<Never, Never> { observer, lifetime in
      let date = pause.scheduler.currentDate.addingTimeInterval(pause.interval)
      lifetime += pause.scheduler.schedule(after: date) { observer.sendCompleted() }
    }
    let connection = Connection()
    disposable.inner = connection
    let next = PauseEnd { end in
      if case .completed = end { self.start(disposable) } else { self.finish(.interrupted) }
    }
    if let input = wait.start(next, connection) { connection.hold(input) }
  }

  private func isReason(_ termination: Termination<Error>) -> Bool {
    switch (termination, reason) {
    case (.completed, .completed), (.failed, .failed): true
    default: false
    }
  }

  override func stageDidEnd() {
    current = nil
  }
}

/// Goes on after a pause.
private final class PauseEnd: StreamObserver<Never, Never> {
  private let action: (Termination<Never>) -> Void

  init(_ action: @escaping (Termination<Never>) -> Void) {
    self.action = action
  }

  override func receive(_ value: Never) {}

  override func terminate(_ termination: Termination<Never>) {
    action(termination)
  }
}

extension SignalProducer {
  /// Starts again after a failure, `count` times at most.
  public func retry(upTo count: Int) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    guard count > 0 else { return self }
    return SignalProducer(core: RestartingCore(core, restarts: count, after: .failed))
  }

  /// Starts again on `scheduler`, `interval` seconds after a failure, `count` times at most.
  ///
  /// `interval` must not be negative.
  public func retry(
    upTo count: Int, interval: TimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    precondition(interval >= 0, "a retry can't be delayed by \(interval) seconds")
    guard count > 0 else { return self }
    let pause = Pause(interval: interval, scheduler: scheduler)
    return SignalProducer(
      core: RestartingCore(core, restarts: count, after: .failed, pause: pause))
  }

  /// Starts again after completion, until there have been `count` runs; of none, completes.
  public func `repeat`(_ count: Int) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "repeat(_:) makes no negative number of runs, got \(count)")
    guard count > 0 else { return .empty }
    guard count > 1 else { return self }
    return SignalProducer(core: RestartingCore(core, restarts: count - 1, after: .completed))
  }
}

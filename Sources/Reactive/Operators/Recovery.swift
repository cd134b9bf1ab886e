public import FoundationEssentials

extension Signal {
  func recovering<F>(
    _ transform: @escaping (Error) -> SignalProducer<Value, F>
  ) -> Signal<Value, F> {
    .joining { junction in
      let demand = Demand.current
      junction.observe(
        self, value: { junction.emit($0) },
        end: { termination in
          switch termination {
          case .failed(let error):
            let connection = Connection()
            junction.lifetime += connection
            guard !connection.isDisposed else { return }
            let core = transform(error).core
            connection.hold(Demand.with(demand) { core.start(junction.root, connection) })
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
    SignalProducer<Value, F>(core: RecoveryCore(core, transform))
  }
}

/// The runs of a producer into one root, one after the other, each after a pause.
final class Attempts<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let source: ProducerCore<Value, Error>
  private var pause: Pause
  private let root: Root<Value, Error>
  private let demand = Demand.current
  /// The present attempt, or the wait for the next.
  private let current: SerialDisposable
  private var remaining: Int

  /// - Parameters:
  ///   - remaining: How often, at most, the source is started again when it has failed.
  ///   - pause: What comes before each of those starts.
  init(
    of source: ProducerCore<Value, Error>, remaining: Int, pause: Pause,
    into root: Root<Value, Error>, _ connection: Connection
  ) {
    self.source = source
    self.remaining = remaining
    self.pause = pause
    self.root = root
    current = SerialDisposable()
    connection.add(current)
  }

  func start() {
    guard !current.isDisposed else { return }
    let connection = Connection()
    current.inner = connection
    guard !connection.isDisposed else { return }
    connection.hold(Demand.with(demand) { source.start(self, connection) })
  }

  override func receive(_ value: Value) {
    root.receive(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    guard remaining > 0, case .failed = termination else { return root.terminate(termination) }
    remaining -= 1
    // Serial, one attempt after the other, as all that is done here.
    let attempts = UncheckedTransfer(self)
    let scheduler = pause.scheduler
    let date = scheduler.currentDate.addingTimeInterval(pause.next())
    current.setInner { scheduler.schedule(after: date) { attempts.value.start() } }
  }
}

extension SignalProducer {
  func restarting(_ count: Int, after reason: RestartReason) -> SignalProducer<Value, Error> {
    SignalProducer(core: RestartCore(core, count, after: reason))
  }

  func retrying(_ count: Int, pause: Pause) -> SignalProducer<Value, Error> {
    SignalProducer(
      core: RootedCore { [core] root, connection in
        Attempts(of: core, remaining: count, pause: pause, into: root, connection).start()
        return nil
      })
  }
}

extension SignalProducer {
  /// Restarts the producer after a failure, at most `count` times.
  ///
  /// Values are passed as they come, those of runs that fail later, too. The failure after the last
  /// start, completion and an interruption are passed on. Disposal disposes of the current run, or
  /// of the wait for the next.
  ///
  /// - Parameter count: The maximum number of restarts, each on the thread of the failure; traps if
  ///   it is negative.
  /// - Returns: A producer that fails when there have been `count` + 1 failures.
  public func retry(upTo count: Int) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    guard count > 0 else { return self }
    return restarting(count, after: .failed)
  }

  /// Restarts the producer on `scheduler`, `interval` seconds after a failure, at most `count`
  /// times.
  ///
  /// Values are passed as they come, those of runs that fail later, too. The failure after the last
  /// start, completion and an interruption are passed on. Disposal disposes of the current run, or
  /// of the wait for the next.
  ///
  /// - Parameters:
  ///   - count: The maximum number of restarts; traps if it is negative.
  ///   - interval: The time between a failure and the next start, in seconds; traps if it is
  ///     negative.
  ///   - scheduler: The scheduler of the delays and the starts.
  /// - Returns: A producer that fails when there have been `count` + 1 failures.
  public func retry(
    upTo count: Int, interval: TimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    guard count > 0 else { return self }
    let backoff = Backoff(initial: interval, multiplier: 1, maximum: interval)
    return retrying(
      count,
      pause: Pause(backoff: backoff, scheduler: scheduler, generator: nil))
  }

  /// Repeats the producer when it completes, `count` runs in total; with 0, it completes at once.
  ///
  /// A failure or an interruption is passed on. Disposal disposes of the current run.
  ///
  /// - Parameter count: The number of runs, each started on the thread on which the previous one
  ///   completes; traps if it is negative.
  /// - Returns: A producer that sends the values of all runs, and completes with the last.
  public func `repeat`(_ count: Int) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "repeat(_:) makes no negative number of runs, got \(count)")
    guard count > 0 else { return .empty }
    guard count > 1 else { return self }
    return restarting(count - 1, after: .completed)
  }
}

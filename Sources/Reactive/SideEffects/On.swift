// Producers: by hand, because theirs has two closures more, for the start.
extension Signal {
  /// Calls the closure for each event before passing it on.
  ///
  /// The closures are called on the thread that sends the event, one after the other, once for each
  /// event however many observers there are; and whether or not there are any, as long as the
  /// returned signal is held. Events are passed on as they are.
  ///
  /// - Parameters:
  ///   - event: Called first, with every event.
  ///   - failed: Called with the error of a failure.
  ///   - completed: Called at completion.
  ///   - interrupted: Called at an interruption.
  ///   - terminated: Called at the end, after the closure for that kind of end.
  ///   - disposed: Called when nothing can be delivered any more: after the end has been delivered,
  ///     or when the signal is neither held nor observed.
  ///   - value: Called with every value.
  /// - Returns: A signal of the same events.
  @available(swift 6)
  public func on(
    event: (@Sendable (Event) -> Void)? = nil,
    failed: (@Sendable (Error) -> Void)? = nil,
    completed: (@Sendable () -> Void)? = nil,
    interrupted: (@Sendable () -> Void)? = nil,
    terminated: (@Sendable () -> Void)? = nil,
    disposed: (@Sendable () -> Void)? = nil,
    value: (@Sendable (Value) -> Void)? = nil
  ) -> Signal<Value, Error> {
    through(
      SideEffects(
        event: event, failed: failed, completed: completed, interrupted: interrupted,
        terminated: terminated, disposed: disposed, value: value))
  }
}

extension SignalProducer {
  /// Calls the closure for each event of every run before passing it on.
  ///
  /// The closures are called on the thread that sends the event, one after the other, but for those
  /// that go with the start, which are called on the thread that starts. Events are passed on as
  /// they are.
  ///
  /// - Parameters:
  ///   - starting: Called before a run is started.
  ///   - started: Called when the start of a run returns, which may be after its end.
  ///   - event: Called first, with every event.
  ///   - failed: Called with the error of a failure.
  ///   - completed: Called at completion.
  ///   - interrupted: Called at an interruption; disposal of the run is one.
  ///   - terminated: Called at the end, after the closure for that kind of end.
  ///   - disposed: Called when nothing can be delivered any more.
  ///   - value: Called with every value.
  /// - Returns: A producer of the same events.
  @available(swift 6)
  public func on(
    starting: (@Sendable () -> Void)? = nil,
    started: (@Sendable () -> Void)? = nil,
    event: (@Sendable (ProducedSignal.Event) -> Void)? = nil,
    failed: (@Sendable (Error) -> Void)? = nil,
    completed: (@Sendable () -> Void)? = nil,
    interrupted: (@Sendable () -> Void)? = nil,
    terminated: (@Sendable () -> Void)? = nil,
    disposed: (@Sendable () -> Void)? = nil,
    value: (@Sendable (Value) -> Void)? = nil
  ) -> SignalProducer<Value, Error> {
    // With a root, a source that has none is interrupted by an event, too.
    let rooted = RootedCore { [core] root, connection in
      starting?()
      defer { started?() }
      return core.start(into: root, connection)
    }
    return SignalProducer(core: rooted).through {
      SideEffects(
        event: event, failed: failed, completed: completed, interrupted: interrupted,
        terminated: terminated, disposed: disposed, value: value)
    }
  }
}

private final class SideEffects<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private let event: ((Signal<Value, Error>.Event) -> Void)?
  private let failed: ((Error) -> Void)?
  private let completed: (() -> Void)?
  private let interrupted: (() -> Void)?
  private let terminated: (() -> Void)?
  private let disposed: (() -> Void)?
  private let value: ((Value) -> Void)?

  init(
    event: ((Signal<Value, Error>.Event) -> Void)?, failed: ((Error) -> Void)?,
    completed: (() -> Void)?, interrupted: (() -> Void)?, terminated: (() -> Void)?,
    disposed: (() -> Void)?, value: ((Value) -> Void)?
  ) {
    self.event = event
    self.failed = failed
    self.completed = completed
    self.interrupted = interrupted
    self.terminated = terminated
    self.disposed = disposed
    self.value = value
  }

  override func receive(_ value: Value) {
    if let event { event(.value(value)) }
    if let action = self.value { action(value) }
    emit(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    guard !isFinished else { return }
    event?(Signal<Value, Error>.Event(termination))
    switch termination {
    case .failed(let error): failed?(error)
    case .completed: completed?()
    case .interrupted: interrupted?()
    }
    terminated?()
    finish(termination)
  }

  override func stageDidEnd() {
    disposed?()
  }
}

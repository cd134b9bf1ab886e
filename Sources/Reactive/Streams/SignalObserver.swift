extension Signal {
  /// An observer that sends events to a signal, or to closures.
  public final class Observer: StreamObserver<Value, Error> {
    /// A closure that handles an event.
    public typealias Action = (Event) -> Void

    private let target: StreamObserver<Value, Error>
    private let interruptsOnDeinit: Bool

    /// An observer that passes events to `target`; if it is the only input, its loss is an
    /// interruption.
    init(_ target: StreamObserver<Value, Error>, interruptsOnDeinit: Bool = false) {
      self.target = target
      self.interruptsOnDeinit = interruptsOnDeinit
    }

    /// Whom to deliver to: the one behind this, unless this has to be kept.
    var sink: StreamObserver<Value, Error> { interruptsOnDeinit ? self : target }

    /// An observer that calls `action` with every event.
    @available(swift 6)
    public convenience init(_ action: @escaping @Sendable (Event) -> Void) {
      self.init(
        ClosureObserver(value: { action(.value($0)) }, termination: { action(Event($0)) }))
    }

    /// An observer that calls the closure for the kind of the event.
    @available(swift 6)
    public convenience init(
      value: (@Sendable (Value) -> Void)? = nil,
      failed: (@Sendable (Error) -> Void)? = nil,
      completed: (@Sendable () -> Void)? = nil,
      interrupted: (@Sendable () -> Void)? = nil
    ) {
      self.init(
        ClosureObserver(
          value: value,
          termination: { termination in
            switch termination {
            case .failed(let error): failed?(error)
            case .completed: completed?()
            case .interrupted: interrupted?()
            }
          }))
    }

    deinit {
      if interruptsOnDeinit { target.terminate(.interrupted) }
    }

    /// Passes a value on.
    public override func receive(_ value: Value) {
      target.receive(value)
    }

    /// Passes the end on.
    public override func terminate(_ termination: Termination<Error>) {
      target.terminate(termination)
    }

    /// Sends an event.
    public func send(_ event: Event) {
      switch event {
      case .value(let value): target.receive(value)
      case .failed(let error): target.terminate(.failed(error))
      case .completed: target.terminate(.completed)
      case .interrupted: target.terminate(.interrupted)
      }
    }

    /// Sends a value.
    public func send(value: Value) {
      target.receive(value)
    }

    /// Ends the stream with a failure.
    public func send(error: Error) {
      target.terminate(.failed(error))
    }

    /// Ends the stream.
    public func sendCompleted() {
      target.terminate(.completed)
    }

    /// Ends the stream before its work is done.
    public func sendInterrupted() {
      target.terminate(.interrupted)
    }
  }
}

// Events may be sent from any thread: a signal's input puts them in order.
extension Signal.Observer: @unchecked Sendable where Value: Sendable {}

extension Signal.Observer {
  /// A `Sendable` closure that sends an event, even if `Value` isn't `Sendable`.
  package var sender: @Sendable (Signal<Value, Error>.Event) -> Void {
    let input = UncheckedTransfer(self)
    return { input.value.send($0) }
  }
}

/// An observer that calls closures.
final class ClosureObserver<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let value: ((Value) -> Void)?
  private let termination: ((Termination<Error>) -> Void)?

  init(value: ((Value) -> Void)?, termination: ((Termination<Error>) -> Void)?) {
    self.value = value
    self.termination = termination
  }

  override func receive(_ value: Value) {
    self.value?(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    self.termination?(termination)
  }
}

extension Signal.Observer: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([target])
    return true
  }
}

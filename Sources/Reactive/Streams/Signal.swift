/// A "hot" stream: its events are sent whether or not there are observers.
///
/// Events may be sent from any thread and from inside their own delivery; they are delivered one at
/// a time, in the order in which they were sent, to the observers in the order in which they
/// subscribed. A signal lives as long as an input can send to it and it is retained or observed.
public final class Signal<Value, Error: Swift.Error> {
  @usableFromInline let core: any SignalCore<Value, Error>

  // Handles are made and lost in passing: inlined, one that doesn't escape needs no memory.
  @inlinable
  init(core: any SignalCore<Value, Error>) {
    self.core = core
  }

  @inlinable
  deinit {
    core.handleDidDeinitialize()
  }

  /// Creates a signal of the events that `generator` sends to its observer.
  ///
  /// - Parameter generator: Called at once with the observer, and with a lifetime that ends after
  ///   the signal.
  public convenience init(_ generator: (Observer, Lifetime) -> Void) {
    let root = Root<Value, Error>()
    let lifetime = root.lifetime
    self.init(core: root)
    generator(Observer(root, interruptsOnDeinit: true), lifetime)
  }

  /// The signal that `stage` makes of this one.
  @inlinable
  func through<U, F>(_ stage: Stage<Value, Error, U, F>) -> Signal<U, F> {
    let signal = Signal<U, F>(core: stage)
    stage.derive(from: core)
    return signal
  }

  /// Delivers the events to `observer`.
  @usableFromInline
  func attach(_ observer: StreamObserver<Value, Error>) -> (any Disposable)? {
    attach(ObserverSubscription(of: observer, to: core))
  }

  @usableFromInline
  func attach(_ subscription: Subscription<Value, Error>) -> (any Disposable)? {
    if core.isFinished {
      subscription.interrupt()
      return nil
    }
    core.attach(subscription)
    return subscription.isDisposed ? nil : subscription
  }
}

// Its state is touched only from inside its gate.
extension Signal: @unchecked Sendable where Value: Sendable {}

/// A protocol for generic constraints, to which signals conform.
public protocol SignalProtocol<Value, Error>: AnyObject {
  /// The type of the values.
  associatedtype Value
  /// The type of the failures.
  associatedtype Error: Swift.Error
  /// The signal itself.
  var signal: Signal<Value, Error> { get }
}

extension Signal: SignalProtocol {
  /// The signal itself.
  public var signal: Signal<Value, Error> { self }
}

extension Signal: SignalProducerConvertible {
  /// A producer whose every start observes the signal.
  public var producer: SignalProducer<Value, Error> { SignalProducer(self) }
}

// MARK: Making signals

extension Signal {
  /// A signal that never sends an event.
  public static var never: Signal<Value, Error> {
    let root = Root<Value, Error>()
    return Signal(core: root)
  }

  /// A signal that has completed.
  public static var empty: Signal<Value, Error> {
    Signal { observer, _ in observer.sendCompleted() }
  }

  /// A signal and the observer that its events are sent to.
  ///
  /// - Parameter disposable: Disposed of after the end of the signal.
  public static func pipe(
    disposable: (any Disposable)? = nil
  ) -> (output: Signal<Value, Error>, input: Observer) {
    let root = Root<Value, Error>()
    if let disposable { root.lifetime += disposable }
    return (Signal(core: root), Observer(root, interruptsOnDeinit: true))
  }

  /// Creates a signal whose sender promises not to send from two threads at once.
  ///
  /// Kept for source compatibility: events are serialized nevertheless.
  public static func unserialized(
    _ generator: (Observer, Lifetime) -> Void
  ) -> Signal<Value, Error> {
    Signal(generator)
  }

  /// A pipe whose sender promises not to send from two threads at once.
  ///
  /// Kept for source compatibility: events are serialized nevertheless.
  public static func unserializedPipe(
    disposable: (any Disposable)? = nil
  ) -> (output: Signal<Value, Error>, input: Observer) {
    pipe(disposable: disposable)
  }

  /// A signal whose sender may send from inside a delivery, as that of any signal may.
  public static func reentrantUnserialized(
    _ generator: (Observer, Lifetime) -> Void
  ) -> Signal<Value, Error> {
    Signal(generator)
  }

  /// A pipe whose sender may send from inside a delivery, as that of any pipe may.
  public static func reentrantUnserializedPipe(
    disposable: (any Disposable)? = nil
  ) -> (output: Signal<Value, Error>, input: Observer) {
    pipe(disposable: disposable)
  }
}

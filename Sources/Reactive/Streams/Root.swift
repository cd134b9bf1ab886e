internal import Synchronization

/// The place where the events of a stream come in, from any thread and also from inside their own
/// delivery, and are serialised. The observers downstream need no synchronisation.
class Root<Value, Error: Swift.Error>: Stage<Value, Error, Value, Error>, Disposable,
  @unchecked Sendable
{
  private enum Closing {
    static var no: UInt8 { 0 }
    /// After the events submitted before.
    static var inTurn: UInt8 { 1 }
    /// Drops the events submitted before.
    static var atOnce: UInt8 { 2 }
  }
  private let closing = Synchronization.Atomic<UInt8>(Closing.no)
  /// What counts the values that wait at the gate. Set before the first event.
  final var demand: Demand?
  // The stage holds it; this one spares the hot path the counting of references.
  private let door: Unmanaged<Gate>

  override init() {
    let gate = Gate()
    door = .passUnretained(gate)
    super.init()
    attach(to: gate)
  }

  /// Begins a run that delivers to `sink` and that `connection` interrupts.
  final func begin(_ sink: StreamObserver<Value, Error>, _ connection: Connection) {
    connect(to: sink, connection: connection)
    connection.setEntry(self)
  }

  /// Whether an end has been submitted.
  final var isClosing: Bool { closing.load(ordering: .relaxed) != Closing.no }

  /// Whether that end is an interruption, which what waits must not be delivered before.
  final var isInterrupted: Bool { closing.load(ordering: .relaxed) == Closing.atOnce }

  final override func receive(_ value: Value) {
    if enter() {
      emit(value)
      leave()
    } else {
      submitValue(value)
    }
  }

  @inline(never)
  private func submitValue(_ value: Value) {
    guard !isClosing else { return }
    submitCounted { self.emit(value) }
  }

  /// Delivers the end after the events submitted before it; an interruption, at once. The first end
  /// that is submitted counts.
  final override func terminate(_ termination: Termination<Error>) {
    let kind = if case .interrupted = termination { Closing.atOnce } else { Closing.inTurn }
    guard
      closing.compareExchange(
        expected: Closing.no, desired: kind, ordering: .acquiringAndReleasing
      ).exchanged
    else { return }
    if enter() {
      finish(termination)
      leave()
    } else {
      gate?.submit { self.finish(termination) }
    }
  }

  override func release(_ connection: Connection) { connection.tearDown(by: self) }

  // A root is what interrupts a started producer.
  final var isDisposed: Bool { isClosing || isFinished }
  final func dispose() { terminate(.interrupted) }

  // MARK: Operators that join streams keep their state inside

  /// Performs `step`: at once if the gate is free, otherwise in its turn.
  @inline(__always)
  final func inTurn<T>(_ argument: T, _ step: @escaping (T) -> Void) {
    if enter() {
      step(argument)
      leave()
    } else {
      submitCounted { step(argument) }
    }
  }

  /// Takes the gate if it is free. Must be followed by ``leave()``; where this returns false, the
  /// operation is to be submitted.
  @inline(__always)
  final func enter() -> Bool {
    door._withUnsafeGuaranteedRef { $0.enter() }
  }

  @inline(__always)
  final func leave() {
    door._withUnsafeGuaranteedRef { $0.leave() }
  }

  /// Has what is done with a value performed inside in its turn. Waits while too much is submitted.
  @inline(never)
  final func submitCounted(_ operation: @escaping () -> Void) {
    if let demand { submit(operation, countedIn: demand) } else { submit(operation) }
    gate?.waitForRoom()
  }

  private func submit(_ operation: @escaping () -> Void, countedIn demand: Demand) {
    demand.hold()
    gate?.submit {
      guard !self.isInterrupted else {
        // Not before the source is disposed of, which would use the room. It has been at the end.
        if self.isFinished {
          demand.release(1)
        } else {
          self.lifetime.observeEnded { demand.release(1) }
        }
        return
      }
      operation()
      demand.release(1)
    }
  }

  /// Has `operation` performed inside in its turn, unless the stream is interrupted before.
  @inline(never)
  final func submit(_ operation: @escaping () -> Void) {
    gate?.submit {
      guard !self.isInterrupted else { return }
      operation()
    }
  }
}

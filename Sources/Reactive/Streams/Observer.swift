/// A receiver of events: values, one after the other, and at most one termination, which is the
/// last.
///
/// Operators are chains of observers. Calls to one observer must be serial.
open class Observer<Value, Error: Swift.Error> {
  /// Creates an observer. Subclasses override its methods.
  public init() {}

  /// Handles a value.
  open func receive(_ value: Value) {
    fatalError("a subclass of Observer must override receive(_:)")
  }

  /// Handles the end of the stream.
  open func terminate(_ termination: Termination<Error>) {
    fatalError("a subclass of Observer must override terminate(_:)")
  }

  /// Called inside the gate of the signal from which the observer was taken out.
  ///
  /// - Returns: What it lets go of, and may be running.
  func didDetach() -> StreamObserver<Value, Error>? { nil }
}

/// The top-level ``Observer``, where `Observer` means a signal's.
public typealias StreamObserver<Value, Error: Swift.Error> = Observer<Value, Error>

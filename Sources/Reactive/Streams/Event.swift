extension Signal {
  /// An event of a stream: any number of values, then at most one of the others.
  @frozen
  public enum Event {
    /// A value.
    case value(Value)
    /// The end, with an error.
    case failed(Error)
    /// The end, after everything was delivered.
    case completed
    /// The end before the work was done, such as by disposal.
    case interrupted

    /// Whether this is ``completed``.
    public var isCompleted: Bool {
      if case .completed = self { true } else { false }
    }

    /// Whether the event ends the stream.
    public var isTerminating: Bool {
      if case .value = self { false } else { true }
    }

    /// The value, of a value event.
    public var value: Value? {
      if case .value(let value) = self { value } else { nil }
    }

    /// The error, of a failure.
    public var error: Error? {
      if case .failed(let error) = self { error } else { nil }
    }

    /// The event with its value transformed.
    public func map<U>(_ f: (Value) -> U) -> Signal<U, Error>.Event {
      switch self {
      case .value(let value): .value(f(value))
      case .failed(let error): .failed(error)
      case .completed: .completed
      case .interrupted: .interrupted
      }
    }

    /// The event with its error transformed.
    public func mapError<F>(_ f: (Error) -> F) -> Signal<Value, F>.Event {
      switch self {
      case .value(let value): .value(value)
      case .failed(let error): .failed(f(error))
      case .completed: .completed
      case .interrupted: .interrupted
      }
    }

    /// Creates the event of a termination.
    @inlinable
    public init(_ termination: Termination<Error>) {
      switch termination {
      case .failed(let error): self = .failed(error)
      case .completed: self = .completed
      case .interrupted: self = .interrupted
      }
    }
  }
}

extension Signal.Event: Sendable where Value: Sendable {}

extension Signal.Event: Equatable where Value: Equatable, Error: Equatable {}

extension Signal.Event: CustomStringConvertible {
  /// The kind of the event in capitals, and its value or error.
  public var description: String {
    switch self {
    case .value(let value): "VALUE \(value)"
    case .failed(let error): "FAILED \(error)"
    case .completed: "COMPLETED"
    case .interrupted: "INTERRUPTED"
    }
  }
}

/// A protocol for generic constraints, to which events conform.
public protocol EventProtocol {
  /// The type of the values.
  associatedtype Value
  /// The type of the failures.
  associatedtype Error: Swift.Error
  /// The event itself.
  var event: Signal<Value, Error>.Event { get }
}

extension Signal.Event: EventProtocol {
  /// The event itself.
  public var event: Signal<Value, Error>.Event { self }
}

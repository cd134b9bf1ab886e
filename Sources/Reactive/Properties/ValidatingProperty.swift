/// A property that validates a new value before it accepts it.
///
/// A valid value is accepted, a coercible one is replaced, and an invalid one leaves the property
/// unchanged; ``result`` has the outcome. A value that is set directly on the inner property is
/// always accepted, and validated.
public final class ValidatingProperty<Value, ValidationError: Swift.Error>:
  MutablePropertyProtocol
{
  private let read: () -> Value
  private let write: (Value) -> Void

  /// The result of validating the value that was set last.
  public let result: Property<Result>

  /// The value. Setting it validates.
  public var value: Value {
    get { read() }
    set { write(newValue) }
  }

  /// Sends the current value, then every change; completes when the inner property is released.
  public let producer: SignalProducer<Value, Never>

  /// Sends every change; completes when the inner property is released.
  public let signal: Signal<Value, Never>

  /// The lifetime of the inner property.
  public let lifetime: Lifetime

  /// Creates a property that forwards the values that `validator` accepts to `inner`, which it
  /// retains.
  @available(swift 6)
  public convenience init<Inner: ComposableMutablePropertyProtocol>(
    _ inner: Inner, _ validator: @escaping @Sendable (Value) -> Decision
  ) where Inner.Value == Value {
    self.init(validating: inner, by: validator)
  }

  // `validator` is called where the properties are set: its owner decides whether that is on any
  // thread.
  private init<Inner: ComposableMutablePropertyProtocol>(
    validating inner: Inner, by validator: @escaping Validator
  ) where Inner.Value == Value {
    read = { inner.value }
    producer = inner.producer
    signal = inner.signal
    lifetime = inner.lifetime

    let present = inner.value
    let validated = MutableProperty(Result(present, validator(present)))
    result = Property(capturing: validated)
    if let inner = inner as? MutableProperty<Value> {
      write = Self.validate(inner, into: validated, by: validator)
    } else {
      write = Self.validate(any: inner, into: validated, by: validator)
    }
  }

  /// Creates a property that starts with `initial`, valid or not, and validates the values that are
  /// set.
  @available(swift 6)
  public convenience init(
    _ initial: Value, _ validator: @escaping @Sendable (Value) -> Decision
  ) {
    self.init(MutableProperty(initial), validator)
  }

  /// Creates a property whose validator also gets the value of `other`. Whenever that changes, the
  /// value that was last set is validated again. Retains `inner`, and follows `other` without
  /// retaining it.
  @available(swift 6)
  public convenience init<Other: PropertyProtocol>(
    _ inner: MutableProperty<Value>, with other: Other,
    _ validator: @escaping @Sendable (Value, Other.Value) -> Decision
  ) {
    let view = Property(other)
    self.init(inner, following: view) { validator($0, $1) }
  }

  /// Creates a property whose validator also gets the value of `other`. Whenever that changes, the
  /// value that was last set is validated again. Follows `other` without retaining it.
  @available(swift 6)
  public convenience init<Other: PropertyProtocol>(
    _ initial: Value, with other: Other,
    _ validator: @escaping @Sendable (Value, Other.Value) -> Decision
  ) {
    self.init(MutableProperty(initial), with: other, validator)
  }

  /// Creates a property whose validator also gets the value that was last set on `other`, valid or
  /// not. Whenever that is set, the value that was last set here is validated again.
  @available(swift 6)
  public convenience init<U, E: Swift.Error>(
    _ initial: Value, with other: ValidatingProperty<U, E>,
    _ validator: @escaping @Sendable (Value, U) -> Decision
  ) {
    self.init(MutableProperty(initial), with: other, validator)
  }

  /// Creates a property whose validator also gets the value that was last set on `other`, valid or
  /// not. Whenever that is set, the value that was last set here is validated again. Retains
  /// `inner`.
  @available(swift 6)
  public convenience init<U, E: Swift.Error>(
    _ inner: MutableProperty<Value>, with other: ValidatingProperty<U, E>,
    _ validator: @escaping @Sendable (Value, U) -> Decision
  ) {
    self.init(inner, following: other.result) { validator($0, $1.proposed) }
  }

  private convenience init<Other>(
    _ inner: MutableProperty<Value>, following other: Property<Other>,
    _ validator: @escaping @Sendable (Value, Other) -> Decision
  ) {
    self.init(validating: inner) { validator($0, other.value) }
    let observer = ValueObserver<Other, Never> { [weak self] _ in
      guard let self else { return }
      value = result.value.proposed
    }
    _ = other.signal.take(during: lifetime).attach(observer)
  }

  /// A validator's decision on a value.
  public enum Decision {
    /// The value is accepted.
    case valid
    /// Another value replaces it.
    case coerced(Value, ValidationError?)
    /// The value is rejected.
    case invalid(ValidationError)
  }

  /// The result of validating a value.
  public enum Result {
    /// The value was accepted.
    case valid(Value)
    /// Another value replaced it.
    case coerced(replacement: Value, proposed: Value, error: ValidationError?)
    /// The value was rejected.
    case invalid(Value, ValidationError)

    /// Whether the value was rejected.
    public var isInvalid: Bool {
      if case .invalid = self { true } else { false }
    }

    /// The value that the property accepted, if any.
    public var value: Value? {
      switch self {
      case .valid(let value): value
      case .coerced(let replacement, _, _): replacement
      case .invalid: nil
      }
    }

    /// The reason why the value was rejected or replaced.
    public var error: ValidationError? {
      switch self {
      case .valid: nil
      case .coerced(_, _, let error): error
      case .invalid(_, let error): error
      }
    }

    /// The value that was set.
    var proposed: Value {
      switch self {
      case .valid(let value): value
      case .coerced(_, let proposed, _): proposed
      case .invalid(let value, _): value
      }
    }

    init(_ value: Value, _ decision: Decision) {
      switch decision {
      case .valid: self = .valid(value)
      case .coerced(let replacement, let error):
        self = .coerced(replacement: replacement, proposed: value, error: error)
      case .invalid(let error): self = .invalid(value, error)
      }
    }
  }
}

// What it reads and writes is locked.
extension ValidatingProperty: @unchecked Sendable where Value: Sendable {}
extension ValidatingProperty.Decision: Sendable where Value: Sendable {}
extension ValidatingProperty.Result: Sendable where Value: Sendable {}

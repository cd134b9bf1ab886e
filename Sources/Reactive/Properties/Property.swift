/// A value that can be observed, but not set.
///
/// It is a constant, or a view of another property, or composed of properties and streams by an
/// operator. A composed property retains none of its sources: it follows them until they are
/// released. It is kept up to date while it, its ``signal`` or its ``producer`` is retained or
/// observed.
@propertyWrapper
public final class Property<Value>: PropertyProtocol {
  private let read: () -> Value

  /// Sends the current value, then every change; completes when the sources can't change any more.
  public let producer: SignalProducer<Value, Never>

  /// Sends every change; completes when the sources can't change any more.
  public let signal: Signal<Value, Never>

  /// The current value.
  public var value: Value { read() }

  /// The current value.
  public var wrappedValue: Value { value }

  /// The property itself.
  public var projectedValue: Property<Value> { self }

  init(
    reading read: @escaping () -> Value, producer: SignalProducer<Value, Never>,
    signal: Signal<Value, Never>
  ) {
    self.read = read
    self.producer = producer
    self.signal = signal
  }

  /// A constant.
  public init(value: Value) {
    read = { value }
    producer = SignalProducer(value: value)
    signal = .empty
  }

  /// A view of `property`, which it retains.
  public init<P: PropertyProtocol>(capturing property: P) where P.Value == Value {
    read = { property.value }
    producer = property.producer
    signal = property.signal
  }

  /// A view of `property`, which it does not retain.
  public convenience init<P: PropertyProtocol>(_ property: P) where P.Value == Value {
    self.init(unsafeProducer: property.producer)
  }

  /// Creates a property with the value `initial`, which then has the latest value that `values`
  /// sends. Starts `values` now.
  public convenience init(initial: Value, then values: SignalProducer<Value, Never>) {
    let core = PropertyCore(initial)
    self.init(core, fedBy: values)
  }

  /// Creates a property with the value `initial`, which then has the latest value that `values`
  /// sends. Starts `values` now.
  public convenience init<Values: SignalProducerConvertible>(
    initial: Value, then values: Values
  ) where Values.Value == Value, Values.Error == Never {
    self.init(initial: initial, then: values.producer)
  }

  /// A property of the values of a producer that must send one when it is started.
  @usableFromInline
  convenience init(unsafeProducer: SignalProducer<Value, Never>) {
    let core = PropertyCore<Value>()
    let isOutermost = ThreadMark.composing.begin()
    defer { ThreadMark.composing.end(isOutermost) }
    self.init(core, fedBy: unsafeProducer)
    precondition(
      core.hasValue, "the producer of a property must send a value when it is started")
  }

  private convenience init(
    _ core: PropertyCore<Value>, fedBy values: SignalProducer<Value, Never>
  ) {
    let signal = Signal(core: core)
    core.lifetime.hold(Demand.withNone { values.core.start(PropertyFeed(core)) })
    self.init(
      reading: { core.value },
      producer: SignalProducer(of: core, keeping: signal), signal: signal)
  }
}

// What it reads from is locked.
extension Property: @unchecked Sendable where Value: Sendable {}

extension Property where Value: OptionalProtocol {
  /// Creates a property with the value `initial`, which then has the latest value that `values`
  /// sends. Starts `values` now.
  public convenience init(initial: Value, then values: SignalProducer<Value.Wrapped, Never>) {
    self.init(initial: initial, then: values.map { Value(reconstructing: $0) })
  }

  /// Creates a property with the value `initial`, which then has the latest value that `values`
  /// sends. Starts `values` now.
  public convenience init<Values: SignalProducerConvertible>(
    initial: Value, then values: Values
  ) where Values.Value == Value.Wrapped, Values.Error == Never {
    self.init(initial: initial, then: values.producer)
  }
}

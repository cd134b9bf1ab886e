/// A value that can be set and observed, from any thread.
///
/// Observers see every value that is set, in the order of setting, also if one of them sets the
/// property while a value is delivered to it: that value is stored at once and delivered after all
/// observers have received the one before. Where several threads set it, one of them delivers for
/// all.
@propertyWrapper
public final class MutableProperty<Value>: ComposableMutablePropertyProtocol {
  let core: PropertyCore<Value>
  private let token: Lifetime.Token

  /// The lifetime of the property, which ends when it is released.
  public let lifetime: Lifetime

  /// Sends every value that is set; completes when the property is released.
  public let signal: Signal<Value, Never>

  /// The current value. Setting it notifies all observers, also if the value is equal.
  public var value: Value {
    get { core.value }
    set { core.replace(newValue) }
  }

  /// The current value.
  public var wrappedValue: Value {
    get { value }
    set { value = newValue }
  }

  /// The property itself.
  public var projectedValue: MutableProperty<Value> { self }

  /// Sends the current value, then every value that is set; completes when the property is
  /// released. Does not retain the property.
  public var producer: SignalProducer<Value, Never> {
    SignalProducer(of: core, keeping: signal)
  }

  /// A property with the given value.
  public init(_ initialValue: Value) {
    core = PropertyCore(initialValue)
    signal = Signal(core: core)
    (lifetime, token) = Lifetime.make()
  }

  /// A property with the given value.
  public convenience init(wrappedValue: Value) {
    self.init(wrappedValue)
  }

  deinit {
    core.terminate(.completed)
    token.dispose()
  }

  /// Replaces the value, and notifies all observers.
  ///
  /// - Parameter newValue: The value from now on.
  /// - Returns: The previous value.
  @discardableResult
  public func swap(_ newValue: Value) -> Value {
    modify { value in
      let previous = value
      value = newValue
      return previous
    }
  }

  /// Modifies the value in place and notifies all observers, also if `action` throws.
  ///
  /// The property is locked meanwhile: `action` must not use it. Using it traps. It may modify
  /// another property, but only in one order: two threads of which each modifies the other's property
  /// inside its own would wait for each other, which traps, too.
  ///
  /// - Parameter action: Called at once, on the calling thread, with the value to be changed. What
  ///   it throws is rethrown.
  /// - Returns: What `action` returns.
  @discardableResult
  public func modify<Result>(_ action: (inout Value) throws -> Result) rethrows -> Result {
    try core.modify(action)
  }

  /// Reads the value, which no other thread can set, nor read, before `action` returns.
  ///
  /// `action` itself may use the property: what it sets is delivered to all observers afterwards.
  ///
  /// - Parameter action: Called at once, on the calling thread, with the value. What it throws is
  ///   rethrown.
  /// - Returns: What `action` returns.
  @discardableResult
  public func withValue<Result>(_ action: (Value) throws -> Result) rethrows -> Result {
    try core.withValue(action)
  }
}

extension MutableProperty: Sendable where Value: Sendable {}

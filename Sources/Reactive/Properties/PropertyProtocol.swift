/// A value that can be observed: its current value, and every change.
public protocol PropertyProtocol<Value>: AnyObject, BindingSource, SendableMetatype {
  /// The current value.
  var value: Value { get }

  /// Sends the current value, then every change; completes when there can be no more changes.
  var producer: SignalProducer<Value, Never> { get }

  /// Sends every change; completes when there can be no more.
  var signal: Signal<Value, Never> { get }
}

/// A property whose value can be set.
public protocol MutablePropertyProtocol<Value>: PropertyProtocol, BindingTargetProvider {
  /// The type of the value.
  associatedtype Value

  /// The current value.
  var value: Value { get set }

  /// The lifetime of the property.
  var lifetime: Lifetime { get }
}

extension MutablePropertyProtocol {
  /// A target that sets the property. Does not retain it.
  public var bindingTarget: BindingTarget<Value> {
    let target = UncheckedWeak(self)
    return BindingTarget(lifetime: lifetime) { target.object?.value = $0 }
  }
}

/// A property whose value can be modified in place, atomically.
public protocol ComposableMutablePropertyProtocol<Value>: MutablePropertyProtocol {
  /// Reads the value.
  ///
  /// - Returns: What `action` returns.
  func withValue<Result>(_ action: (Value) throws -> Result) rethrows -> Result

  /// Modifies the value in place.
  ///
  /// - Returns: What `action` returns.
  func modify<Result>(_ action: (inout Value) throws -> Result) rethrows -> Result
}

/// A weak reference that may be taken to another thread. The code around it proves that the object
/// is only used as its type allows, or leaves that to the user, as the one that chose the
/// scheduler.
struct UncheckedWeak<Object: AnyObject>: @unchecked Sendable {
  // Weak references are loaded atomically.
  weak let object: Object?

  init(_ object: Object) {
    self.object = object
  }
}

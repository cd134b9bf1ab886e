precedencegroup BindingPrecedence {
  associativity: right
  // Binds tighter than assignment, so that the disposable can be assigned.
  higherThan: AssignmentPrecedence
}

infix operator <~ : BindingPrecedence

/// A source of values that can be bound to a target: it can't fail.
public protocol BindingSource<Value>: SignalProducerConvertible where Error == Never {}

extension Signal: BindingSource where Error == Never {}
extension SignalProducer: BindingSource where Error == Never {}

/// A type that sources can be bound to.
public protocol BindingTargetProvider<Value> {
  /// The type of the values.
  associatedtype Value

  /// The target.
  var bindingTarget: BindingTarget<Value> { get }
}

extension BindingTargetProvider {
  /// Passes the values of `source` to `provider`'s target, until either ends.
  ///
  /// - Returns: A disposable that ends the binding.
  @discardableResult
  public static func <~ <Source: BindingSource>(
    provider: Self, source: Source
  ) -> (any Disposable)? where Source.Value == Value {
    let target = provider.bindingTarget
    return source.producer.take(during: target.lifetime).startWithValues(target.take)
  }

  /// Passes the values of `source` to `provider`'s target, until either ends.
  ///
  /// - Returns: A disposable that ends the binding.
  @discardableResult
  public static func <~ <Source: BindingSource>(
    provider: Self, source: Source
  ) -> (any Disposable)? where Value == Source.Value? {
    provider <~ source.producer.map { .some($0) }
  }
}

extension Signal.Observer {
  /// Sends the values of `source` to `observer`. Does not retain the observer.
  ///
  /// - Returns: A disposable that ends the binding.
  @discardableResult
  public static func <~ <Source: BindingSource>(
    observer: Signal<Value, Error>.Observer, source: Source
  ) -> any Disposable where Source.Value == Value {
    let target = UncheckedWeak(observer)
    return source.producer.startWithValues { target.object?.send(value: $0) }
  }
}

/// Receives values until its owner is released.
public struct BindingTarget<Value>: BindingTargetProvider {
  /// The lifetime of the owner, which ends all bindings.
  public let lifetime: Lifetime

  /// Handles a value.
  public var action: (Value) -> Void { take }

  /// The same, for where a stream of such values may be, too.
  let take: @Sendable (Value) -> Void

  /// The target itself.
  public var bindingTarget: BindingTarget<Value> { self }

  // Disfavoured: an action that is known to be called on the main actor is preferred.
  /// A target that calls `action` on `scheduler` with every value.
  @_disfavoredOverload
  @available(swift 6)
  public init(
    on scheduler: any Scheduler = ImmediateScheduler(), lifetime: Lifetime,
    action: @escaping @Sendable (Value) -> Void
  ) {
    self.lifetime = lifetime
    if scheduler is ImmediateScheduler {
      take = action
    } else {
      take = { value in
        let transfer = UncheckedTransfer(value)
        scheduler.schedule { action(transfer.value) }
      }
    }
  }

  // Disfavoured: as above.
  /// A target that sets a property of `object`, which it does not retain, on `scheduler`.
  ///
  /// The scheduler must be one on which `object` may be used.
  @_disfavoredOverload
  @available(swift 6)
  public init<Object: AnyObject>(
    on scheduler: any Scheduler = ImmediateScheduler(), lifetime: Lifetime, object: Object,
    keyPath: any ReferenceWritableKeyPath<Object, Value> & Sendable
  ) {
    let target = UncheckedWeak(object)
    self.init(on: scheduler, lifetime: lifetime) { target.object?[keyPath: keyPath] = $0 }
  }
}

extension BindingTarget: Sendable where Value: Sendable {}

extension Optional: BindingTargetProvider where Wrapped: BindingTargetProvider {
  /// The type of the values.
  public typealias Value = Wrapped.Value

  /// The wrapped target; for nil, one whose lifetime has ended.
  public var bindingTarget: BindingTarget<Wrapped.Value> {
    self?.bindingTarget ?? BindingTarget(lifetime: .empty) { _ in }
  }
}

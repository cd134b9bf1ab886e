// Table: written by scripts/generate-reactive-swift5.

extension Action {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<State: PropertyProtocol>(
    state: State, enabledIf isEnabled: @escaping @Sendable (State.Value) -> Bool,
    execute: @escaping @Sendable (State.Value, Input) -> SignalProducer<Output, Error>,
    _: Swift5 = Swift5()
  ) {
    self.init(state: state, enabledIf: isEnabled, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<P: PropertyProtocol>(
    state: P, execute: @escaping @Sendable (P.Value, Input) -> SignalProducer<Output, Error>,
    _: Swift5 = Swift5()
  ) {
    self.init(state: state, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<P: PropertyProtocol>(
    enabledIf isEnabled: P,
    execute: @escaping @Sendable (Input) -> SignalProducer<Output, Error>, _: Swift5 = Swift5()
  ) where P.Value == Bool {
    self.init(enabledIf: isEnabled, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<P: PropertyProtocol, T>(
    unwrapping state: P,
    execute: @escaping @Sendable (T, Input) -> SignalProducer<Output, Error>, _: Swift5 = Swift5()
  ) where P.Value == T? {
    self.init(unwrapping: state, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<T, E: Swift.Error>(
    validated state: ValidatingProperty<T, E>,
    execute: @escaping @Sendable (T, Input) -> SignalProducer<Output, Error>, _: Swift5 = Swift5()
  ) {
    self.init(validated: state, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init(
    execute: @escaping @Sendable (Input) -> SignalProducer<Output, Error>, _: Swift5 = Swift5()
  ) {
    self.init(execute: execute)
  }
}

extension Action where Input == Void {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<P: PropertyProtocol, T>(
    unwrapping state: P, execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>,
    _: Swift5 = Swift5()
  ) where P.Value == T? {
    self.init(unwrapping: state, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<T, E: Swift.Error>(
    validated state: ValidatingProperty<T, E>,
    execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>, _: Swift5 = Swift5()
  ) {
    self.init(validated: state, execute: execute)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<P: PropertyProtocol, T>(
    state: P, execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>,
    _: Swift5 = Swift5()
  ) where P.Value == T {
    self.init(state: state, execute: execute)
  }
}

extension BindingTarget {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public init(
    on scheduler: any Scheduler = ImmediateScheduler(), lifetime: Lifetime,
    action: @escaping @Sendable (Value) -> Void, _: Swift5 = Swift5()
  ) {
    self.init(on: scheduler, lifetime: lifetime, action: action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public init<Object: AnyObject>(
    on scheduler: any Scheduler = ImmediateScheduler(), lifetime: Lifetime, object: Object,
    keyPath: any ReferenceWritableKeyPath<Object, Value> & Sendable, _: Swift5 = Swift5()
  ) {
    self.init(on: scheduler, lifetime: lifetime, object: object, keyPath: keyPath)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(
    on scheduler: UIScheduler, lifetime: Lifetime,
    action: @escaping @MainActor @Sendable (Value) -> Void, _: Swift5 = Swift5()
  ) where Value: Sendable {
    self.init(on: scheduler, lifetime: lifetime, action: action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init<Object: AnyObject>(
    on scheduler: UIScheduler, lifetime: Lifetime, object: Object,
    keyPath: ReferenceWritableKeyPath<Object, Value>, _: Swift5 = Swift5()
  ) where Value: Sendable {
    self.init(on: scheduler, lifetime: lifetime, object: object, keyPath: keyPath)
  }
}

extension MutableProperty {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func link<Other>(
    to other: MutableProperty<Other>, reading read: @escaping @Sendable (Other) -> Value,
    writing write: @escaping @Sendable (Value) -> Other, _: Swift5 = Swift5()
  ) -> any Disposable {
    link(to: other, reading: read, writing: write)
  }
}

extension AnyDisposable {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init(_ action: @escaping @Sendable () -> Void, _: Swift5 = Swift5()) {
    self.init(action)
  }
}

extension CompositeDisposable {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func add(_ action: @escaping @Sendable () -> Void, _: Swift5 = Swift5()) -> (
    any Disposable
  )? {
    add(action)
  }
}

extension Lifetime {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observeEnded(_ action: @escaping @Sendable () -> Void, _: Swift5 = Swift5()) -> (
    any Disposable
  )? {
    observeEnded(action)
  }
}

extension PropertyProtocol {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U, _: Swift5 = Swift5())
    -> Property<U>
  {
    map(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func map<U>(_ keyPath: any KeyPath<Value, U> & Sendable, _: Swift5 = Swift5()) -> Property<
    U
  > {
    map(keyPath)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func filter(
    initial: Value, _ predicate: @escaping @Sendable (Value) -> Bool, _: Swift5 = Swift5()
  ) -> Property<Value> {
    filter(initial: initial, predicate)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool, _: Swift5 = Swift5()
  ) -> Property<Value> {
    skipRepeats(isEquivalent)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMap<P: PropertyProtocol>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> P, _: Swift5 = Swift5()
  ) -> Property<P.Value> {
    flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity, _: Swift5 = Swift5()
  ) -> Property<Value> {
    uniqueValues(transform)
  }
}

extension ValidatingProperty {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<Inner: ComposableMutablePropertyProtocol>(
    _ inner: Inner, _ validator: @escaping @Sendable (Value) -> Decision, _: Swift5 = Swift5()
  ) where Inner.Value == Value {
    self.init(inner, validator)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init(
    _ initial: Value, _ validator: @escaping @Sendable (Value) -> Decision, _: Swift5 = Swift5()
  ) {
    self.init(initial, validator)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<Other: PropertyProtocol>(
    _ inner: MutableProperty<Value>, with other: Other,
    _ validator: @escaping @Sendable (Value, Other.Value) -> Decision, _: Swift5 = Swift5()
  ) {
    self.init(inner, with: other, validator)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<Other: PropertyProtocol>(
    _ initial: Value, with other: Other,
    _ validator: @escaping @Sendable (Value, Other.Value) -> Decision, _: Swift5 = Swift5()
  ) {
    self.init(initial, with: other, validator)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<U, E: Swift.Error>(
    _ initial: Value, with other: ValidatingProperty<U, E>,
    _ validator: @escaping @Sendable (Value, U) -> Decision, _: Swift5 = Swift5()
  ) {
    self.init(initial, with: other, validator)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init<U, E: Swift.Error>(
    _ inner: MutableProperty<Value>, with other: ValidatingProperty<U, E>,
    _ validator: @escaping @Sendable (Value, U) -> Decision, _: Swift5 = Swift5()
  ) {
    self.init(inner, with: other, validator)
  }
}

extension Signal.Observer {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init(
    _ action: @escaping @Sendable (Signal<Value, Error>.Event) -> Void, _: Swift5 = Swift5()
  ) {
    self.init(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public convenience init(
    value: (@Sendable (Value) -> Void)? = nil,
    failed: (@Sendable (Error) -> Void)? = nil,
    completed: (@Sendable () -> Void)? = nil,
    interrupted: (@Sendable () -> Void)? = nil, _: Swift5 = Swift5()
  ) {
    self.init(value: value, failed: failed, completed: completed, interrupted: interrupted)
  }
}

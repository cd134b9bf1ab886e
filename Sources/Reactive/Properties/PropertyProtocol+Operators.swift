extension PropertyProtocol {
  /// A property of what `transform` makes of this one's stream.
  ///
  /// - Parameter transform: An operator that passes a value on at once when it is started.
  func lift<U>(
    _ transform: (SignalProducer<Value, Never>) -> SignalProducer<U, Never>
  ) -> Property<U> {
    Property(unsafeProducer: transform(producer))
  }

  /// Transforms the value.
  @available(swift 6)
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> Property<U> {
    lift { $0.map(transform) }
  }

  /// A property that is always `value`, and notifies its observers as often as this one.
  @_disfavoredOverload
  public func map<U>(value: U) -> Property<U> {
    lift { $0.map(value: value) }
  }

  /// A part of the value.
  @_disfavoredOverload
  public func map<U>(_ keyPath: KeyPath<Value, U>) -> Property<U> {
    lift { $0.map(keyPath) }
  }

  /// The last value that `predicate` says yes to; `initial` until there is one.
  @available(swift 6)
  public func filter(
    initial: Value, _ predicate: @escaping @Sendable (Value) -> Bool
  ) -> Property<Value> {
    Property(initial: initial, then: producer.filter(predicate))
  }

  /// The value before and the value.
  ///
  /// - Parameter initial: What counts as the value before the first.
  public func combinePrevious(_ initial: Value) -> Property<(Value, Value)> {
    lift { $0.combinePrevious(initial) }
  }

  /// Leaves out a value that is equivalent to the one before.
  @available(swift 6)
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool
  ) -> Property<Value> {
    lift { $0.skipRepeats(isEquivalent) }
  }

  /// The value of the property that `transform` makes of the value.
  @available(swift 6)
  public func flatMap<P: PropertyProtocol>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> P
  ) -> Property<P.Value> {
    lift { $0.flatMap(strategy) { transform($0).producer } }
  }

  /// Leaves out a value if one of the same identity has been there before.
  @available(swift 6)
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity
  ) -> Property<Value> {
    lift { $0.uniqueValues(transform) }
  }
}

extension PropertyProtocol where Value: Equatable {
  /// Leaves out a value that is equal to the one before.
  public func skipRepeats() -> Property<Value> {
    lift { $0.skipRepeats() }
  }
}

extension PropertyProtocol where Value: Hashable {
  /// Leaves out a value that has been there before.
  public func uniqueValues() -> Property<Value> {
    lift { $0.uniqueValues() }
  }
}

extension PropertyProtocol where Value: PropertyProtocol {
  /// The value of the property that is the value.
  public func flatten(_ strategy: FlattenStrategy) -> Property<Value.Value> {
    lift { $0.flatMap(strategy) { $0.producer } }
  }
}

// MARK: Combining

extension PropertyProtocol {
  /// The values of two properties.
  @inlinable
  public static func combineLatest<A: PropertyProtocol, B: PropertyProtocol>(
    _ a: A, _ b: B
  ) -> Property<(A.Value, B.Value)> where A.Value == Value {
    Property(unsafeProducer: SignalProducer<Value, Never>.combineLatest(a, b))
  }

  /// The values of all properties.
  ///
  /// - Returns: Nil, if there are none.
  public static func combineLatest<S: Sequence>(
    _ properties: S
  ) -> Property<[S.Iterator.Element.Value]>? where S.Element: PropertyProtocol {
    let producers = properties.map { $0.producer }
    guard !producers.isEmpty else { return nil }
    return Property(
      unsafeProducer: SignalProducer<S.Element.Value, Never>.combineLatest(producers))
  }

  /// The values of all properties; if there are none, constantly `emptySentinel`.
  public static func combineLatest<S: Sequence>(
    _ properties: S, emptySentinel: [S.Iterator.Element.Value]
  ) -> Property<[S.Iterator.Element.Value]> where S.Element: PropertyProtocol {
    combineLatest(properties) ?? Property(value: emptySentinel)
  }

  /// The values of two properties, the n-th of one with the n-th of the other.
  @inlinable
  public static func zip<A: PropertyProtocol, B: PropertyProtocol>(
    _ a: A, _ b: B
  ) -> Property<(Value, B.Value)> where A.Value == Value {
    Property(unsafeProducer: SignalProducer<Value, Never>.zip(a, b))
  }

  /// The values of all properties, n-th with n-th.
  ///
  /// - Returns: Nil, if there are none.
  public static func zip<S: Sequence>(
    _ properties: S
  ) -> Property<[S.Iterator.Element.Value]>? where S.Element: PropertyProtocol {
    let producers = properties.map { $0.producer }
    guard !producers.isEmpty else { return nil }
    return Property(
      unsafeProducer: SignalProducer<S.Element.Value, Never>.zip(producers))
  }

  /// The values of all properties, n-th with n-th; if there are none, constantly `emptySentinel`.
  public static func zip<S: Sequence>(
    _ properties: S, emptySentinel: [S.Iterator.Element.Value]
  ) -> Property<[S.Iterator.Element.Value]> where S.Element: PropertyProtocol {
    zip(properties) ?? Property(value: emptySentinel)
  }
}

// MARK: Booleans

extension PropertyProtocol where Value == Bool {
  /// Not the value.
  public func negate() -> Property<Value> {
    lift { $0.negate() }
  }

  /// Whether both are true.
  public func and<P: PropertyProtocol>(_ property: P) -> Property<Value>
  where P.Value == Value {
    Property(unsafeProducer: producer.and(property))
  }

  /// Whether at least one is true.
  public func or<P: PropertyProtocol>(_ property: P) -> Property<Value>
  where P.Value == Value {
    Property(unsafeProducer: producer.or(property))
  }

  /// Whether all are true; of none, true.
  public static func all<P: PropertyProtocol, Properties: Collection>(
    _ properties: Properties
  ) -> Property<Value> where P.Value == Value, Properties.Element == P {
    Property(
      initial: properties.allSatisfy { $0.value }, then: SignalProducer.all(properties))
  }

  /// Whether all are true; of none, true.
  public static func all<P: PropertyProtocol>(_ properties: P...) -> Property<Value>
  where P.Value == Value {
    all(properties)
  }

  /// Whether at least one is true; of none, false.
  public static func any<P: PropertyProtocol, Properties: Collection>(
    _ properties: Properties
  ) -> Property<Value> where P.Value == Value, Properties.Element == P {
    Property(initial: properties.contains { $0.value }, then: SignalProducer.any(properties))
  }

  /// Whether at least one is true; of none, false.
  public static func any<P: PropertyProtocol>(_ properties: P...) -> Property<Value>
  where P.Value == Value {
    any(properties)
  }
}

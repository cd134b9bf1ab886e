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
  ///
  /// - Parameter transform: Called with every value, on the thread that sets this property, one
  ///   call at a time, and once at once with the current value.
  /// - Returns: A property of what `transform` returns. It does not retain this one.
  @available(swift 6)
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> Property<U> {
    lift { $0.map(transform) }
  }

  /// A property that is always `value`, and notifies its observers as often as this one.
  ///
  /// - Parameter value: The value.
  /// - Returns: A property of `value`. It does not retain this one.
  @_disfavoredOverload
  public func map<U>(value: U) -> Property<U> {
    lift { $0.map(value: value) }
  }

  /// A part of the value.
  ///
  /// - Parameter keyPath: Which part.
  /// - Returns: A property of that part. It does not retain this one.
  @_disfavoredOverload
  @available(swift 6)
  public func map<U>(_ keyPath: any KeyPath<Value, U> & Sendable) -> Property<U> {
    lift { $0.map(keyPath) }
  }

  /// The last value for which `predicate` returned true; `initial` until there is one.
  ///
  /// - Parameters:
  ///   - initial: The value until `predicate` has returned true.
  ///   - predicate: Called with every value, on the thread that sets this property, one call at a
  ///     time, and once at once with the current value.
  /// - Returns: A property of the values that are included. It does not retain this one.
  @available(swift 6)
  public func filter(
    initial: Value, _ predicate: @escaping @Sendable (Value) -> Bool
  ) -> Property<Value> {
    Property(initial: initial, then: producer.filter(predicate))
  }

  /// The value before and the value.
  ///
  /// - Parameter initial: What counts as the value before the first.
  /// - Returns: A property of pairs. It does not retain this one.
  public func combinePrevious(_ initial: Value) -> Property<(Value, Value)> {
    lift { $0.combinePrevious(initial) }
  }

  /// Leaves out a value that is equivalent to the one before.
  ///
  /// - Parameter isEquivalent: Called with the value that was passed last and the new one, on the
  ///   thread that sets this property, one call at a time.
  /// - Returns: A property that only changes when the value does. It does not retain this one.
  @available(swift 6)
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool
  ) -> Property<Value> {
    lift { $0.skipRepeats(isEquivalent) }
  }

  /// The value of the property that `transform` makes of the value.
  ///
  /// - Parameters:
  ///   - strategy: Which of those properties are followed. With any but `.latest`, the value may be
  ///     that of an earlier one.
  ///   - transform: Called with every value, on the thread that sets this property, one call at a
  ///     time, and once at once with the current value.
  /// - Returns: A property that follows those that `transform` returns. It retains neither them nor
  ///   this one.
  @available(swift 6)
  public func flatMap<P: PropertyProtocol>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> P
  ) -> Property<P.Value> {
    lift { $0.flatMap(strategy) { transform($0).producer } }
  }

  /// Leaves out a value if one of the same identity has been there before.
  ///
  /// Every identity is remembered: memory grows with their number.
  ///
  /// - Parameter transform: Called with every value, on the thread that sets this property, one
  ///   call at a time, and once at once with the current value. What it returns is the value's
  ///   identity.
  /// - Returns: A property that has one value of each identity. It does not retain this one.
  @available(swift 6)
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity
  ) -> Property<Value> {
    lift { $0.uniqueValues(transform) }
  }
}

extension PropertyProtocol where Value: Equatable {
  /// Leaves out a value that is equal to the one before.
  ///
  /// - Returns: A property that only changes when the value does. It does not retain this one.
  public func skipRepeats() -> Property<Value> {
    lift { $0.skipRepeats() }
  }
}

extension PropertyProtocol where Value: Hashable {
  /// Leaves out a value that has been there before.
  ///
  /// Every value is remembered: memory grows with their number.
  ///
  /// - Returns: A property that has no value twice. It does not retain this one.
  public func uniqueValues() -> Property<Value> {
    lift { $0.uniqueValues() }
  }
}

extension PropertyProtocol where Value: PropertyProtocol {
  /// The value of the property that is the value.
  ///
  /// - Parameter strategy: Which of those properties are followed. With any but `.latest`, the
  ///   value may be that of an earlier one.
  /// - Returns: A property that follows the values of this one. It retains neither them nor this
  ///   one.
  public func flatten(_ strategy: FlattenStrategy) -> Property<Value.Value> {
    lift { $0.flatMap(strategy) { $0.producer } }
  }
}

// MARK: Combining

extension PropertyProtocol {
  /// The values of two properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A property of pairs. It retains neither of the two.
  @inlinable
  public static func combineLatest<A: PropertyProtocol, B: PropertyProtocol>(
    _ a: A, _ b: B
  ) -> Property<(A.Value, B.Value)> where A.Value == Value {
    Property(unsafeProducer: SignalProducer<Value, Never>.combineLatest(a, b))
  }

  /// The values of all properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Parameter properties: The properties, in the order in which their values are in the arrays.
  /// - Returns: A property of arrays, which retains none of them; nil, if there are none.
  public static func combineLatest<S: Sequence>(
    _ properties: S
  ) -> Property<[S.Iterator.Element.Value]>? where S.Element: PropertyProtocol {
    let producers = properties.map { $0.producer }
    guard !producers.isEmpty else { return nil }
    return Property(
      unsafeProducer: SignalProducer<S.Element.Value, Never>.combineLatest(producers))
  }

  /// The values of all properties; if there are none, constantly `emptySentinel`.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Parameters:
  ///   - properties: The properties, in the order in which their values are in the arrays.
  ///   - emptySentinel: The value where there are no properties.
  /// - Returns: A property of arrays, which retains none of them.
  public static func combineLatest<S: Sequence>(
    _ properties: S, emptySentinel: [S.Iterator.Element.Value]
  ) -> Property<[S.Iterator.Element.Value]> where S.Element: PropertyProtocol {
    combineLatest(properties) ?? Property(value: emptySentinel)
  }

  /// The values of two properties, the n-th of one with the n-th of the other.
  ///
  /// The result changes when both have.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A property of pairs. It retains neither of the two.
  @inlinable
  public static func zip<A: PropertyProtocol, B: PropertyProtocol>(
    _ a: A, _ b: B
  ) -> Property<(Value, B.Value)> where A.Value == Value {
    Property(unsafeProducer: SignalProducer<Value, Never>.zip(a, b))
  }

  /// The values of all properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Parameter properties: The properties, in the order in which their values are in the arrays.
  /// - Returns: A property of arrays, which retains none of them; nil, if there are none.
  public static func zip<S: Sequence>(
    _ properties: S
  ) -> Property<[S.Iterator.Element.Value]>? where S.Element: PropertyProtocol {
    let producers = properties.map { $0.producer }
    guard !producers.isEmpty else { return nil }
    return Property(
      unsafeProducer: SignalProducer<S.Element.Value, Never>.zip(producers))
  }

  /// The values of all properties, n-th with n-th; if there are none, constantly `emptySentinel`.
  ///
  /// The result changes when all have.
  ///
  /// - Parameters:
  ///   - properties: The properties, in the order in which their values are in the arrays.
  ///   - emptySentinel: The value where there are no properties.
  /// - Returns: A property of arrays, which retains none of them.
  public static func zip<S: Sequence>(
    _ properties: S, emptySentinel: [S.Iterator.Element.Value]
  ) -> Property<[S.Iterator.Element.Value]> where S.Element: PropertyProtocol {
    zip(properties) ?? Property(value: emptySentinel)
  }
}

// MARK: Booleans

extension PropertyProtocol where Value == Bool {
  /// The opposite of the value.
  ///
  /// - Returns: A property that is true while this one is false. It does not retain this one.
  public func negate() -> Property<Value> {
    lift { $0.negate() }
  }

  /// Whether both are true.
  ///
  /// - Parameter property: The other.
  /// - Returns: A property that changes whenever one of the two does. It retains neither of them.
  public func and<P: PropertyProtocol>(_ property: P) -> Property<Value>
  where P.Value == Value {
    Property(unsafeProducer: producer.and(property))
  }

  /// Whether at least one of both is true.
  ///
  /// - Parameter property: The other.
  /// - Returns: A property that changes whenever one of the two does. It retains neither of them.
  public func or<P: PropertyProtocol>(_ property: P) -> Property<Value>
  where P.Value == Value {
    Property(unsafeProducer: producer.or(property))
  }

  /// Whether all are true; of none, true.
  ///
  /// - Parameter properties: The properties.
  /// - Returns: A property that changes whenever one of them does. It retains none of them.
  public static func all<P: PropertyProtocol, Properties: Collection>(
    _ properties: Properties
  ) -> Property<Value> where P.Value == Value, Properties.Element == P {
    Property(
      initial: properties.allSatisfy { $0.value }, then: SignalProducer.all(properties))
  }

  /// Whether all are true; of none, true.
  ///
  /// - Parameter properties: The properties.
  /// - Returns: A property that changes whenever one of them does. It retains none of them.
  public static func all<P: PropertyProtocol>(_ properties: P...) -> Property<Value>
  where P.Value == Value {
    all(properties)
  }

  /// Whether at least one is true; of none, false.
  ///
  /// - Parameter properties: The properties.
  /// - Returns: A property that changes whenever one of them does. It retains none of them.
  public static func any<P: PropertyProtocol, Properties: Collection>(
    _ properties: Properties
  ) -> Property<Value> where P.Value == Value, Properties.Element == P {
    Property(initial: properties.contains { $0.value }, then: SignalProducer.any(properties))
  }

  /// Whether at least one is true; of none, false.
  ///
  /// - Parameter properties: The properties.
  /// - Returns: A property that changes whenever one of them does. It retains none of them.
  public static func any<P: PropertyProtocol>(_ properties: P...) -> Property<Value>
  where P.Value == Value {
    any(properties)
  }
}

extension Signal where Value == Bool {
  /// Not the value.
  public func negate() -> Signal<Value, Error> {
    map { !$0 }
  }

  /// Whether the latest values of both are true.
  public func and(_ booleans: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, booleans).map { $0.0 && $0.1 }
  }

  /// Whether at least one of the latest values is true.
  public func or(_ booleans: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, booleans).map { $0.0 || $0.1 }
  }
}

// Producers: by hand, because of no streams the latest values are all true at once.
extension Signal where Value == Bool {
  /// Whether the latest values of all signals are true.
  public static func all<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> Signal<Value, Error> where BooleansCollection.Element == Signal<Bool, Error> {
    combineLatest(booleans).map { $0.allSatisfy { $0 } }
  }

  /// Whether the latest values of all signals are true.
  public static func all(_ booleans: Signal<Value, Error>...) -> Signal<Value, Error> {
    all(booleans)
  }

  /// Whether at least one of the latest values of the signals is true.
  public static func any<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> Signal<Value, Error> where BooleansCollection.Element == Signal<Bool, Error> {
    combineLatest(booleans).map { $0.contains(true) }
  }

  /// Whether at least one of the latest values of the signals is true.
  public static func any(_ booleans: Signal<Value, Error>...) -> Signal<Value, Error> {
    any(booleans)
  }
}

extension SignalProducer where Value == Bool {
  /// Whether the latest values of all producers are true; of none, true.
  public static func all<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where BooleansCollection.Element == SignalProducer<Bool, Error> {
    combineLatest(booleans, emptySentinel: []).map { $0.allSatisfy { $0 } }
  }

  /// Whether the latest values of all producers are true; of none, true.
  public static func all(
    _ booleans: SignalProducer<Value, Error>...
  ) -> SignalProducer<Value, Error> {
    all(booleans)
  }

  /// Whether the latest values of all are true; of none, true.
  @_disfavoredOverload
  public static func all<Booleans: SignalProducerConvertible, BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where
    Booleans.Value == Value, Booleans.Error == Error, BooleansCollection.Element == Booleans
  {
    all(booleans.map { $0.producer })
  }

  /// Whether at least one of the latest values of the producers is true; of none, false.
  public static func any<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where BooleansCollection.Element == SignalProducer<Bool, Error> {
    combineLatest(booleans, emptySentinel: []).map { $0.contains(true) }
  }

  /// Whether at least one of the latest values of the producers is true; of none, false.
  public static func any(
    _ booleans: SignalProducer<Value, Error>...
  ) -> SignalProducer<Value, Error> {
    any(booleans)
  }

  /// Whether at least one of the latest values is true; of none, false.
  @_disfavoredOverload
  public static func any<Booleans: SignalProducerConvertible, BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where
    Booleans.Value == Value, Booleans.Error == Error, BooleansCollection.Element == Booleans
  {
    any(booleans.map { $0.producer })
  }
}

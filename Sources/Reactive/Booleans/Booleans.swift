extension Signal where Value == Bool {
  /// The opposite of every value.
  ///
  /// The end is passed on as it is.
  ///
  /// - Returns: A signal that sends true for false, and false for true.
  public func negate() -> Signal<Value, Error> {
    map { !$0 }
  }

  /// Whether the latest values of both are true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when both have, fails with either and is interrupted with either.
  ///
  /// - Parameter booleans: The other.
  /// - Returns: A signal that sends whether both are true, on the thread of the one that sends.
  public func and(_ booleans: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, booleans).map { $0.0 && $0.1 }
  }

  /// Whether at least one of the latest values of both is true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when both have, fails with either and is interrupted with either.
  ///
  /// - Parameter booleans: The other.
  /// - Returns: A signal that sends whether one is true, on the thread of the one that sends.
  public func or(_ booleans: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, booleans).map { $0.0 || $0.1 }
  }
}

// Producers: by hand, because of no streams the latest values are all true at once.
extension Signal where Value == Bool {
  /// Whether the latest values of all signals are true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when all have, fails with any and is interrupted with any. Without signals, nothing is sent.
  ///
  /// - Parameter booleans: The signals.
  /// - Returns: A signal that sends whether all are true, on the thread of the one that sends.
  public static func all<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> Signal<Value, Error> where BooleansCollection.Element == Signal<Bool, Error> {
    combineLatest(booleans).map { $0.allSatisfy { $0 } }
  }

  /// Whether the latest values of all signals are true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when all have, fails with any and is interrupted with any. Without signals, nothing is sent.
  ///
  /// - Parameter booleans: The signals.
  /// - Returns: A signal that sends whether all are true, on the thread of the one that sends.
  public static func all(_ booleans: Signal<Value, Error>...) -> Signal<Value, Error> {
    all(booleans)
  }

  /// Whether at least one of the latest values of the signals is true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when all have, fails with any and is interrupted with any. Without signals, nothing is sent.
  ///
  /// - Parameter booleans: The signals.
  /// - Returns: A signal that sends whether one is true, on the thread of the one that sends.
  public static func any<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> Signal<Value, Error> where BooleansCollection.Element == Signal<Bool, Error> {
    combineLatest(booleans).map { $0.contains(true) }
  }

  /// Whether at least one of the latest values of the signals is true.
  ///
  /// Nothing is sent before each has sent a value; then, whenever one of them sends. It completes
  /// when all have, fails with any and is interrupted with any. Without signals, nothing is sent.
  ///
  /// - Parameter booleans: The signals.
  /// - Returns: A signal that sends whether one is true, on the thread of the one that sends.
  public static func any(_ booleans: Signal<Value, Error>...) -> Signal<Value, Error> {
    any(booleans)
  }
}

extension SignalProducer where Value == Bool {
  /// Whether the latest values of all producers are true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, true is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether all are true, on the thread of the one that sends.
  public static func all<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where BooleansCollection.Element == SignalProducer<Bool, Error> {
    combineLatest(booleans, emptySentinel: []).map { $0.allSatisfy { $0 } }
  }

  /// Whether the latest values of all producers are true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, true is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether all are true, on the thread of the one that sends.
  public static func all(
    _ booleans: SignalProducer<Value, Error>...
  ) -> SignalProducer<Value, Error> {
    all(booleans)
  }

  /// Whether the latest values of all producers are true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, true is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether all are true, on the thread of the one that sends.
  @_disfavoredOverload
  public static func all<Booleans: SignalProducerConvertible, BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where
    Booleans.Value == Value, Booleans.Error == Error, BooleansCollection.Element == Booleans
  {
    all(booleans.map { $0.producer })
  }

  /// Whether at least one of the latest values of the producers is true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, false is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether one is true, on the thread of the one that sends.
  public static func any<BooleansCollection: Collection>(
    _ booleans: BooleansCollection
  ) -> SignalProducer<Value, Error>
  where BooleansCollection.Element == SignalProducer<Bool, Error> {
    combineLatest(booleans, emptySentinel: []).map { $0.contains(true) }
  }

  /// Whether at least one of the latest values of the producers is true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, false is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether one is true, on the thread of the one that sends.
  public static func any(
    _ booleans: SignalProducer<Value, Error>...
  ) -> SignalProducer<Value, Error> {
    any(booleans)
  }

  /// Whether at least one of the latest values of the producers is true.
  ///
  /// Every run starts all of them, in order. Nothing is sent before each has sent a value; then,
  /// whenever one of them sends. It completes when all have, fails with any and is interrupted with
  /// any. Without producers, false is sent.
  ///
  /// - Parameter booleans: The producers.
  /// - Returns: A producer that sends whether one is true, on the thread of the one that sends.
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

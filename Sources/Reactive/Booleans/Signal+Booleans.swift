extension Signal where Value == Bool {
  /// Not the value.
  public func negate() -> Signal<Value, Error> {
    map { !$0 }
  }

  /// Whether the latest values of both are true.
  public func and(_ signal: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, signal).map { $0.0 && $0.1 }
  }

  /// Whether at least one of the latest values is true.
  public func or(_ signal: Signal<Value, Error>) -> Signal<Value, Error> {
    Signal<Value, Error>.combineLatest(self, signal).map { $0.0 || $0.1 }
  }

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

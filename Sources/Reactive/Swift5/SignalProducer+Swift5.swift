// Table: written by scripts/generate-reactive-swift5.

extension SignalProducer {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(
    callback call:
      @escaping @Sendable (
        _ done: @escaping @Sendable (Result<Value, Error>) -> Void
      ) -> (any Disposable)?, _: Swift5 = Swift5()
  ) {
    self.init(callback: call)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(
    listener register:
      @escaping @Sendable (
        _ listener: @escaping @Sendable (Value) -> Void
      ) -> (any Disposable)?, _: Swift5 = Swift5()
  ) {
    self.init(listener: register)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init<Delegate: AnyObject>(
    delegate makeDelegate: @escaping @Sendable (Signal<Value, Error>.Observer) -> Delegate,
    attach: @escaping @Sendable (Delegate) -> Void,
    detach: @escaping @Sendable (Delegate) -> Void, _: Swift5 = Swift5()
  ) {
    self.init(delegate: makeDelegate, attach: attach, detach: detach)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(
    _ startHandler: @escaping @Sendable (Signal<Value, Error>.Observer, Lifetime) -> Void,
    _: Swift5 = Swift5()
  ) {
    self.init(startHandler)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(_ action: @escaping @Sendable () -> Value, _: Swift5 = Swift5()) {
    self.init(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(_ action: @escaping @Sendable () -> Result<Value, Error>, _: Swift5 = Swift5()) {
    self.init(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public static func unserialized(
    _ startHandler: @escaping @Sendable (Signal<Value, Error>.Observer, Lifetime) -> Void,
    _: Swift5 = Swift5()
  ) -> SignalProducer<Value, Error> {
    unserialized(startHandler)
  }
}

extension SignalProducerProtocol {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ values: [Value]) -> Bool
  ) -> SignalProducer<[Value], Error> {
    producer.collect(shouldEmit)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ collected: [Value], _ latest: Value) -> Bool
  ) -> SignalProducer<[Value], Error> {
    producer.collect(shouldEmit)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    producer.skipRepeats(isEquivalent)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity
  ) -> SignalProducer<Value, Error> {
    producer.uniqueValues(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func mapError<F>(
    _ transform: @escaping @Sendable (Error) -> F
  ) -> SignalProducer<Value, F> {
    producer.mapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) -> Result<(), Error>
  ) -> SignalProducer<Value, Error> {
    producer.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) -> Result<U, Error>
  ) -> SignalProducer<U, Error> {
    producer.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func attempt(
    _ action: @escaping @Sendable (Value) throws(Error) -> Void
  ) -> SignalProducer<Value, Error> {
    producer.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws(Error) -> U
  ) -> SignalProducer<U, Error> {
    producer.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMapError<F>(
    _ transform: @escaping @Sendable (Error) -> SignalProducer<Value, F>
  ) -> SignalProducer<Value, F> {
    producer.flatMapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMapError<Inner: SignalProducerConvertible>(
    _ transform: @escaping @Sendable (Error) -> Inner
  ) -> SignalProducer<Value, Inner.Error> where Inner.Value == Value {
    producer.flatMapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Error>
  ) -> SignalProducer<U, Error> {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Error> where Inner.Error == Error {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> SignalProducer<U, Error> {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Error> where Inner.Error == Never {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func group<Key: Hashable>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> SignalProducer<Group<Key, Value, Error>, Error> {
    producer.group(by: key)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func lazyMap<U>(
    on scheduler: any Scheduler, transform: @escaping @Sendable (Value) -> U
  ) -> SignalProducer<U, Error> where Value: Sendable {
    producer.lazyMap(on: scheduler, transform: transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> SignalProducer<U, Error> {
    producer.map(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  @inlinable
  public func map<U>(_ keyPath: any KeyPath<Value, U> & Sendable) -> SignalProducer<U, Error> {
    producer.map(keyPath)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func compactMap<U>(
    _ transform: @escaping @Sendable (Value) -> U?
  ) -> SignalProducer<U, Error> {
    producer.compactMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    producer.filter(isIncluded)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scan<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> SignalProducer<U, Error> {
    producer.scan(initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scan<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> SignalProducer<U, Error> {
    producer.scan(into: initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func reduce<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> SignalProducer<U, Error> {
    producer.reduce(initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func reduce<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> SignalProducer<U, Error> {
    producer.reduce(into: initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scanMap<State, U>(
    _ initialState: State, _ next: @escaping @Sendable (State, Value) -> (State, U)
  ) -> SignalProducer<U, Error> {
    producer.scanMap(initialState, next)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scanMap<State, U>(
    into initialState: State, _ next: @escaping @Sendable (inout State, Value) -> U
  ) -> SignalProducer<U, Error> {
    producer.scanMap(into: initialState, next)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func take(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    producer.take(while: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func take(
    until shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    producer.take(until: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func skip(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    producer.skip(while: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func logEvents(
    identifier: String = "",
    events: Set<LoggingEvent.SignalProducer> = Set(LoggingEvent.SignalProducer.allCases),
    fileName: String = #file, functionName: String = #function, lineNumber: Int = #line,
    logger: @escaping EventLogger = defaultEventLog
  ) -> SignalProducer<Value, Error> {
    producer.logEvents(
      identifier: identifier, events: events, fileName: fileName, functionName: functionName,
      lineNumber: lineNumber, logger: logger)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func on(
    starting: (@Sendable () -> Void)? = nil,
    started: (@Sendable () -> Void)? = nil,
    event: (@Sendable (Signal<Value, Error>.Event) -> Void)? = nil,
    failed: (@Sendable (Error) -> Void)? = nil,
    completed: (@Sendable () -> Void)? = nil,
    interrupted: (@Sendable () -> Void)? = nil,
    terminated: (@Sendable () -> Void)? = nil,
    disposed: (@Sendable () -> Void)? = nil,
    value: (@Sendable (Value) -> Void)? = nil
  ) -> SignalProducer<Value, Error> {
    producer.on(
      starting: starting, started: started, event: event, failed: failed, completed: completed,
      interrupted: interrupted, terminated: terminated, disposed: disposed, value: value)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func start(
    _ action: @escaping @Sendable (Signal<Value, Error>.Event) -> Void
  ) -> any Disposable {
    producer.start(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func startWithResult(
    _ action: @escaping @Sendable (Result<Value, Error>) -> Void
  ) -> any Disposable {
    producer.startWithResult(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func startWithCompleted(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    producer.startWithCompleted(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func startWithFailed(_ action: @escaping @Sendable (Error) -> Void) -> any Disposable {
    producer.startWithFailed(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func startWithInterrupted(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    producer.startWithInterrupted(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func lift<U, F>(
    _ transform: @escaping @Sendable (Signal<Value, Error>) -> Signal<U, F>
  ) -> SignalProducer<U, F> {
    producer.lift(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func lift<U, F, V, G>(
    _ transform: @escaping @Sendable (Signal<Value, Error>) -> (Signal<U, F>) -> Signal<V, G>
  ) -> (SignalProducer<U, F>) -> SignalProducer<V, G> {
    producer.lift(transform)
  }
}

extension SignalProducerProtocol where Error == Never {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> SignalProducer<Value, any Swift.Error> {
    producer.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> SignalProducer<U, any Swift.Error> {
    producer.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<U, F>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, F>
  ) -> SignalProducer<U, F> {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Inner.Error> {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> SignalProducer<U, Never> {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Never> where Inner.Error == Never {
    producer.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func startWithValues(_ action: @escaping @Sendable (Value) -> Void) -> any Disposable {
    producer.startWithValues(action)
  }
}

extension SignalProducerProtocol where Error == any Swift.Error {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> SignalProducer<Value, Error> {
    producer.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> SignalProducer<U, Error> {
    producer.attemptMap(transform)
  }
}

extension SignalProducer where Error == any Swift.Error {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public init(_ action: @escaping @Sendable () throws -> Value, _: Swift5 = Swift5()) {
    self.init(action)
  }
}

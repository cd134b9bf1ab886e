// Table: written by scripts/generate-reactive-swift5.

extension SignalProtocol {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func dumpGraph(to output: @escaping @Sendable (String) -> Void = { print($0) }) {
    signal.dumpGraph(to: output)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ values: [Value]) -> Bool
  ) -> Signal<[Value], Error> {
    signal.collect(shouldEmit)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ collected: [Value], _ latest: Value) -> Bool
  ) -> Signal<[Value], Error> {
    signal.collect(shouldEmit)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool
  ) -> Signal<Value, Error> {
    signal.skipRepeats(isEquivalent)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity
  ) -> Signal<Value, Error> {
    signal.uniqueValues(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func mapError<F>(_ transform: @escaping @Sendable (Error) -> F) -> Signal<Value, F> {
    signal.mapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) -> Result<(), Error>
  ) -> Signal<Value, Error> {
    signal.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) -> Result<U, Error>
  ) -> Signal<U, Error> {
    signal.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func attempt(
    _ action: @escaping @Sendable (Value) throws(Error) -> Void
  ) -> Signal<Value, Error> {
    signal.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws(Error) -> U
  ) -> Signal<U, Error> {
    signal.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMapError<F>(
    _ transform: @escaping @Sendable (Error) -> SignalProducer<Value, F>
  ) -> Signal<Value, F> {
    signal.flatMapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMapError<Inner: SignalProducerConvertible>(
    _ transform: @escaping @Sendable (Error) -> Inner
  ) -> Signal<Value, Inner.Error> where Inner.Value == Value {
    signal.flatMapError(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Error>
  ) -> Signal<U, Error> {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Error> where Inner.Error == Error {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> Signal<U, Error> {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Error> where Inner.Error == Never {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func group<Key: Hashable>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> Signal<Group<Key, Value, Error>, Error> {
    signal.group(by: key)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> Signal<U, Error> {
    signal.map(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  @inlinable
  public func map<U>(_ keyPath: any KeyPath<Value, U> & Sendable) -> Signal<U, Error> {
    signal.map(keyPath)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func compactMap<U>(_ transform: @escaping @Sendable (Value) -> U?) -> Signal<U, Error> {
    signal.compactMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value, Error> {
    signal.filter(isIncluded)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scan<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    signal.scan(initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scan<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    signal.scan(into: initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func reduce<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    signal.reduce(initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func reduce<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    signal.reduce(into: initialResult, nextPartialResult)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scanMap<State, U>(
    _ initialState: State, _ next: @escaping @Sendable (State, Value) -> (State, U)
  ) -> Signal<U, Error> {
    signal.scanMap(initialState, next)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  public func scanMap<State, U>(
    into initialState: State, _ next: @escaping @Sendable (inout State, Value) -> U
  ) -> Signal<U, Error> {
    signal.scanMap(into: initialState, next)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func take(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    signal.take(while: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func take(
    until shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    signal.take(until: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func skip(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    signal.skip(while: shouldContinue)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func logEvents(
    identifier: String = "",
    events: Set<LoggingEvent.Signal> = Set(LoggingEvent.Signal.allCases),
    fileName: String = #file, functionName: String = #function, lineNumber: Int = #line,
    logger: @escaping EventLogger = defaultEventLog
  ) -> Signal<Value, Error> {
    signal.logEvents(
      identifier: identifier, events: events, fileName: fileName, functionName: functionName,
      lineNumber: lineNumber, logger: logger)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func on(
    event: (@Sendable (Signal<Value, Error>.Event) -> Void)? = nil,
    failed: (@Sendable (Error) -> Void)? = nil,
    completed: (@Sendable () -> Void)? = nil,
    interrupted: (@Sendable () -> Void)? = nil,
    terminated: (@Sendable () -> Void)? = nil,
    disposed: (@Sendable () -> Void)? = nil,
    value: (@Sendable (Value) -> Void)? = nil
  ) -> Signal<Value, Error> {
    signal.on(
      event: event, failed: failed, completed: completed, interrupted: interrupted,
      terminated: terminated, disposed: disposed, value: value)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observe(_ action: @escaping @Sendable (Signal<Value, Error>.Event) -> Void) -> (
    any Disposable
  )? {
    signal.observe(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observeResult(
    _ action: @escaping @Sendable (Result<Value, Error>) -> Void
  ) -> (any Disposable)? {
    signal.observeResult(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observeCompleted(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    signal.observeCompleted(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observeFailed(_ action: @escaping @Sendable (Error) -> Void) -> (any Disposable)? {
    signal.observeFailed(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @discardableResult
  public func observeInterrupted(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    signal.observeInterrupted(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func lazyMap<U>(
    on scheduler: any Scheduler, transform: @escaping @Sendable (Value) -> U
  ) -> Signal<U, Error> where Value: Sendable {
    signal.lazyMap(on: scheduler, transform: transform)
  }
}

extension SignalProtocol where Error == Never {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> Signal<Value, any Swift.Error> {
    signal.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Signal<U, any Swift.Error> {
    signal.attemptMap(transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<U, F>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, F>
  ) -> Signal<U, F> {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Inner.Error> {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> Signal<U, Never> {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @_disfavoredOverload
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Never> where Inner.Error == Never {
    signal.flatMap(strategy, transform)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  @inlinable
  @discardableResult
  public func observeValues(_ action: @escaping @Sendable (Value) -> Void) -> (any Disposable)? {
    signal.observeValues(action)
  }
}

extension SignalProtocol where Error == any Swift.Error {
  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> Signal<Value, Error> {
    signal.attempt(action)
  }

  /// As in the Swift 6 language mode, with warnings instead of errors.
  @_documentation(visibility: internal)
  @available(swift, obsoleted: 6)
  @preconcurrency
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Signal<U, Error> {
    signal.attemptMap(transform)
  }
}

@usableFromInline
final class Reduce<Input, Output, Error: Swift.Error>: ValueStage<Input, Output, Error> {
  // Only the one call of `next` that is running has access to it: values come one by one. Checking
  // that takes a fifth of the time of `reduce` behind five operators.
  @exclusivity(unchecked)
  @usableFromInline var accumulated: Output
  @usableFromInline let next: (inout Output, Input) -> Void

  @inlinable
  init(_ initial: Output, _ next: @escaping (inout Output, Input) -> Void) {
    accumulated = initial
    self.next = next
  }

  @usableFromInline
  override func receive(_ value: Input) {
    next(&accumulated, value)
  }

  @usableFromInline
  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination { emit(accumulated) }
    finish(termination)
  }
}

@usableFromInline
final class ScanMap<Input, State, Output, Error: Swift.Error>:
  ValueStage<Input, Output, Error>
{
  // As above.
  @exclusivity(unchecked)
  @usableFromInline var state: State
  @usableFromInline let next: (inout State, Input) -> Output

  @inlinable
  init(_ initial: State, _ next: @escaping (inout State, Input) -> Output) {
    state = initial
    self.next = next
  }

  @usableFromInline
  override func receive(_ value: Input) {
    emit(next(&state, value))
  }
}

extension Signal {
  /// Combines every value with the result of the previous ones, and sends each result.
  ///
  /// Nothing is sent before the first value. The end is passed on as it is.
  ///
  /// ```swift
  /// numbers.scan(0) { $0 + $1 }  // 1, 2, 3 become 1, 3, 6
  /// ```
  ///
  /// - Parameters:
  ///   - initialResult: The result before the first value.
  ///   - nextPartialResult: Called with the result so far and every value, on the thread that sends
  ///     the value, one call at a time. What it returns is sent, and is the result so far for the
  ///     next.
  /// - Returns: A signal that sends the result after every value.
  @available(swift 6)
  @inlinable
  public func scan<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    through(
      ScanMap(initialResult) {
        $0 = nextPartialResult($0, $1)
        return $0
      })
  }

  /// Combines every value into the result of the previous ones, and sends each result.
  ///
  /// As `scan(_:_:)`, without a copy of the result for every value where that is a collection. The
  /// end is passed on as it is.
  ///
  /// - Parameters:
  ///   - initialResult: The result before the first value.
  ///   - nextPartialResult: Called with the result so far, to be changed, and every value, on the
  ///     thread that sends the value, one call at a time.
  /// - Returns: A signal that sends the result after every value.
  @available(swift 6)
  @inlinable
  public func scan<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    through(
      ScanMap(initialResult) {
        nextPartialResult(&$0, $1)
        return $0
      })
  }

  /// Combines all values, and sends the result at completion.
  ///
  /// Without a value, that is `initialResult`. A failure or an interruption is passed on, and
  /// nothing is sent before it.
  ///
  /// - Parameters:
  ///   - initialResult: The result before the first value.
  ///   - nextPartialResult: Called with the result so far and every value, on the thread that sends
  ///     the value, one call at a time. What it returns is the result so far for the next.
  /// - Returns: A signal that sends one value, the result, and completes.
  @available(swift 6)
  @inlinable
  public func reduce<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    through(Reduce(initialResult) { $0 = nextPartialResult($0, $1) })
  }

  /// Combines all values, and sends the result at completion.
  ///
  /// As `reduce(_:_:)`, without a copy of the result for every value where that is a collection.
  /// Without a value, the result is `initialResult`. A failure or an interruption is passed on, and
  /// nothing is sent before it.
  ///
  /// - Parameters:
  ///   - initialResult: The result before the first value.
  ///   - nextPartialResult: Called with the result so far, to be changed, and every value, on the
  ///     thread that sends the value, one call at a time.
  /// - Returns: A signal that sends one value, the result, and completes.
  @available(swift 6)
  @inlinable
  public func reduce<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    through(Reduce(initialResult, nextPartialResult))
  }

  /// Transforms every value with a state that is carried from one to the next.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameters:
  ///   - initialState: The state that the first value is transformed with.
  ///   - next: Called with the state and every value, on the thread that sends the value, one call
  ///     at a time. It returns the next state, and the value to send.
  /// - Returns: A signal that sends the transformed values.
  @available(swift 6)
  @inlinable
  public func scanMap<State, U>(
    _ initialState: State, _ next: @escaping @Sendable (State, Value) -> (State, U)
  ) -> Signal<U, Error> {
    through(ScanMap(initialState, threading(next)))
  }

  /// Transforms every value with a state that is carried from one to the next.
  ///
  /// As `scanMap(_:_:)`, without a copy of the state for every value where that is a collection.
  /// The end is passed on as it is.
  ///
  /// - Parameters:
  ///   - initialState: The state that the first value is transformed with.
  ///   - next: Called with the state, to be changed, and every value, on the thread that sends the
  ///     value, one call at a time. What it returns is sent.
  /// - Returns: A signal that sends what every value becomes.
  @available(swift 6)
  @inlinable
  public func scanMap<State, U>(
    into initialState: State, _ next: @escaping @Sendable (inout State, Value) -> U
  ) -> Signal<U, Error> {
    through(ScanMap(initialState, next))
  }
}

@inlinable
func threading<State, Value, U>(
  _ next: @escaping (State, Value) -> (State, U)
) -> (inout State, Value) -> U {
  { state, value in
    let (newState, result) = next(state, value)
    state = newState
    return result
  }
}

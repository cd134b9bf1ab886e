@usableFromInline
final class Scan<Input, Output, Error: Swift.Error>: ValueStage<Input, Output, Error> {
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
    emit(accumulated)
  }
}

@usableFromInline
final class Reduce<Input, Output, Error: Swift.Error>: ValueStage<Input, Output, Error> {
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
  /// Combines every value with what came of those before, and emits the result each time.
  @available(swift 6)
  @inlinable
  public func scan<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    through(Scan(initialResult) { $0 = nextPartialResult($0, $1) })
  }

  /// Combines every value into what came of those before, and emits the result each time.
  @available(swift 6)
  @inlinable
  public func scan<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    through(Scan(initialResult, nextPartialResult))
  }

  /// Combines all values, and emits the result at completion.
  @available(swift 6)
  @inlinable
  public func reduce<U>(
    _ initialResult: U, _ nextPartialResult: @escaping @Sendable (U, Value) -> U
  ) -> Signal<U, Error> {
    through(Reduce(initialResult) { $0 = nextPartialResult($0, $1) })
  }

  /// Combines all values, and emits the result at completion.
  @available(swift 6)
  @inlinable
  public func reduce<U>(
    into initialResult: U, _ nextPartialResult: @escaping @Sendable (inout U, Value) -> Void
  ) -> Signal<U, Error> {
    through(Reduce(initialResult, nextPartialResult))
  }

  /// Transforms every value with a state that is carried from one to the next.
  @available(swift 6)
  @inlinable
  public func scanMap<State, U>(
    _ initialState: State, _ next: @escaping @Sendable (State, Value) -> (State, U)
  ) -> Signal<U, Error> {
    through(ScanMap(initialState, threading(next)))
  }

  /// Transforms every value with a state that is carried from one to the next.
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

final class Materialize<Value, Error: Swift.Error>:
  Stage<Value, Error, Signal<Value, Error>.Event, Never>
{
  override func receive(_ value: Value) {
    emit(.value(value))
  }

  override func terminate(_ termination: Termination<Error>) {
    guard !isFinished else { return }
    emit(Signal<Value, Error>.Event(termination))
    if case .interrupted = termination { finish(.interrupted) } else { finish(.completed) }
  }
}

final class MaterializeResults<Value, Error: Swift.Error>:
  Stage<Value, Error, Result<Value, Error>, Never>
{
  override func receive(_ value: Value) {
    emit(.success(value))
  }

  override func terminate(_ termination: Termination<Error>) {
    switch termination {
    case .failed(let error):
      emit(.failure(error))
      finish(.completed)
    case .completed: finish(.completed)
    case .interrupted: finish(.interrupted)
    }
  }
}

final class Dematerialize<Event: EventProtocol>:
  Stage<Event, Never, Event.Value, Event.Error>
{
  override func receive(_ event: Event) {
    switch event.event {
    case .value(let value): emit(value)
    case .failed(let error): finish(.failed(error))
    case .completed: finish(.completed)
    case .interrupted: finish(.interrupted)
    }
  }

  override func terminate(_ termination: Termination<Never>) {
    finish(Termination(termination))
  }
}

final class DematerializeResults<Success, Failure: Error>:
  Stage<Result<Success, Failure>, Never, Success, Failure>
{
  override func receive(_ result: Result<Success, Failure>) {
    switch result {
    case .success(let value): emit(value)
    case .failure(let error): finish(.failed(error))
    }
  }

  override func terminate(_ termination: Termination<Never>) {
    finish(Termination(termination))
  }
}

extension Termination {
  /// The end of a stream that can't fail, for one that can.
  init(_ termination: Termination<Never>) {
    self =
      switch termination {
      case .completed: .completed
      case .interrupted: .interrupted
      }
  }
}

extension Signal {
  /// Turns every event into a value.
  ///
  /// After a failure or completion it completes. After an interruption, which is a value, too, it
  /// is interrupted.
  ///
  /// - Returns: A signal that sends every event and never fails.
  public func materialize() -> Signal<Event, Never> {
    through(Materialize())
  }

  /// Turns values and a failure into results.
  ///
  /// After a failure it completes. Completion and interruption are passed on as they are.
  ///
  /// - Returns: A signal that sends a success for every value, and the failure if there is one.
  public func materializeResults() -> Signal<Result<Value, Error>, Never> {
    through(MaterializeResults())
  }
}

extension Signal where Error == Never {
  /// Turns values that are events into those events: the inverse of `materialize()`.
  ///
  /// The first event that is an end is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Returns: A signal of the events.
  public func dematerialize() -> Signal<Value.Value, Value.Error> where Value: EventProtocol {
    through(Dematerialize())
  }

  /// Turns results into values and a failure: the inverse of `materializeResults()`.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Returns: A signal of the successes, which fails with the first failure.
  public func dematerializeResults<Success, Failure>() -> Signal<Success, Failure>
  where Value == Result<Success, Failure> {
    through(DematerializeResults())
  }
}

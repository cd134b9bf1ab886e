internal import Synchronization

/// Work that is started on request, such as by a button, with one execution at a time.
///
/// The action is disabled while an execution runs, and while its state disables it: an attempt to
/// execute it fails with ``ActionError/disabled``. ``allowsConcurrentExecution`` lifts the first
/// rule.
public final class Action<Input, Output, Error: Swift.Error> {
  /// How to make an execution; it sends what it does to the events.
  private let makeExecution: (Action, Input) -> SignalProducer<Output, ActionError<Error>>
  private let concurrency: Concurrency
  private let executionsInput: Signal<SignalProducer<Output, Error>, Never>.Observer
  private let executionsOutput: Signal<SignalProducer<Output, Error>, Never>
  /// Whether anyone has asked for the executions.
  private let publishesExecutions = Synchronization.Atomic(false)
  private let token: Lifetime.Token
  private let eventsInput: Signal<Signal<Output, Error>.Event, Never>.Observer
  private let disabledErrorsInput: Signal<(), Never>.Observer

  /// The lifetime of the action, which ends when it is released.
  public let lifetime: Lifetime

  /// The events of all executions.
  public let events: Signal<Signal<Output, Error>.Event, Never>

  /// The values of all executions.
  public let values: Signal<Output, Never>

  /// The failures of all executions.
  public let errors: Signal<Error, Never>

  /// Sends a value for every attempt that found the action disabled.
  public let disabledErrors: Signal<(), Never>

  /// Sends a value for every execution that completed.
  public let completed: Signal<(), Never>

  /// Sends each execution that begins, as a producer of its events. Starting the producer replays
  /// the events from the beginning; it doesn't execute the action again.
  ///
  /// The values of an execution are kept while it runs, and as long as its producer is retained;
  /// values of executions that began before this property was first used aren't kept.
  public var executions: Signal<SignalProducer<Output, Error>, Never> {
    publishesExecutions.store(true, ordering: .releasing)
    return executionsOutput
  }

  /// Whether the action stays enabled while it is executing. At first, false.
  public var allowsConcurrentExecution: Bool {
    get { concurrency.isAllowed() }
    set { concurrency.setAllowed(newValue) }
  }

  /// Whether an execution is running.
  public let isExecuting: Property<Bool>

  /// Whether an execution can be started.
  public let isEnabled: Property<Bool>

  /// Creates an action with a state, which determines whether it is enabled and is passed to each
  /// execution.
  ///
  /// Retains `state`.
  ///
  /// - Parameters:
  ///   - state: The property that the action depends on.
  ///   - isEnabled: Returns whether the action is enabled in a state. `execute` is only called with
  ///     a state for which this returned true.
  ///   - execute: Makes the producer that an execution starts.
  @available(swift 6)
  public init<State: PropertyProtocol>(
    state: State, enabledIf isEnabled: @escaping @Sendable (State.Value) -> Bool,
    execute: @escaping @Sendable (State.Value, Input) -> SignalProducer<Output, Error>
  ) {
    (lifetime, token) = Lifetime.make()
    (events, eventsInput) = Signal.pipe()
    (disabledErrors, disabledErrorsInput) = Signal.pipe()
    (executionsOutput, executionsInput) = Signal.pipe()
    values = events.compactMap { $0.value }
    errors = events.compactMap { $0.error }
    completed = events.compactMap { $0.isCompleted ? () : nil }

    let initial = ActionCondition(isEnabled: isEnabled, state: state.value)
    let conditions = MutableProperty(initial)
    self.isEnabled = conditions.view { $0.isEnabled }
    isExecuting = conditions.view { $0.isExecuting }

    // A property is safe to use from any thread, even if its value isn't `Sendable`.
    let condition = UncheckedTransfer(conditions)
    lifetime += state.producer.core.start(
      ValueObserver { value in conditions.modify { $0.state = value } })
    lifetime.hold(HeldInput(state))

    concurrency = Concurrency(
      isAllowed: { conditions.withValue { $0.allowsConcurrentExecution } },
      setAllowed: { isAllowed in
        conditions.modify { $0.allowsConcurrentExecution = isAllowed }
      })

    makeExecution = { action, input in
      let handler = { (observer: Signal<Output, ActionError<Error>>.Observer, lifetime: Lifetime) in
        guard let state = conditions.modify({ $0.begin() }) else {
          observer.send(error: .disabled)
          action.disabledErrorsInput.send(value: ())
          return
        }
        let told = action.publishExecution()
        func send(_ event: Signal<Output, Error>.Event) {
          observer.send(event.mapError(ActionError.producerFailed))
          action.eventsInput.send(value: event)
          told?.send(event)
        }
        let execution = execute(state, input).core.start(
          ClosureObserver(value: { send(.value($0)) }, termination: { send(.init($0)) }))
        lifetime.observeEnded {
          execution.dispose()
          condition.value.modify { $0.executionCount -= 1 }
        }
      }
      return SignalProducer(core: RootedCore(handler: handler))
    }
  }

  /// Tells of an execution that is about to begin, if anyone has asked for it.
  private func publishExecution() -> Signal<Output, Error>.Observer? {
    guard publishesExecutions.load(ordering: .acquiring) else { return nil }
    let (execution, input) = SignalProducer<Output, Error>.replayPipe()
    executionsInput.send(value: execution)
    return input
  }

  deinit {
    executionsInput.sendCompleted()
    eventsInput.sendCompleted()
    disabledErrorsInput.sendCompleted()
    token.dispose()
  }

  /// A producer that executes the action when it is started, and sends what the execution sends.
  ///
  /// Fails with ``ActionError/disabled`` if the action is disabled when the producer is started.
  /// Interrupting it interrupts the execution. Retains the action.
  @preconcurrency
  public func apply(
    _ input: Input
  ) -> SignalProducer<Output, ActionError<Error>> where Input: Sendable {
    makeExecution(self, input)
  }
}

// What it is made of is safe to use from any thread; only inputs and values are not its own.
extension Action: @unchecked Sendable where Input: Sendable, Output: Sendable {}

/// Whether several executions may run at once.
private struct Concurrency {
  let isAllowed: () -> Bool
  let setAllowed: (Bool) -> Void
}

/// What decides whether an action is enabled.
private struct ActionCondition<State> {
  var executionCount = 0
  var allowsConcurrentExecution = false
  var state: State {
    didSet { isStateFit = isFit(state) }
  }
  private var isStateFit: Bool
  private let isFit: @Sendable (State) -> Bool

  init(isEnabled: @escaping @Sendable (State) -> Bool, state: State) {
    isFit = isEnabled
    isStateFit = isEnabled(state)
    self.state = state
  }

  var isExecuting: Bool { executionCount > 0 }
  var isEnabled: Bool { isStateFit && (allowsConcurrentExecution || !isExecuting) }

  /// Begins an execution, if one can be begun.
  ///
  /// - Returns: The state for it.
  mutating func begin() -> State? {
    guard isEnabled else { return nil }
    executionCount += 1
    return state
  }
}

extension MutableProperty {
  /// A view of a part of the value, up to date even while a change is still being delivered. Keeps
  /// this property.
  fileprivate func view(_ part: @escaping @Sendable (Value) -> Bool) -> Property<Bool> {
    let changes = self.map(part).skipRepeats()
    return Property(
      reading: { part(self.value) }, producer: changes.producer, signal: changes.signal)
  }
}

extension Action {
  /// Creates an action with a state, which is passed to each execution. Retains `state`.
  @available(swift 6)
  public convenience init<P: PropertyProtocol>(
    state: P, execute: @escaping @Sendable (P.Value, Input) -> SignalProducer<Output, Error>
  ) {
    self.init(state: state, enabledIf: { _ in true }, execute: execute)
  }

  /// Creates an action that is enabled while `isEnabled` is true. Retains `isEnabled`.
  @available(swift 6)
  public convenience init<P: PropertyProtocol>(
    enabledIf isEnabled: P,
    execute: @escaping @Sendable (Input) -> SignalProducer<Output, Error>
  ) where P.Value == Bool {
    self.init(state: isEnabled, enabledIf: { $0 }) { execute($1) }
  }

  /// Creates an action that is enabled while `state` isn't nil. The unwrapped value is passed to
  /// each execution. Retains `state`.
  @available(swift 6)
  public convenience init<P: PropertyProtocol, T>(
    unwrapping state: P,
    execute: @escaping @Sendable (T, Input) -> SignalProducer<Output, Error>
  ) where P.Value == T? {
    self.init(state: state, enabledIf: { $0 != nil }) { state, input in
      guard let state else { preconditionFailure("a disabled action was executed") }
      return execute(state, input)
    }
  }

  /// Creates an action that is enabled while `state` is valid. Its value is passed to each
  /// execution. Retains `state`.
  @available(swift 6)
  public convenience init<T, E: Swift.Error>(
    validated state: ValidatingProperty<T, E>,
    execute: @escaping @Sendable (T, Input) -> SignalProducer<Output, Error>
  ) {
    self.init(unwrapping: state.result.map { $0.value }, execute: execute)
  }

  /// Creates an action that is always enabled, unless it is executing.
  @available(swift 6)
  public convenience init(
    execute: @escaping @Sendable (Input) -> SignalProducer<Output, Error>
  ) {
    self.init(enabledIf: Property(value: true), execute: execute)
  }
}

extension Action: BindingTargetProvider {
  /// Executes the action with every value; attempts that find it disabled are dropped. Does not
  /// retain the action.
  public var bindingTarget: BindingTarget<Input> {
    let target = UncheckedWeak(self)
    return BindingTarget(lifetime: lifetime) { input in
      guard let action = target.object else { return }
      action.makeExecution(action, input).start()
    }
  }
}

extension Action where Input == Void {
  /// A producer that executes the action when it is started, and sends what the execution sends.
  public func apply() -> SignalProducer<Output, ActionError<Error>> {
    apply(())
  }

  /// Creates an action that is enabled while `state` isn't nil. The unwrapped value is passed to
  /// each execution. Retains `state`.
  @available(swift 6)
  public convenience init<P: PropertyProtocol, T>(
    unwrapping state: P, execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>
  ) where P.Value == T? {
    self.init(unwrapping: state) { state, _ in execute(state) }
  }

  /// Creates an action that is enabled while `state` is valid. Its value is passed to each
  /// execution. Retains `state`.
  @available(swift 6)
  public convenience init<T, E: Swift.Error>(
    validated state: ValidatingProperty<T, E>,
    execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>
  ) {
    self.init(validated: state) { state, _ in execute(state) }
  }

  /// Creates an action with a state, which is passed to each execution. Retains `state`.
  @available(swift 6)
  public convenience init<P: PropertyProtocol, T>(
    state: P, execute: @escaping @Sendable (T) -> SignalProducer<Output, Error>
  ) where P.Value == T {
    self.init(state: state) { state, _ in execute(state) }
  }
}

/// The error of a requested execution.
public enum ActionError<Error: Swift.Error>: Swift.Error {
  /// The action was disabled: there was no execution.
  case disabled
  /// The execution failed.
  case producerFailed(Error)
}

extension ActionError: Equatable where Error: Equatable {}

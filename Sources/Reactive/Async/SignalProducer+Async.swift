/// The input to which a function sends values, see ``SignalProducer/init(priority:sending:)``.
public struct AsyncInput<Value, Error: Swift.Error> {
  fileprivate let observer: Signal<Value, Error>.Observer
  fileprivate let demand: Demand?

  /// Suspends until another value is wanted, or the run is over, which cancels the task.
  public func waitForDemand() async {
    await demand?.waitForRoom()
  }

  /// Sends a value when it is wanted. Does nothing when the run is over.
  public func send(_ value: Value) async {
    await waitForDemand()
    observer.send(value: value)
  }
}

extension AsyncInput: Sendable where Value: Sendable {}

extension SignalProducer {
  /// Creates a producer of the values that an asynchronous function sends. It completes when the
  /// function returns and fails when that throws; a `CancellationError` is an interruption.
  ///
  /// Where the values are awaited with ``AsyncBuffering/backpressure(_:)``, sending a value
  /// suspends until it is wanted.
  ///
  /// - Parameters:
  ///   - priority: Of the task that runs the function; by default, that of the caller that starts
  ///     it.
  ///   - function: Called at every start, in a new task. Interrupting the run cancels the task.
  public init(
    priority: TaskPriority? = nil,
    sending function:
      @escaping @Sendable @concurrent (AsyncInput<Value, Error>) async throws(Error) -> Void
  ) {
    self.init(core: .sending(priority, function))
  }

  /// A producer of the one value that an asynchronous function returns, called at every start in a
  /// new task. Interrupting the run cancels the task.
  public init(
    priority: TaskPriority? = nil,
    awaiting function: @escaping @Sendable @concurrent () async throws(Error) -> Value
  ) {
    self.init(
      core: .sending(priority, sendsOneValue: true) { input async throws(Error) in
        await input.send(try await function())
      })
  }

  /// A producer of the elements of an asynchronous sequence, iterated anew at every start in a new
  /// task. Interrupting the run cancels the task.
  ///
  /// Where the values are awaited with ``AsyncBuffering/backpressure(_:)``, the next element is
  /// requested when it is wanted.
  public init<Elements: AsyncSequence & Sendable>(
    _ elements: Elements, priority: TaskPriority? = nil
  ) where Elements.Element == Value, Elements.Failure == Error {
    self.init(priority: priority) { input async throws(Error) in
      var iterator = elements.makeAsyncIterator()
      await input.waitForDemand()
      // A sequence need not notice cancellation, and may be without end.
      while !Task.isCancelled, let element = try await iterator.next(isolation: nil) {
        input.observer.send(value: element)
        await input.waitForDemand()
      }
    }
  }
}

extension ProducerCore {
  fileprivate static func sending(
    _ priority: TaskPriority?, sendsOneValue: Bool = false,
    _ function:
      @escaping @Sendable @concurrent (AsyncInput<Value, Error>) async throws(Error) -> Void
  ) -> ProducerCore<Value, Error> {
    RootedCore(
      sendsOneValue: sendsOneValue,
      handler: { observer, lifetime in
        // Handed to the one task that sends to it.
        let input = UncheckedTransfer(AsyncInput(observer: observer, demand: Demand.current))
        // The function begins once the end of the run can cancel it, however late this thread goes on.
        let isCancellable = Atomic(())
        isCancellable.withValue { _ in
          // A task inherits the demand, but runs that the function, or an observer of what it sends,
          // starts are of their own.
          let task = Demand.withNone {
            Task(priority: priority) {
              isCancellable.withValue { _ in }
              let observer = input.value.observer
              do throws(Error) {
                try await function(input.value)
                observer.sendCompleted()
              } catch is CancellationError {
                observer.sendInterrupted()
              } catch {
                observer.send(error: error)
              }
            }
          }
          lifetime.observeEnded { task.cancel() }
        }
      })
  }
}

extension AsyncSequence where Self: Sendable {
  /// A producer of the elements, iterated anew at every start.
  public var producer: SignalProducer<Element, Failure> { SignalProducer(self) }
}

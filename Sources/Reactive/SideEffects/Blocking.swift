internal import Dispatch

// For scripts, tests, and threads that have nothing else to do: the calling thread sleeps until
// the run has ended, and whatever the run needs must happen on another. `await` is the other way.
extension SignalProducer {
  /// Starts a run and blocks the thread until there is a value.
  ///
  /// - Returns: The first value or the failure; nil if the run ended without either.
  public func first() -> Result<Value, Error>? {
    take(first: 1).single()
  }

  /// Starts a run and blocks the thread until it ends or has sent two values.
  ///
  /// - Returns: The only value or the failure; nil if there was no value, or more than one.
  public func single() -> Result<Value, Error>? {
    let outcome = Locked(Outcome<Value, Error>())
    let done = DispatchSemaphore(value: 0)
    take(first: 2).start { event in
      let transfer = UncheckedTransfer(event)
      outcome.withLock { $0.note(transfer.value) }
      if event.isTerminating { done.signal() }
    }
    done.wait()
    return outcome.withLock { UncheckedTransfer($0.result) }.value
  }

  /// Starts a run and blocks the thread until it ends.
  ///
  /// - Returns: The last value or the failure; nil if there was no value, or an interruption.
  public func last() -> Result<Value, Error>? {
    take(last: 1).single()
  }

  /// Starts a run and blocks the thread until it ends.
  ///
  /// - Returns: The failure, if there was one; otherwise, success.
  public func wait() -> Result<(), Error> {
    then(SignalProducer<(), Error>(value: ())).last() ?? .success(())
  }
}

/// What is known so far about a run that is to have one value.
// Entered and left only under a lock.
private struct Outcome<Value, Error: Swift.Error>: @unchecked Sendable {
  var result: Result<Value, Error>?

  mutating func note(_ event: Signal<Value, Error>.Event) {
    switch event {
    case .value(let value): result = result == nil ? .success(value) : nil
    case .failed(let error): result = .failure(error)
    case .completed, .interrupted: break
    }
  }
}

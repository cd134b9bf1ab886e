internal import Dispatch

// For scripts, tests, and threads without other work: the calling thread blocks until the run has
// ended, so the run must not depend on that thread. In tasks, use `await` instead.
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
    let outcome = Locked<Result<Value, Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let observer = ClosureObserver<Value, Error>(
      value: { value in outcome.withLock { $0 = $0 == nil ? .success(value) : nil } },
      termination: { termination in
        if case .failed(let error) = termination { outcome.withLock { $0 = .failure(error) } }
        done.signal()
      })
    // Whatever the thread is starting can't make room before this returns.
    let run = Demand.withNone { take(first: 2).core.start(observer) }
    done.wait()
    return withExtendedLifetime(run) { outcome.withLock { $0 } }
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

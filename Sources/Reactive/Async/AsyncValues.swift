/// The values of a stream as an `AsyncSequence`.
///
/// Each iterator begins its own run when it is created: it starts a producer, or observes a signal.
/// It ends with the stream, by throwing its failure or, if the stream completes or is interrupted,
/// with nil. Cancelling the task that iterates interrupts the run, drops buffered values and ends
/// the iteration. Releasing the iterator does the same.
public struct AsyncValues<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
  private let producer: SignalProducer<Element, Failure>
  private let buffering: AsyncBuffering

  init(_ producer: SignalProducer<Element, Failure>, buffering: AsyncBuffering) {
    precondition(buffering.isValid, "values can't be buffered as \(buffering)")
    self.producer = producer
    self.buffering = buffering
  }

  /// Begins a run.
  public func makeAsyncIterator() -> Iterator {
    Iterator(run: AsyncRun(of: producer, buffering: buffering))
  }

  /// One run.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let run: AsyncRun<Element, Failure>

    /// The next value, or nil at the end.
    public mutating func next() async throws(Failure) -> Element? {
      try await run.next(isolation: #isolation)
    }

    /// The next value, or nil at the end. Runs on the given actor, except while it is suspended.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Failure) -> Element? {
      try await run.next(isolation: actor)
    }
  }
}

extension SignalProducerConvertible where Value: Sendable {
  /// The values as an `AsyncSequence`, whose every iterator starts a run.
  ///
  /// ```swift
  /// for try await text in search.values(buffering: .newest(1)) { … }
  /// ```
  ///
  /// - Parameter buffering: The policy for values that are sent while none is awaited.
  public func values(buffering: AsyncBuffering) -> AsyncValues<Value, Error> {
    AsyncValues(producer, buffering: buffering)
  }

  /// Awaits the first value, then interrupts the run. Returns nil if the stream ended without a
  /// value, or if the task was cancelled, which interrupts the run.
  public func firstValue() async throws(Error) -> Value? {
    var iterator = producer.take(first: 1).values(buffering: .unbounded).makeAsyncIterator()
    return try await iterator.next()
  }

  /// Awaits completion and returns the last value. Nil if there was none, or if the stream was
  /// interrupted, as it is when the task is cancelled.
  public func lastValue() async throws(Error) -> Value? {
    try await producer.take(last: 1).firstValue()
  }

  /// Awaits completion and returns the only value. Nil if there was none, if there were several
  /// (then it returns after the second), or if the stream was interrupted, as it is when the task
  /// is cancelled.
  public func singleValue() async throws(Error) -> Value? {
    let values = try await producer.take(first: 2).collect().firstValue() ?? []
    return values.count == 1 ? values.first : nil
  }

  /// Awaits the end.
  ///
  /// Interruption is an end, too; cancelling the task interrupts the run.
  public func completion() async throws(Error) {
    _ = try await producer.filter { _ in false }.firstValue()
  }
}

extension SignalProducerConvertible where Value: Sendable {
  /// The values of one run, which begins at once, as an `AsyncThrowingStream` that keeps all that
  /// wait.
  ///
  /// It ends by throwing the failure, or with completion or interruption. When nothing iterates it
  /// any more, or the task that does is cancelled, the run is interrupted. ``values(buffering:)``
  /// begins a run for each iterator, bounds what waits, and throws the type of the failure.
  public var asyncThrowingStream: AsyncThrowingStream<Value, any Swift.Error> {
    AsyncThrowingStream { continuation in
      let run = producer.start { event in
        switch event {
        case .value(let value): continuation.yield(value)
        case .failed(let error): continuation.finish(throwing: error)
        case .completed, .interrupted: continuation.finish()
        }
      }
      continuation.onTermination = { _ in run.dispose() }
    }
  }
}

extension SignalProducerConvertible where Value: Sendable, Error == Never {
  /// The values of one run, which begins at once, as an `AsyncStream` that keeps all that wait.
  ///
  /// It ends with completion or interruption. When nothing iterates it any more, or the task that
  /// does is cancelled, the run is interrupted.
  public var asyncStream: AsyncStream<Value> {
    AsyncStream { continuation in
      let run = producer.start { event in
        switch event {
        case .value(let value): continuation.yield(value)
        case .completed, .interrupted: continuation.finish()
        }
      }
      continuation.onTermination = { _ in run.dispose() }
    }
  }
}

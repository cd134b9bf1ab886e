// Producers that are made of others, and what follows the first of these when they are run.

/// The values of one producer, and then of another.
final class ConcatCore<Value, Error: Swift.Error>: ChainCore<Value, Error> {
  // Set until the end.
  private var parts: (ProducerCore<Value, Error>, ProducerCore<Value, Error>)?

  init(_ first: ProducerCore<Value, Error>, _ second: ProducerCore<Value, Error>) {
    parts = (first, second)
  }

  deinit { letPartsGo() }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    guard let (first, second) = parts else { return nil }
    let last: ChainFrame<Value, Error> = chain.last()
    chain.push(ConcatFrame(second, to: last.target))
    return first
  }

  override func takeParts() -> [AnyProducerCore] {
    defer { parts = nil }
    return parts.map { [$0.0, $0.1] } ?? []
  }
}

private final class ConcatFrame<Value, Error: Swift.Error>: ChainFrame<Value, Error> {
  private let second: ProducerCore<Value, Error>
  private let values: ChainTarget<Value>

  init(_ second: ProducerCore<Value, Error>, to values: ChainTarget<Value>) {
    self.second = second
    self.values = values
  }

  override var target: ChainTarget<Value> { values }
  override var isLast: Bool { false }

  override func proceed(in chain: Chain, after end: Termination<Error>) -> AnyProducerCore? {
    let last: ChainFrame<Value, Error> = chain.last()
    if case .failed = end {
      last.record(end)
      return nil
    }
    // Both are streams that are flattened.
    last.isInterruptionCompletion = true
    return second
  }
}

/// The end of one producer, and then another.
final class ThenCore<First, Value, Error: Swift.Error>: ChainCore<Value, Error> {
  // Set until the end.
  private var parts: (ProducerCore<First, Error>, ProducerCore<Value, Error>)?

  init(_ first: ProducerCore<First, Error>, _ second: ProducerCore<Value, Error>) {
    parts = (first, second)
  }

  deinit { letPartsGo() }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    guard let (first, second) = parts else { return nil }
    chain.push(ThenFrame<First, Value, Error>(second))
    return first
  }

  override func takeParts() -> [AnyProducerCore] {
    defer { parts = nil }
    return parts.map { [$0.0, $0.1] } ?? []
  }
}

private final class ThenFrame<First, Value, Error: Swift.Error>: ChainFrame<First, Error> {
  private let second: ProducerCore<Value, Error>

  init(_ second: ProducerCore<Value, Error>) {
    self.second = second
  }

  override func proceed(in chain: Chain, after end: Termination<Error>) -> AnyProducerCore? {
    if case .completed = end { return second }
    let last: ChainFrame<Value, Error> = chain.last()
    last.record(end)
    return nil
  }
}

/// One producer, and then the one that is made of its failure.
final class RecoveryCore<Value, Failure: Swift.Error, Error: Swift.Error>: ChainCore<Value, Error> {
  private var first: ProducerCore<Value, Failure>?
  private let transform: (Failure) -> SignalProducer<Value, Error>

  init(
    _ first: ProducerCore<Value, Failure>,
    _ transform: @escaping (Failure) -> SignalProducer<Value, Error>
  ) {
    self.first = first
    self.transform = transform
  }

  deinit { letPartsGo() }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    chain.push(RecoveryFrame(before: chain.last(), transform))
    return first
  }

  override func takeParts() -> [AnyProducerCore] {
    defer { first = nil }
    return first.map { [$0] } ?? []
  }
}

private final class RecoveryFrame<Value, Failure: Swift.Error, Error: Swift.Error>:
  ChainFrame<Value, Failure>
{
  private let transform: (Failure) -> SignalProducer<Value, Error>
  private let values: ChainTarget<Value>
  private let isLastBelow: Bool

  init(
    before last: ChainFrame<Value, Error>,
    _ transform: @escaping (Failure) -> SignalProducer<Value, Error>
  ) {
    self.transform = transform
    values = last.target
    isLastBelow = last.isLast
  }

  override var target: ChainTarget<Value> { values }
  override var isLast: Bool { isLastBelow }

  override func proceed(in chain: Chain, after end: Termination<Failure>) -> AnyProducerCore? {
    let last: ChainFrame<Value, Error> = chain.last()
    switch end {
    case .failed(let error): return transform(error).core
    case .completed: last.record(.completed)
    case .interrupted: last.record(.interrupted)
    }
    return nil
  }
}

/// The end after which a producer is run again.
enum RestartReason { case completed, failed }

/// A producer that is run again when it has ended, a number of times.
final class RestartCore<Value, Error: Swift.Error>: ChainCore<Value, Error> {
  // Set until the end.
  private var source: ProducerCore<Value, Error>?
  private let count: Int
  private let reason: RestartReason

  /// - Parameter count: How often, at most, the source is started again.
  init(_ source: ProducerCore<Value, Error>, _ count: Int, after reason: RestartReason) {
    self.source = source
    self.count = count
    self.reason = reason
  }

  deinit { letPartsGo() }

  override func takeApart(in chain: Chain) -> AnyProducerCore? {
    guard let source else { return nil }
    chain.push(RestartFrame(source, count, after: reason, before: chain.last()))
    return source
  }

  override func takeParts() -> [AnyProducerCore] {
    defer { source = nil }
    return source.map { [$0] } ?? []
  }
}

private final class RestartFrame<Value, Error: Swift.Error>: ChainFrame<Value, Error> {
  private let source: ProducerCore<Value, Error>
  private var remaining: Int
  private let reason: RestartReason
  private let values: ChainTarget<Value>
  private let isLastBelow: Bool

  init(
    _ source: ProducerCore<Value, Error>, _ count: Int, after reason: RestartReason,
    before last: ChainFrame<Value, Error>
  ) {
    self.source = source
    remaining = count
    self.reason = reason
    values = last.target
    isLastBelow = last.isLast
  }

  override var target: ChainTarget<Value> { values }
  override var isLast: Bool { reason == .failed && isLastBelow }

  override func proceed(in chain: Chain, after end: Termination<Error>) -> AnyProducerCore? {
    guard remaining > 0, isReason(end) else {
      let last: ChainFrame<Value, Error> = chain.last()
      last.record(end)
      return nil
    }
    remaining -= 1
    isInterruptionCompletion = false
    chain.push(self)
    return source
  }

  private func isReason(_ termination: Termination<Error>) -> Bool {
    switch (termination, reason) {
    case (.completed, .completed), (.failed, .failed): true
    default: false
    }
  }
}

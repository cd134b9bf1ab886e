/// What the queues of a zip know of one another. Guarded by the gate of the output.
private final class ZipTally {
  /// Queues without a value.
  var empty: Int
  /// Whether a queue is empty whose input has completed.
  var hasDriedUp = false

  init(empty: Int) {
    self.empty = empty
  }
}

/// The values of an input that wait for those of the others.
@usableFromInline
final class ZippedValues<Value> {
  private let values = FIFO<Value>()
  private var isCompleted = false
  private var tally: ZipTally?

  @usableFromInline
  init() {}

  fileprivate func join(_ tally: ZipTally) {
    self.tally = tally
  }

  fileprivate func append(_ value: Value) {
    if values.isEmpty { tally?.empty -= 1 }
    values.append(value)
  }

  fileprivate func complete() {
    isCompleted = true
    if values.isEmpty { tally?.hasDriedUp = true }
  }

  @usableFromInline
  func removeFirst() -> Value {
    guard let value = values.popFirst() else {
      preconditionFailure("zip combines while an input has no value")
    }
    if values.isEmpty {
      tally?.empty += 1
      if isCompleted { tally?.hasDriedUp = true }
    }
    return value
  }
}

/// Emits a combination of the first values of all inputs, of the second values, and so on. Its
/// state is guarded by the gate of the output.
@usableFromInline
final class Zipper<Output, Error: Swift.Error> {
  private let junction = Junction<Output, Error>()
  private let tally: ZipTally
  private let combine: () -> Output

  /// - Parameter combine: Takes the first of every queue. Made where the types are known, or every
  ///   event would have that of the tuple looked up.
  @usableFromInline
  init(of count: Int, _ combine: @escaping () -> Output) {
    tally = ZipTally(empty: count)
    self.combine = combine
  }

  @usableFromInline var signal: Signal<Output, Error> { junction.signal }

  @usableFromInline
  func observe<Input>(_ signal: Signal<Input, Error>, _ queue: ZippedValues<Input>) {
    queue.join(tally)
    junction.observe(
      signal,
      value: { value in
        queue.append(value)
        if self.tally.empty == 0 { self.junction.emit(self.combine()) }
        self.finishIfDry()
      },
      end: { termination in
        guard case .completed = termination else { return self.junction.finish(termination) }
        queue.complete()
        self.finishIfDry()
      })
  }

  private func finishIfDry() {
    if tally.hasDriedUp { junction.finish(.completed) }
  }
}

// Producers: by hand, because theirs takes anything that can be turned into producers.
extension Signal {
  /// Sends the first values of both signals, then the second values, and so on.
  ///
  /// A value is buffered until the other has sent the value to pair it with; the buffer is not
  /// limited. It completes when one has completed and has no buffered values left, fails with
  /// either and is interrupted with either.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A signal that sends pairs, on the thread of the one that sends.
  @inlinable
  public static func zip<B>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>
  ) -> Signal<(Value, B), Error> {
    let (queueA, queueB) = (ZippedValues<Value>(), ZippedValues<B>())
    let zipper = Zipper<(Value, B), Error>(of: 2) { (queueA.removeFirst(), queueB.removeFirst()) }
    zipper.observe(a, queueA)
    zipper.observe(b, queueB)
    return zipper.signal
  }

  /// Sends the first values of all signals, then the second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any. Without any, it completes at once.
  ///
  /// - Parameter signals: The signals, in the order in which their values are in the arrays.
  /// - Returns: A signal that sends arrays, on the thread of the one that sends.
  public static func zip<S: Sequence>(_ signals: S) -> Signal<[Value], Error>
  where S.Element == Signal<Value, Error> {
    let signals = Array(signals)
    guard !signals.isEmpty else { return .empty }
    let queues = signals.map { _ in ZippedValues<Value>() }
    let zipper = Zipper<[Value], Error>(of: signals.count) { queues.map { $0.removeFirst() } }
    for (signal, queue) in Swift.zip(signals, queues) { zipper.observe(signal, queue) }
    return zipper.signal
  }
}

extension SignalProducer {
  /// Starts both producers: sends the first values of both, then the second values, and so on.
  ///
  /// Every run starts `a` and then `b`. A value is buffered until the other has sent the value to
  /// pair it with; the buffer is not limited. It completes when one has completed and has no
  /// buffered values left, fails with either and is interrupted with either. At the end both runs
  /// are disposed of.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A producer that sends pairs, on the thread of the one that sends.
  @inlinable
  public static func zip<A: SignalProducerConvertible, B: SignalProducerConvertible>(
    _ a: A, _ b: B
  ) -> SignalProducer<(Value, B.Value), Error>
  where A.Value == Value, A.Error == Error, B.Error == Error {
    SignalProducer<(Value, B.Value), Error>(zipping: a.producer, b.producer) {
      Signal<Value, Error>.zip($0, $1)
    }
  }

  /// Starts all producers: sends the first values of all, then the second values, and so on.
  ///
  /// Every run starts them in order. A value is buffered until all others have sent theirs; the
  /// buffer is not limited. It completes when one has completed and has no buffered values left,
  /// fails with any and is interrupted with any. At the end all runs are disposed of. Without any,
  /// it completes at once.
  ///
  /// - Parameter producers: The producers, in the order in which their values are in the arrays.
  /// - Returns: A producer that sends arrays, on the thread of the one that sends.
  public static func zip<S: Sequence>(_ producers: S) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = producers.map(\.producer)
    guard !producers.isEmpty else { return .empty }
    return SignalProducer<[Value], Error>(zippingAll: producers) {
      Signal<Value, Error>.zip($0)
    }
  }

  /// Starts all producers: sends the first values of all, then the second values, and so on.
  ///
  /// Every run starts them in order. A value is buffered until all others have sent theirs; the
  /// buffer is not limited. It completes when one has completed and has no buffered values left,
  /// fails with any and is interrupted with any. At the end all runs are disposed of. If there are
  /// no producers, `emptySentinel` is sent.
  ///
  /// - Parameters:
  ///   - producers: The producers, in the order in which their values are in the arrays.
  ///   - emptySentinel: The value that is sent if there are no producers.
  /// - Returns: A producer that sends arrays, on the thread of the one that sends.
  public static func zip<S: Sequence>(
    _ producers: S, emptySentinel: [S.Element.Value]
  ) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = Array(producers)
    guard !producers.isEmpty else { return SignalProducer<[Value], Error>(value: emptySentinel) }
    return zip(producers)
  }
}

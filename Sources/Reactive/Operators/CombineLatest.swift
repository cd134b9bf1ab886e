/// The latest value of an input, once there is one.
@usableFromInline
final class LatestValue<Value> {
  @usableFromInline let storage = UnsafeMutablePointer<Value>.allocate(capacity: 1)
  private(set) var isFilled = false

  @usableFromInline
  init() {}

  deinit {
    if isFilled { storage.deinitialize(count: 1) }
    storage.deallocate()
  }

  @inlinable var value: Value { storage.pointee }

  /// - Returns: Whether this is the first value.
  func fill(_ value: Value) -> Bool {
    if isFilled {
      storage.pointee = value
      return false
    }
    storage.initialize(to: value)
    isFilled = true
    return true
  }
}

/// Emits a combination of the latest values whenever one comes in, once all are there. Its state
/// is guarded by the gate of the output.
@usableFromInline
final class LatestCombiner<Output, Error: Swift.Error> {
  private let junction = Junction<Output, Error>()
  private var missing: Int
  private var running: Int
  private let combine: () -> Output

  /// - Parameter combine: Made where the types are known, or every event would have that of the
  ///   tuple looked up.
  @usableFromInline
  init(of count: Int, _ combine: @escaping () -> Output) {
    missing = count
    running = count
    self.combine = combine
  }

  @usableFromInline var signal: Signal<Output, Error> { junction.signal }

  @usableFromInline
  func observe<Input>(_ signal: Signal<Input, Error>, _ latest: LatestValue<Input>) {
    junction.observe(
      signal,
      value: { value in
        if latest.fill(value) { self.missing -= 1 }
        if self.missing == 0 { self.junction.emit(self.combine()) }
      },
      end: { termination in
        self.running -= 1
        if case .completed = termination, self.running > 0 { return }
        self.junction.finish(termination)
      })
  }
}

// Producers: by hand, because theirs takes anything that can be turned into producers.
extension Signal {
  /// Sends the latest values of both signals whenever one of them sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when both have, fails with either
  /// and is interrupted with either.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A signal that sends pairs, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>
  ) -> Signal<(Value, B), Error> {
    let (latestA, latestB) = (LatestValue<Value>(), LatestValue<B>())
    let combiner = LatestCombiner<(Value, B), Error>(of: 2) { (latestA.value, latestB.value) }
    combiner.observe(a, latestA)
    combiner.observe(b, latestB)
    return combiner.signal
  }

  /// Sends the latest values of all signals whenever one of them sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any. Without any, it completes at once.
  ///
  /// - Parameter signals: The signals, in the order in which their values are in the arrays.
  /// - Returns: A signal that sends arrays, on the thread of the one that sends.
  public static func combineLatest<S: Sequence>(_ signals: S) -> Signal<[Value], Error>
  where S.Element == Signal<Value, Error> {
    let signals = Array(signals)
    guard !signals.isEmpty else { return .empty }
    let latest = signals.map { _ in LatestValue<Value>() }
    let combiner = LatestCombiner<[Value], Error>(of: signals.count) { latest.map(\.value) }
    for (signal, latest) in Swift.zip(signals, latest) { combiner.observe(signal, latest) }
    return combiner.signal
  }
}

extension SignalProducer {
  /// Starts both producers: sends the latest values of both whenever one of them sends.
  ///
  /// Every run starts `a` and then `b`. Nothing is sent before each has sent a value. It completes
  /// when both have, fails with either and is interrupted with either. At the end both runs are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - a: The one whose values come first in the pairs.
  ///   - b: The other.
  /// - Returns: A producer that sends pairs, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A: SignalProducerConvertible, B: SignalProducerConvertible>(
    _ a: A, _ b: B
  ) -> SignalProducer<(Value, B.Value), Error>
  where A.Value == Value, A.Error == Error, B.Error == Error {
    SignalProducer<(Value, B.Value), Error>(joining: a.producer, b.producer) {
      Signal<Value, Error>.combineLatest($0, $1)
    }
  }

  /// Starts all producers: sends the latest values of all whenever one of them sends.
  ///
  /// Every run starts them in order. Nothing is sent before each has sent a value. It completes
  /// when all have, fails with any and is interrupted with any. At the end all runs are disposed
  /// of. Without any, it completes at once.
  ///
  /// - Parameter producers: The producers, in the order in which their values are in the arrays.
  /// - Returns: A producer that sends arrays, on the thread of the one that sends.
  public static func combineLatest<S: Sequence>(_ producers: S) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = producers.map(\.producer)
    guard !producers.isEmpty else { return .empty }
    return SignalProducer<[Value], Error>(all: producers) {
      Signal<Value, Error>.combineLatest($0)
    }
  }

  /// Starts all producers: sends the latest values of all whenever one of them sends.
  ///
  /// Every run starts them in order. Nothing is sent before each has sent a value. It completes
  /// when all have, fails with any and is interrupted with any. At the end all runs are disposed
  /// of. If there are no producers, `emptySentinel` is sent.
  ///
  /// - Parameters:
  ///   - producers: The producers, in the order in which their values are in the arrays.
  ///   - emptySentinel: The value that is sent if there are no producers.
  /// - Returns: A producer that sends arrays, on the thread of the one that sends.
  public static func combineLatest<S: Sequence>(
    _ producers: S, emptySentinel: [S.Element.Value]
  ) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = Array(producers)
    guard !producers.isEmpty else { return SignalProducer<[Value], Error>(value: emptySentinel) }
    return combineLatest(producers)
  }
}

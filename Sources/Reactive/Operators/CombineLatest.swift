/// The latest value of an input, once there is one.
private final class Slot<Value> {
  private let storage = UnsafeMutablePointer<Value>.allocate(capacity: 1)
  private(set) var isFilled = false

  deinit {
    if isFilled { storage.deinitialize(count: 1) }
    storage.deallocate()
  }

  var value: Value { storage.pointee }

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
private final class LatestCombiner<Output, Error: Swift.Error> {
  private let junction: Junction<Output, Error>
  private var missing: Int
  private var running: Int
  // Set once, before the first input is observed.
  var combine: (() -> Output)?

  init(_ junction: Junction<Output, Error>, count: Int) {
    self.junction = junction
    missing = count
    running = count
  }

  func observe<Input>(_ signal: Signal<Input, Error>, filling slot: Slot<Input>) {
    junction.observe(
      signal,
      value: { value in
        if slot.fill(value) { self.missing -= 1 }
        if self.missing == 0, let combine = self.combine { self.junction.emit(combine()) }
      },
      end: { termination in
        self.running -= 1
        if case .completed = termination, self.running > 0 { return }
        self.junction.finish(termination)
      })
  }
}

extension Signal {
  static func combiningLatest<First, each Other>(
    _ first: Signal<First, Error>, _ other: repeat Signal<each Other, Error>
  ) -> Signal<Value, Error> where Value == (First, repeat each Other) {
    .joining { junction in
      var count = 1
      for _ in repeat each other { count += 1 }
      let combiner = LatestCombiner(junction, count: count)
      let firstSlot = Slot<First>()
      let slots = (repeat Slot<each Other>())
      combiner.combine = { (firstSlot.value, repeat (each slots).value) }
      combiner.observe(first, filling: firstSlot)
      repeat combiner.observe(each other, filling: each slots)
    }
  }

  /// Emits the latest values of both signals whenever one of them sends, once each has. Completes
  /// when both have; fails and is interrupted with any.
  public static func combineLatest<B>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>
  ) -> Signal<(Value, B), Error> {
    Signal<(Value, B), Error>.combiningLatest(a, b)
  }

  /// Emits the latest values of all signals whenever one of them sends, once each has.
  public static func combineLatest<S: Sequence>(_ signals: S) -> Signal<[Value], Error>
  where S.Element == Signal<Value, Error> {
    let signals = Array(signals)
    guard !signals.isEmpty else { return .empty }
    return .joining { junction in
      let combiner = LatestCombiner(junction, count: signals.count)
      let slots = signals.map { _ in Slot<Value>() }
      combiner.combine = { slots.map(\.value) }
      for (signal, slot) in Swift.zip(signals, slots) { combiner.observe(signal, filling: slot) }
    }
  }

  /// Emits the latest values of both signals whenever one of them sends, once each has.
  public func combineLatest<U>(with other: Signal<U, Error>) -> Signal<(Value, U), Error> {
    Signal.combineLatest(self, other)
  }
}

extension SignalProducer {
  /// Starts both producers and emits their latest values whenever one sends, once each has.
  public static func combineLatest<A: SignalProducerConvertible, B: SignalProducerConvertible>(
    _ a: A, _ b: B
  ) -> SignalProducer<(Value, B.Value), Error>
  where A.Value == Value, A.Error == Error, B.Error == Error {
    SignalProducer<(Value, B.Value), Error>(joining: a.producer, b.producer) {
      Signal<Value, Error>.combineLatest($0, $1)
    }
  }

  /// Starts all producers and emits their latest values whenever one of them sends, once each has.
  /// Of none, completes.
  public static func combineLatest<S: Sequence>(_ producers: S) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = producers.map(\.producer)
    guard !producers.isEmpty else { return .empty }
    return SignalProducer<[Value], Error>(all: producers) {
      Signal<Value, Error>.combineLatest($0)
    }
  }

  /// Starts all producers and emits their latest values whenever one of them sends, once each has.
  /// Of none, emits `emptySentinel`.
  public static func combineLatest<S: Sequence>(
    _ producers: S, emptySentinel: [S.Element.Value]
  ) -> SignalProducer<[Value], Error>
  where S.Element: SignalProducerConvertible<Value, Error> {
    let producers = Array(producers)
    guard !producers.isEmpty else { return SignalProducer<[Value], Error>(value: emptySentinel) }
    return combineLatest(producers)
  }

  /// Emits the latest values of both producers whenever one of them sends, once each has.
  public func combineLatest<U>(
    with other: SignalProducer<U, Error>
  ) -> SignalProducer<(Value, U), Error> {
    SignalProducer.combineLatest(self, other)
  }

  /// Emits the latest values of both streams whenever one of them sends, once each has.
  public func combineLatest<Other: SignalProducerConvertible>(
    with other: Other
  ) -> SignalProducer<(Value, Other.Value), Error> where Other.Error == Error {
    combineLatest(with: other.producer)
  }
}

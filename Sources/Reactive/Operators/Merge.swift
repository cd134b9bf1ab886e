// Producers: by hand, because theirs is a flattening, which starts them one after the other.
extension Signal {
  /// Passes the values of all signals as they come.
  ///
  /// It completes when all have ended without failing, and fails with any. The interruption of one
  /// counts as its completion. Without any, it completes at once.
  ///
  /// - Parameter signals: The signals.
  /// - Returns: A signal that sends the values of all, on the thread of the one that sends.
  public static func merge<Seq: Sequence>(_ signals: Seq) -> Signal<Value, Error>
  where Seq.Element == Signal<Value, Error> {
    let signals = Array(signals)
    guard !signals.isEmpty else { return .empty }
    return .joining { junction in
      var running = signals.count
      for signal in signals {
        junction.observe(
          signal, value: { junction.emit($0) },
          end: { termination in
            if case .failed = termination { return junction.finish(termination) }
            running -= 1
            if running == 0 { junction.finish(.completed) }
          })
      }
    }
  }

  /// Passes the values of all signals as they come.
  ///
  /// It completes when all have ended without failing, and fails with any. The interruption of one
  /// counts as its completion. Without any, it completes at once.
  ///
  /// - Parameter signals: The signals.
  /// - Returns: A signal that sends the values of all, on the thread of the one that sends.
  public static func merge(_ signals: Signal<Value, Error>...) -> Signal<Value, Error> {
    merge(signals)
  }
}

extension SignalProducer {
  /// Starts all producers, in order, and passes their values as they come.
  ///
  /// It completes when all have ended without failing, and fails with any. The interruption of one
  /// counts as its completion. At the end all runs are disposed of. Without any, it completes at
  /// once.
  ///
  /// - Parameter producers: The producers.
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<Seq: Sequence>(_ producers: Seq) -> SignalProducer<Value, Error>
  where Seq.Element == SignalProducer<Value, Error> {
    SignalProducer<SignalProducer<Value, Error>, Error>(producers).flatten(.merge)
  }

  /// Starts both producers, `a` first, and passes their values as they come.
  ///
  /// It completes when both have ended without failing, and fails with either. The interruption of
  /// one counts as its completion. At the end both runs are disposed of.
  ///
  /// - Parameters:
  ///   - a: The one that is started first.
  ///   - b: The other.
  /// - Returns: A producer that sends the values of both, on the thread of the one that sends.
  public static func merge<A: SignalProducerConvertible, B: SignalProducerConvertible>(
    _ a: A, _ b: B
  ) -> SignalProducer<Value, Error>
  where A.Value == Value, A.Error == Error, B.Value == Value, B.Error == Error {
    merge([a.producer, b.producer])
  }
}

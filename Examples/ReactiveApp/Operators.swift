import Reactive

/// Operators of the app's own, as they are written on top of a library's.
extension SignalProtocol where Value == Int {
  func runningMean() -> Signal<Double, Error> {
    var count = 0
    var sum = 0
    return signal.map { value in
      count += 1
      sum += value
      return Double(sum) / Double(count)
    }
  }
}

extension SignalProducerProtocol where Error == Never {
  /// Counts, in a variable that is captured, what passes.
  func counting(_ report: @escaping (Int) -> Void) -> SignalProducer<Value, Never> {
    return producer.lift { signal in
      Signal { observer, lifetime in
        var count = 0
        lifetime += signal.observe { event in
          if case .value = event {
            count += 1
            report(count)
          }
          observer.send(event)
        }
      }
    }
  }
}

/// Notes what happens in a class that isn't sendable, and lets go of it all together.
final class Diary {
  private(set) var lines: [String] = []
  private let disposables = CompositeDisposable()

  func follow<T>(_ name: String, _ producer: SignalProducer<T, Never>) {
    disposables +=
      producer
      .on(started: { self.lines.append("\(name) started") })
      .startWithValues { self.lines.append("\(name): \($0)") }
  }

  func stop() {
    disposables.dispose()
  }
}

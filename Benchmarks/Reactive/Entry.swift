import AllocationCounter
import Glibc
import Reactive

/// Nanoseconds of processor time and allocations per event or operation: the best of three runs.
@main
enum Entry {
  static func measure(_ name: String, _ count: Int, _ body: () -> Void) {
    body()
    func cpu() -> Double {
      var t = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t)
      return Double(t.tv_sec) * 1e9 + Double(t.tv_nsec)
    }
    var best = Double.infinity
    var allocations: UInt64 = 0
    for _ in 0..<3 {
      let a = allocation_count()
      let start = cpu()
      body()
      let time = cpu() - start
      allocations = UInt64(allocation_count() - a)
      best = min(best, time)
    }
    print(name, best / Double(count), "ns", Double(allocations) / Double(count), "allocs")
  }

  // Only one thread.
  final class Box: @unchecked Sendable { var sum = 0 }

  static let box = Box()
  static let n = 2_000_000

  static func main() {
    hot()
    subscribing()
    cold()
    combining()
    flattening()
  }

  static func hot() {
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.observeValues { box.sum &+= $0 }
      measure("pipe, observed", n) { for i in 0..<n { input.send(value: i) } }
    }
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { box.sum &+= $0 }
      measure("pipe, map, filter, observed", n) { for i in 0..<n { input.send(value: i) } }
    }
    let (signal, input) = Signal<Int, Never>.pipe()
    for _ in 0..<1000 { signal.observeValues { box.sum &+= $0 } }
    measure("fan-out to 1,000, per delivery", 2_000 * 1000) {
      for i in 0..<2000 { input.send(value: i) }
    }
  }

  static func subscribing() {
    let count = 100_000
    let (signal, input) = Signal<Int, Never>.pipe()
    measure("observe and dispose", count) {
      for _ in 0..<count { signal.observeValues { box.sum &+= $0 }?.dispose() }
    }
    measure("map, filter, observe and dispose", count) {
      for _ in 0..<count {
        signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { box.sum &+= $0 }?.dispose()
      }
    }
    let producer = SignalProducer(signal).map { $0 &+ 1 }.filter { $0 & 1 == 0 }
    measure("start through map and filter, and dispose", count) {
      for _ in 0..<count { producer.startWithValues { box.sum &+= $0 }.dispose() }
    }
    withExtendedLifetime(input) {}
  }

  static func cold() {
    let count = 1_000_000
    let million = SignalProducer<Int, Never>(0..<count)
    measure("sequence, started", count) { million.startWithValues { box.sum &+= $0 } }
    measure("sequence, map x 4, filter, reduce", count) {
      million.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
        .filter { $0 & 1 == 0 }.reduce(0) { $0 &+ $1 }.startWithValues { box.sum &+= $0 }
    }
  }

  static func combining() {
    let pipes = (0..<4).map { _ in Signal<Int, Never>.pipe() }
    let signals = pipes.map(\.output)
    let two = Signal.combineLatest(signals[0], signals[1])
      .observeValues { box.sum &+= $0.0 &+ $0.1 }
    measure("combineLatest of 2", n) {
      for i in 0..<n / 2 { for pipe in pipes[..<2] { pipe.input.send(value: i) } }
    }
    two?.dispose()
    Signal.combineLatest(signals[0], signals[1], signals[2], signals[3])
      .observeValues { box.sum &+= $0.0 &+ $0.1 &+ $0.2 &+ $0.3 }
    measure("combineLatest of 4", n) {
      for i in 0..<n / 4 { for pipe in pipes { pipe.input.send(value: i) } }
    }
  }

  static func flattening() {
    let count = 100_000
    let singles = SignalProducer<Int, Never>(0..<count)
    for (name, strategy) in [
      ("merge", FlattenStrategy.merge), ("concat", .concat), ("latest", .latest),
    ] {
      measure("flatMap of singles, \(name)", count) {
        singles.flatMap(strategy) { SignalProducer<Int, Never>(value: $0) }
          .startWithValues { box.sum &+= $0 }
      }
    }
  }
}

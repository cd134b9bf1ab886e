import AllocationCounter
import Glibc
import Reactive

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

  final class Box: @unchecked Sendable { var sum = 0 }

  static func main() {
    let n = 2_000_000
    let box = Box()
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.observeValues { box.sum &+= $0 }
      measure("bare hot", n) { for i in 0..<n { input.send(value: i) } }
    }
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { box.sum &+= $0 }
      measure("hot map filter", n) { for i in 0..<n { input.send(value: i) } }
    }
    do {
      let (signal, _input) = Signal<Int, Never>.pipe()
      measure("subscribe bare", 100_000) {
        for _ in 0..<100_000 { signal.observeValues { box.sum &+= $0 }?.dispose() }
      }
      measure("subscribe map filter", 100_000) {
        for _ in 0..<100_000 {
          signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { box.sum &+= $0 }?.dispose()
        }
      }
      _ = _input
    }
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      for _ in 0..<1000 { signal.observeValues { box.sum &+= $0 } }
      measure("fanout", 2_000 * 1000) { for i in 0..<2000 { input.send(value: i) } }
    }

    cold(box, n)
  }

  private static func cold(_ box: Box, _ n: Int) {
    let million = SignalProducer<Int, Never>(0..<1_000_000)
    measure("cold bare", 1_000_000) { million.startWithValues { box.sum &+= $0 } }
    measure("cold map4 filter reduce", 1_000_000) {
      million.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
        .filter { $0 & 1 == 0 }.reduce(0) { $0 &+ $1 }.startWithValues { box.sum &+= $0 }
    }
    do {
      let (a, inA) = Signal<Int, Never>.pipe()
      let (b, inB) = Signal<Int, Never>.pipe()
      Signal.combineLatest(a, b).observeValues { box.sum &+= $0.0 &+ $0.1 }
      measure("combineLatest 2", n) {
        for i in 0..<n / 2 { inA.send(value: i); inB.send(value: i) }
      }
    }
    do {
      let ins = (0..<4).map { _ in Signal<Int, Never>.pipe() }
      Signal.combineLatest(ins[0].output, ins[1].output, ins[2].output, ins[3].output)
        .observeValues { box.sum &+= $0.0 &+ $0.1 &+ $0.2 &+ $0.3 }
      measure("combineLatest 4", n) {
        for i in 0..<n / 4 { for pipe in ins { pipe.input.send(value: i) } }
      }
    }
    let few = SignalProducer<Int, Never>(0..<100_000)
    for (name, strategy) in [
      ("merge", FlattenStrategy.merge), ("concat", .concat), ("latest", .latest),
    ] {
      measure("flatMap \(name)", 100_000) {
        few.flatMap(strategy) { SignalProducer<Int, Never>(value: $0) }
          .startWithValues { box.sum &+= $0 }
      }
    }
    do {
      let (signal, _input) = Signal<Int, Never>.pipe()
      let producer = SignalProducer(signal).map { $0 &+ 1 }.filter { $0 & 1 == 0 }
      measure("start map filter on signal", 100_000) {
        for _ in 0..<100_000 { producer.startWithValues { box.sum &+= $0 }.dispose() }
      }
      _ = _input
    }
  }
}

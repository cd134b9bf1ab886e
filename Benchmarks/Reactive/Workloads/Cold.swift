import AsyncAlgorithms
import OpenCombine
import Reactive

func coldWorkloads() -> [Workload] {
  var workload = Workload("cold sequence, map four times, filter, reduce", events: 1_000_000)
  workload.add(.ours) { count in
    SignalProducer<Int, Never>(0..<count)
      .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
      .filter { $0 & 1 == 0 }.reduce(0) { $0 &+ $1 }.startWithValues { sum.add($0) }
  }
  workload.add(.openCombine) { count in
    // Erased, or it would map the whole array rather than a stream.
    (0..<count).publisher.eraseToAnyPublisher()
      .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
      .filter { $0 & 1 == 0 }.reduce(0) { $0 &+ $1 }.sink { sum.add($0) }.cancel()
  }
  workload.add(.async, share: 0.2) { count in
    let total = await (0..<count).async
      .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
      .filter { $0 & 1 == 0 }.reduce(0) { $0 &+ $1 }
    sum.add(total)
  }
  workload.add(.floor) { count in
    var total = 0
    let reduce: (Int) -> Void = { total &+= $0 }
    let filter = opaque { (value: Int) in if value & 1 == 0 { reduce(value) } }
    let steps = (0..<4).reduce(filter) { next, _ in opaque { next($0 &+ 1) } }
    for value in 0..<count { steps(value) }
    sum.add(total)
  }
  return [workload]
}

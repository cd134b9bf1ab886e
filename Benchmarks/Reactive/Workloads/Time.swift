import Dispatch
import OpenCombine
import OpenCombineDispatch
import Reactive

/// Nine events a millisecond apart, then ten milliseconds of silence, and again.
private func sendInBursts(_ count: Int, send: (Int) -> Void, advance: (Int) -> Void) {
  for value in 0..<count {
    send(value)
    advance(value % 10 == 9 ? 10 : 1)
  }
}

// The clocks of the asynchronous sequences can't be advanced from outside and awaited.
func timeWorkloads() -> [Workload] { [debounce(), throttle(), delay()] }

private func debounce() -> Workload {
  var workload = Workload("debounce on virtual time", events: 500_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    let scheduler = TestScheduler()
    signal.debounce(0.005, on: scheduler).observeValues { sum.add($0) }
    sendInBursts(
      count, send: { input.send(value: $0) },
      advance: { scheduler.advance(by: .milliseconds($0)) })
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let scheduler = VirtualScheduler()
    let sink = subject.debounce(for: .milliseconds(5), scheduler: scheduler).sink { sum.add($0) }
    sendInBursts(
      count, send: { subject.send($0) }, advance: { scheduler.advance(by: .milliseconds($0)) })
    sink.cancel()
  }
  workload.add(.floor) { count in
    var (now, deadline, pending) = (0, Int.max, 0)
    sendInBursts(
      count,
      send: { value in (pending, deadline) = (value, now + 5) },
      advance: { milliseconds in
        now += milliseconds
        guard now >= deadline else { return }
        deadline = .max
        sum.add(pending)
      })
  }
  return workload
}

private func throttle() -> Workload {
  var workload = Workload("throttle on virtual time", events: 500_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    let scheduler = TestScheduler()
    signal.throttle(0.005, on: scheduler).observeValues { sum.add($0) }
    sendInBursts(
      count, send: { input.send(value: $0) },
      advance: { scheduler.advance(by: .milliseconds($0)) })
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let scheduler = VirtualScheduler()
    let sink = subject.throttle(for: .milliseconds(5), scheduler: scheduler, latest: true)
      .sink { sum.add($0) }
    sendInBursts(
      count, send: { subject.send($0) }, advance: { scheduler.advance(by: .milliseconds($0)) })
    sink.cancel()
  }
  return workload
}

private func delay() -> Workload {
  var workload = Workload("delay on virtual time", events: 500_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    let scheduler = TestScheduler()
    signal.delay(0.005, on: scheduler).observeValues { sum.add($0) }
    sendInBursts(
      count, send: { input.send(value: $0) },
      advance: { scheduler.advance(by: .milliseconds($0)) })
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let scheduler = VirtualScheduler()
    let sink = subject.delay(for: .milliseconds(5), scheduler: scheduler).sink { sum.add($0) }
    sendInBursts(
      count, send: { subject.send($0) }, advance: { scheduler.advance(by: .milliseconds($0)) })
    sink.cancel()
  }
  workload.add(.floor) { count in
    var now = 0
    var waiting: [(due: Int, value: Int)] = []
    sendInBursts(
      count,
      send: { value in waiting.append((now + 5, value)) },
      advance: { milliseconds in
        now += milliseconds
        while let first = waiting.first, first.due <= now {
          sum.add(first.value)
          waiting.removeFirst()
        }
      })
  }
  return workload
}

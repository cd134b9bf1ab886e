import OpenCombine
import Reactive

func subscribeWorkloads() -> [Workload] { [bare(), throughOperators()] }

private func bare() -> Workload {
  var workload = Workload("observe and dispose", events: 1_000_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    for _ in 0..<count { signal.observeValues { sum.add($0) }?.dispose() }
    withExtendedLifetime(input) {}
  }
  workload.add(.openCombine, share: 0.3) { count in
    let subject = PassthroughSubject<Int, Never>()
    for _ in 0..<count { subject.sink { sum.add($0) }.cancel() }
  }
  workload.add(.async, share: 0.1) { count in
    for _ in 0..<count {
      let (stream, _) = AsyncStream.makeStream(of: Int.self)
      let task = Task { for await value in stream { sum.add(value) } }
      task.cancel()
      await task.value
    }
  }
  workload.add(.floor) { count in
    let subject = HandmadeSubject()
    for _ in 0..<count { subject.remove(subject.observe { sum.add($0) }) }
  }
  return workload
}

private func throughOperators() -> Workload {
  var workload = Workload("map, filter, observe and dispose", events: 500_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    for _ in 0..<count {
      signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { sum.add($0) }?.dispose()
    }
    withExtendedLifetime(input) {}
  }
  workload.add(.openCombine, share: 0.3) { count in
    let subject = PassthroughSubject<Int, Never>()
    for _ in 0..<count {
      subject.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.sink { sum.add($0) }.cancel()
    }
  }
  return workload
}

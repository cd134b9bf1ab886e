import AsyncAlgorithms
import OpenCombine
import Reactive
import Synchronization

func hotWorkloads() -> [Workload] { [pipe(), remembering(), fanOut()] }

private func pipe() -> Workload {
  var workload = Workload("pipe, map, filter, sink", events: 10_000_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.observeValues { sum.add($0) }
    for value in 0..<count { input.send(value: value) }
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let sink = subject.map { $0 &+ 1 }.filter { $0 & 1 == 0 }.sink { sum.add($0) }
    for value in 0..<count { subject.send(value) }
    sink.cancel()
  }
  workload.add(.async, share: 0.02) { count in
    let channel = AsyncChannel<Int>()
    let sender = Task {
      for value in 0..<count { await channel.send(value) }
      channel.finish()
    }
    for await value in channel.map({ $0 &+ 1 }).filter({ $0 & 1 == 0 }) { sum.add(value) }
    await sender.value
  }
  workload.add(.floor) { count in
    let sink: (Int) -> Void = { sum.add($0) }
    let filter = opaque { (value: Int) in if value & 1 == 0 { sink(value) } }
    let lock = Mutex<Void>(())
    let send = opaque { (value: Int) in lock.withLock { _ in filter(value &+ 1) } }
    for value in 0..<count { send(value) }
  }
  return workload
}

/// Operators that keep something of the values before.
private func remembering() -> Workload {
  var workload = Workload("pipe, skip repeats, scan, sink", events: 10_000_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.skipRepeats().scan(0) { $0 &+ $1 }.observeValues { sum.add($0) }
    for value in 0..<count { input.send(value: value) }
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let sink = subject.removeDuplicates().scan(0) { $0 &+ $1 }.sink { sum.add($0) }
    for value in 0..<count { subject.send(value) }
    sink.cancel()
  }
  workload.add(.async, share: 0.02) { count in
    let channel = AsyncChannel<Int>()
    let sender = Task {
      for value in 0..<count { await channel.send(value) }
      channel.finish()
    }
    for await value in channel.removeDuplicates().reductions(0, { $0 &+ $1 }) { sum.add(value) }
    await sender.value
  }
  workload.add(.floor) { count in
    let sink: (Int) -> Void = { sum.add($0) }
    let state = Mutex<(previous: Int?, total: Int)>((nil, 0))
    let send = opaque { (value: Int) in
      state.withLock { state in
        guard state.previous != value else { return }
        state.previous = value
        state.total &+= value
        sink(state.total)
      }
    }
    for value in 0..<count { send(value) }
  }
  return workload
}

private func fanOut() -> Workload {
  let observers = 1_000
  var workload = Workload("fan-out to 1,000 observers, per delivery", events: 10_000_000)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    for _ in 0..<observers { signal.observeValues { sum.add($0) } }
    for value in 0..<count / observers { input.send(value: value) }
  }
  workload.add(.openCombine, share: 0.2) { count in
    let subject = PassthroughSubject<Int, Never>()
    let sinks = (0..<observers).map { _ in subject.sink { sum.add($0) } }
    for value in 0..<count / observers { subject.send(value) }
    withExtendedLifetime(sinks) {}
  }
  workload.add(.async, share: 0.02) { count in
    let streams = (0..<observers).map { _ in AsyncStream.makeStream(of: Int.self) }
    await withDiscardingTaskGroup { group in
      for (stream, _) in streams {
        group.addTask { for await value in stream { sum.add(value) } }
      }
      for value in 0..<count / observers {
        for (_, input) in streams { input.yield(value) }
        await Task.yield()
      }
      for (_, input) in streams { input.finish() }
    }
  }
  workload.add(.floor) { count in
    let subject = HandmadeSubject()
    for _ in 0..<observers { _ = subject.observe { sum.add($0) } }
    for value in 0..<count / observers { subject.send(value) }
  }
  return workload
}

import AsyncAlgorithms
import Reactive
import Synchronization

// OpenCombine 0.14 has no combineLatest.
func combineWorkloads() -> [Workload] { [combineTwo(), combineFour()] }

private func combineTwo() -> Workload {
  var workload = Workload("combineLatest of 2", events: 2_000_000)
  workload.add(.ours) { count in
    let (a, b) = (Signal<Int, Never>.pipe(), Signal<Int, Never>.pipe())
    Signal.combineLatest(a.output, b.output).observeValues { sum.add($0 &+ $1) }
    for value in 0..<count / 2 {
      a.input.send(value: value)
      b.input.send(value: value)
    }
  }
  workload.add(.async, share: 0.02) { count in
    let channels = (AsyncChannel<Int>(), AsyncChannel<Int>())
    let sender = Task {
      for value in 0..<count / 2 {
        await channels.0.send(value)
        await channels.1.send(value)
      }
      channels.0.finish()
      channels.1.finish()
    }
    for await (a, b) in combineLatest(channels.0, channels.1) { sum.add(a &+ b) }
    await sender.value
  }
  workload.add(.floor) { count in sendLatest(of: 2, count) }
  return workload
}

private func combineFour() -> Workload {
  var workload = Workload("combineLatest of 4", events: 2_000_000)
  workload.add(.ours) { count in
    let pipes = (0..<4).map { _ in Signal<Int, Never>.pipe() }
    Signal.combineLatest(pipes[0].output, pipes[1].output, pipes[2].output, pipes[3].output)
      .observeValues { sum.add($0 &+ $1 &+ $2 &+ $3) }
    for value in 0..<count / 4 { for pipe in pipes { pipe.input.send(value: value) } }
  }
  workload.add(.async, share: 0.02) { count in
    let channels = (0..<4).map { _ in AsyncChannel<Int>() }
    let sender = Task {
      for value in 0..<count / 4 { for channel in channels { await channel.send(value) } }
      for channel in channels { channel.finish() }
    }
    let pairs = combineLatest(
      combineLatest(channels[0], channels[1]), combineLatest(channels[2], channels[3]))
    for await ((a, b), (c, d)) in pairs { sum.add(a &+ b &+ c &+ d) }
    await sender.value
  }
  workload.add(.floor) { count in sendLatest(of: 4, count) }
  return workload
}

private func sendLatest(of inputs: Int, _ count: Int) {
  let latest = Mutex([Int](repeating: 0, count: inputs))
  for value in 0..<count / inputs {
    for input in 0..<inputs {
      latest.withLock { latest in
        latest[input] = value
        sum.add(latest.reduce(0, &+))
      }
    }
  }
}

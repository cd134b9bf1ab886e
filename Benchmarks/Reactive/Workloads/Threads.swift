import AsyncAlgorithms
import Dispatch
import OpenCombine
import OpenCombineDispatch
import Reactive
import Synchronization

func threadWorkloads() -> [Workload] { [hop(), twoThreads()] }

/// Calls back when `count` values have come.
private func receiver(of count: Int, _ done: DispatchSemaphore) -> @Sendable (Int) -> Void {
  let received = Synchronization.Atomic(0)
  let box = Shared(received)
  return { value in
    sum.add(value)
    if box.counter.add(1, ordering: .relaxed).newValue == count { done.signal() }
  }
}

private final class Shared: Sendable {
  let counter: Synchronization.Atomic<Int>
  init(_ counter: consuming Synchronization.Atomic<Int>) { self.counter = counter }
}

private func hop() -> Workload {
  var workload = Workload("hop to a serial queue", events: 500_000, time: .wall)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    let done = DispatchSemaphore(value: 0)
    signal.observe(on: QueueScheduler(name: "hop")).observeValues(receiver(of: count, done))
    for value in 0..<count { input.send(value: value) }
    waitBlocking(for: done)
  }
  workload.add(.openCombine) { count in
    let subject = PassthroughSubject<Int, Never>()
    let done = DispatchSemaphore(value: 0)
    let sink = subject.receive(on: DispatchQueue(label: "hop").ocombine)
      .sink(receiveValue: receiver(of: count, done))
    for value in 0..<count { subject.send(value) }
    waitBlocking(for: done)
    sink.cancel()
  }
  workload.add(.async, share: 0.2) { count in
    let (stream, input) = AsyncStream.makeStream(of: Int.self)
    let consumer = Task { for await value in stream { sum.add(value) } }
    for value in 0..<count { input.yield(value) }
    input.finish()
    await consumer.value
  }
  workload.add(.floor) { count in
    let waiting = Mutex<[Int]>([])
    let queue = DispatchQueue(label: "hop")
    let done = DispatchSemaphore(value: 0)
    let receive = receiver(of: count, done)
    for value in 0..<count {
      let isFirst = waiting.withLock { waiting in
        waiting.append(value)
        return waiting.count == 1
      }
      guard isFirst else { continue }
      queue.async {
        let batch = waiting.withLock { waiting in
          let batch = waiting
          waiting = []
          return batch
        }
        for value in batch { receive(value) }
      }
    }
    waitBlocking(for: done)
  }
  return workload
}

/// The whole program has nothing else to do meanwhile.
private func waitBlocking(for semaphore: DispatchSemaphore) { semaphore.wait() }

private func twoThreads() -> Workload {
  var workload = Workload("two threads into one pipe", events: 2_000_000, time: .wall)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.observeValues { sum.add($0) }
    onTwoThreads { for value in 0..<count / 2 { input.send(value: value) } }
  }
  workload.add(.openCombine) { count in
    let subject = Shareable(PassthroughSubject<Int, Never>())
    let sink = subject.value.sink { sum.add($0) }
    onTwoThreads { for value in 0..<count / 2 { subject.value.send(value) } }
    sink.cancel()
  }
  workload.add(.async, share: 0.1) { count in
    let (stream, input) = AsyncStream.makeStream(of: Int.self)
    let consumer = Task { for await value in stream { sum.add(value) } }
    onTwoThreads { for value in 0..<count / 2 { input.yield(value) } }
    input.finish()
    await consumer.value
  }
  workload.add(.floor) { count in
    let subject = HandmadeSubject()
    _ = subject.observe { sum.add($0) }
    onTwoThreads { for value in 0..<count / 2 { subject.send(value) } }
  }
  return workload
}

/// OpenCombine's subjects may be sent to from any thread, but aren't `Sendable`.
private struct Shareable<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

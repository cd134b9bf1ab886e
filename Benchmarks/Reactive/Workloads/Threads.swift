import AsyncAlgorithms
import Dispatch
import OpenCombine
import OpenCombineDispatch
import Reactive
import Synchronization

func threadWorkloads() -> [Workload] { [hop(), boundedHop(), twoThreads()] }

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

/// Values that wait, no more than a number of them: a new one takes the place of the oldest.
private struct Ring {
  private var values: [Int]
  private var first = 0
  private var count = 0
  /// Whether what takes the values is on its way.
  var isTaken = false

  init(capacity: Int) { values = Array(repeating: 0, count: capacity) }

  mutating func append(_ value: Int) {
    values[(first + count) % values.count] = value
    if count < values.count { count += 1 } else { first = (first + 1) % values.count }
  }

  mutating func takeFirst() -> Int? {
    guard count > 0 else { return nil }
    defer {
      first = (first + 1) % values.count
      count -= 1
    }
    return values[first]
  }
}

/// A hop that keeps the newest thousand. The last value is delivered in any case.
private func boundedHop() -> Workload {
  let limit = 1_000
  var workload = Workload("bounded hop to a serial queue", events: 500_000, time: .wall)
  workload.add(.ours) { count in
    let (signal, input) = Signal<Int, Never>.pipe()
    let done = DispatchSemaphore(value: 0)
    signal.buffer(limit, whenFull: .dropOldest, on: QueueScheduler(name: "hop"))
      .observeValues { value in
        sum.add(value)
        if value == count - 1 { done.signal() }
      }
    for value in 0..<count { input.send(value: value) }
    waitBlocking(for: done)
  }
  workload.add(.async, share: 0.2) { count in
    let (stream, input) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: .bufferingNewest(limit))
    let consumer = Task { for await value in stream { sum.add(value) } }
    for value in 0..<count { input.yield(value) }
    input.finish()
    await consumer.value
  }
  workload.add(.floor) { count in
    let waiting = Mutex(Ring(capacity: limit))
    let queue = DispatchQueue(label: "hop")
    let done = DispatchSemaphore(value: 0)
    for value in 0..<count {
      let isFirst = waiting.withLock { waiting in
        waiting.append(value)
        defer { waiting.isTaken = true }
        return !waiting.isTaken
      }
      guard isFirst else { continue }
      queue.async {
        while let value = waiting.withLock({ waiting -> Int? in
          let value = waiting.takeFirst()
          waiting.isTaken = value != nil
          return value
        }) {
          sum.add(value)
          if value == count - 1 { done.signal() }
        }
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

import Dispatch
import Reactive
import Testing

@Suite("A bounded way to a scheduler", .timeLimit(.minutes(5)))
struct BufferTests {
  private let scheduler = TestScheduler()

  @Test(
    "a full buffer does as its policy says, and counts what it drops",
    arguments: [
      (BufferPolicy.dropOldest, [3, 4, 5], 2), (.dropNewest, [1, 2, 3], 2), (.latest, [4, 5], 3),
      (.suspend, [1, 2, 3, 4, 5], 0),
    ])
  func policies(_ policy: BufferPolicy, _ expected: [Int], _ count: Int) {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (dropped, log) = (MutableProperty(0), Log<String>())
    let observed = signal.buffer(3, whenFull: policy, on: scheduler, dropped: dropped)
    observed.observe { log.append($0.description) }
    for value in 1...5 { input.send(value: value) }
    #expect(log.entries == [])
    #expect(dropped.value == count)
    input.sendCompleted()
    scheduler.advance()
    #expect(log.entries == expected.map { "VALUE \($0)" } + ["COMPLETED"])
  }

  @Test("values that find room are all delivered", arguments: [BufferPolicy.dropOldest, .latest])
  func room(_ policy: BufferPolicy) {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (dropped, log) = (MutableProperty(0), Log<Int>())
    signal.buffer(1, whenFull: policy, on: scheduler, dropped: dropped)
      .observeValues { log.append($0) }
    for value in 1...5 {
      input.send(value: value)
      scheduler.advance()
    }
    #expect(log.entries == [1, 2, 3, 4, 5])
    #expect(dropped.value == 0)
  }

  /// Keeps what is scheduled until it is to be performed.
  private final class BlockedScheduler: Scheduler {
    let scheduled = Log<@Sendable () -> Void>()

    func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
      scheduled.append(action)
      return nil
    }
  }

  @Test(
    "a buffer schedules no more than it may keep, however many values it drops",
    arguments: [BufferPolicy.dropOldest, .dropNewest, .latest])
  func turns(_ policy: BufferPolicy) {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (scheduler, log) = (BlockedScheduler(), Log<Int>())
    signal.buffer(3, whenFull: policy, on: scheduler).observeValues { log.append($0) }
    for value in 1...30_000 { input.send(value: value) }
    #expect(scheduler.scheduled.entries.count == 3)
    for action in scheduler.scheduled.entries { action() }
    #expect(log.entries.last == (policy == .dropNewest ? 3 : 30_000))
    input.send(value: 0)
    #expect(scheduler.scheduled.entries.count == 4)
    scheduler.scheduled.entries.last?()
    #expect(log.entries.last == 0)
  }

  @Test("every run has a buffer of its own, and disposal drops what waits")
  func runs() {
    let producer = SignalProducer<Int, Never>(1...4)
      .buffer(2, whenFull: .dropOldest, on: scheduler)
    let log = Log<String>()
    producer.startWithValues { log.append("first \($0)") }
    producer.start { log.append("second \($0)") }.dispose()
    scheduler.advance()
    #expect(log.entries == ["first 3", "first 4", "second INTERRUPTED"])
  }

  @Test("values come to a queue in order, and those delivered and dropped are all")
  func queue() async {
    let (dropped, delivered, done) = (MutableProperty(0), Log<Int>(), Expectation())
    SignalProducer<Int, Never>(1...10_000)
      .buffer(8, whenFull: .dropOldest, on: QueueScheduler(), dropped: dropped)
      .start { event in
        if case .value(let value) = event { delivered.append(value) } else { done.fulfill() }
      }
    await done.wait()
    #expect(delivered.entries == delivered.entries.sorted())
    #expect(delivered.entries.last == 10_000)
    #expect(delivered.entries.count + dropped.value == 10_000)
  }

  @Test("a source that can wait does while the buffer is full")
  func suspension() async {
    let (made, received, ended) = (Counter(), Counter(), Expectation())
    let source = SignalProducer<Int, Never>(sending: { input in
      while !Task.isCancelled {
        made.increment()
        await input.send(made.value)
      }
      ended.fulfill()
    })
    let run = source.buffer(3, whenFull: .suspend, on: scheduler)
      .startWithValues { _ in received.increment() }
    // Not in turn with tasks, as one of them makes values for ever.
    let perform = { [scheduler] in scheduler.advance() }
    for _ in 1...5 {
      // Besides those that wait in the buffer, one has been made and waits for room.
      while made.value < received.value + 4 { await Task.yield() }
      for _ in 0..<200 { await Task.yield() }
      #expect(made.value == received.value + 4)
      perform()
    }
    #expect(received.value >= 15)
    run.dispose()
    perform()
    await ended.wait()
  }

  @Test("a buffer of no values is a programmer's error")
  func none() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Signal<Int, Never>.never.buffer(0, whenFull: .latest, on: ImmediateScheduler())
    }
    #expect(result?.message.contains("a buffer can't be of 0 values") == true)
  }
}

@Suite("Turns on a queue")
struct QueueTurnTests {
  /// Keeps the processor busy for a while.
  private static func work() {
    let end = DispatchTime.now().uptimeNanoseconds + 50_000
    while DispatchTime.now().uptimeNanoseconds < end {}
  }

  @Test("another block gets its turn before many values have been delivered")
  func values() async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let (delivered, seen, done) = (Log<Int>(), Log<Int>(), Expectation())
    signal.observe(on: queue).observeValues { value in
      Self.work()
      delivered.append(value)
    }
    queue.queue.suspend()
    for value in 1...4_000 { input.send(value: value) }
    queue.queue.async { seen.append(delivered.entries.count) }
    queue.schedule { done.fulfill() }
    queue.queue.resume()
    await done.wait()
    #expect(delivered.entries == Array(1...4_000))
    // In theory twenty. A processor that does other things meanwhile makes it fewer.
    #expect(seen.entries.count == 1)
    #expect(seen.entries.allSatisfy { $0 < 1_000 })
  }

  @Test("a queue scheduler lets others in between pieces of work, which keep their order")
  func actions() async {
    let queue = QueueScheduler()
    let (performed, seen, done) = (Log<Int>(), Log<Int>(), Expectation())
    queue.queue.suspend()
    for number in 1...4_000 {
      queue.schedule {
        Self.work()
        performed.append(number)
        if number == 1 { queue.schedule { done.fulfill() } }
      }
    }
    queue.queue.async { seen.append(performed.entries.count) }
    queue.queue.resume()
    await done.wait()
    #expect(performed.entries == Array(1...4_000))
    #expect(seen.entries.allSatisfy { $0 < 1_000 })
  }

  @Test("the UI scheduler gives other blocks on the main queue their turn")
  func mainQueue() async {
    let scheduler = UIScheduler()
    let (performed, seen, done) = (Counter(), Log<Int>(), Expectation())
    await MainActor.run {
      // The main queue is held while these are scheduled.
      let scheduled = DispatchSemaphore(value: 0)
      detach {
        for _ in 0..<4_000 {
          scheduler.schedule {
            Self.work()
            performed.increment()
          }
        }
        scheduler.schedule { done.fulfill() }
        DispatchQueue.main.async { seen.append(performed.value) }
        scheduled.signal()
      }
      scheduled.wait()
    }
    await done.wait()
    #expect(performed.value == 4_000)
    #expect(seen.entries.allSatisfy { $0 < 1_000 })
  }
}

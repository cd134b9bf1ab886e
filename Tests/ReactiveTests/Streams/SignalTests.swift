import Dispatch
import Reactive
import Testing

@Suite("Signal", .ownThread)
struct SignalTests {
  @Test("a signal delivers to every observer in the order of subscription")
  func order() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    for name in 0..<5 { signal.observeValues { log.append("\(name):\($0)") } }
    input.send(value: 7)
    #expect(log.entries == ["0:7", "1:7", "2:7", "3:7", "4:7"])
  }

  @Test("a signal delivers nothing after the end")
  func afterTheEnd() {
    let (signal, input) = Signal<Int, TestError>.pipe()
    let log = Log<String>()
    signal.record(in: log)
    input.send(value: 1)
    input.send(error: .one)
    input.send(value: 2)
    input.sendCompleted()
    #expect(log.entries == ["VALUE 1", "FAILED one"])
  }

  @Test("a signal interrupts observers that come after the end, and gives no disposable")
  func late() {
    let (signal, input) = Signal<Int, Never>.pipe()
    input.sendCompleted()
    let log = Log<String>()
    #expect(signal.record(in: log) == nil)
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("events sent from inside a delivery are delivered after it, to all observers alike")
  func reentrancy() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.observeValues { if $0 < 3 { input.send(value: $0 + 1) } }
    signal.map { $0 * 10 }.observeValues { log.append("a\($0)") }
    signal.observeValues { log.append("b\($0)") }
    input.send(value: 1)
    #expect(log.entries == ["a10", "b1", "a20", "b2", "a30", "b3"])
  }

  @Test(
    "observers that leave in any order receive nothing more, and the others keep their order",
    arguments: [3, 64, 65, 1_000])
  func leavingInAnyOrder(count: Int) {
    let seed = Int.random(in: 0...1_000_000)
    var generator = ProgramTests.Generator(seed: seed)
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    var observers: [(name: Int, disposable: any Disposable)] = []
    for round in 0..<2 * count {
      if observers.isEmpty || round < count / 2 || Int.random(in: 0..<3, using: &generator) == 0 {
        let observer = signal.observeValues { _ in log.append(round) }
        if let observer { observers.append((round, observer)) }
      } else {
        let index = Int.random(in: observers.indices, using: &generator)
        observers.remove(at: index).disposable.dispose()
      }
      if round % 50 == 0 || observers.count < 3 {
        log.removeAll()
        input.send(value: round)
        #expect(log.entries == observers.map(\.name), "seed \(seed)")
      }
    }
  }

  @Test("a hundred thousand recursive sends cost no stack")
  func deepRecursion() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let counter = Counter()
    signal.observeValues { value in
      counter.increment()
      if value > 0 { input.send(value: value - 1) }
    }
    input.send(value: 100_000)
    #expect(counter.value == 100_001)
  }

  @Test("an observer that is disposed of during a delivery gets nothing more of it")
  func disposedDuringDelivery() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let second = SerialDisposable()
    signal.observeValues { _ in second.dispose() }
    second.inner = signal.observeValues { log.append($0) }
    signal.observeValues { log.append($0 * 100) }
    input.send(value: 1)
    input.send(value: 2)
    #expect(log.entries == [100, 200])
  }

  @Test("an observer may dispose of itself, twice, from inside")
  func disposesOfItself() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let counter = Counter()
    let own = SerialDisposable()
    own.inner = signal.observeValues { _ in
      counter.increment()
      own.dispose()
      own.dispose()
    }
    input.send(value: 1)
    input.send(value: 2)
    #expect(counter.value == 1)
  }

  @Test("an observer that is added during a delivery waits for the next")
  func addedDuringDelivery() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    signal.take(first: 1).observeValues { _ in signal.observeValues { log.append($0) } }
    input.send(value: 1)
    input.send(value: 2)
    #expect(log.entries == [2])
  }

  @Test("two threads' events come one at a time, and none is lost")
  func twoThreads() {
    let (signal, input) = Signal<Int, Never>.pipe()
    // Guarded only by the signal's serialisation, which this test checks.
    nonisolated(unsafe) var sum = 0
    signal.observeValues { sum += $0 }
    race(
      { for _ in 0..<50_000 { input.send(value: 1) } },
      { for _ in 0..<50_000 { input.send(value: 1) } })
    #expect(sum == 100_000)
  }

  @Test("observers that come and go on one thread don't disturb the events of another")
  func subscribersUnderFire() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let counter = Counter()
    signal.observeValues { _ in counter.increment() }
    race(
      { for value in 0..<20_000 { input.send(value: value) } },
      {
        for _ in 0..<5_000 {
          signal.map { $0 + 1 }.filter { $0 > 1 }.observeValues { _ in }?.dispose()
        }
      })
    #expect(counter.value == 20_000)
  }

  @Test(
    "two signals that feed each other from two threads don't deadlock", .timeLimit(.minutes(5)))
  func crossing() {
    let (a, inA) = Signal<Int, Never>.pipe()
    let (b, inB) = Signal<Int, Never>.pipe()
    let counter = Counter()
    a.observeValues { value in
      counter.increment()
      if value > 0 { inB.send(value: 0) }
    }
    b.observeValues { value in
      counter.increment()
      if value > 0 { inA.send(value: 0) }
    }
    race(
      { for _ in 0..<10_000 { inA.send(value: 1) } },
      { for _ in 0..<10_000 { inB.send(value: 1) } })
    #expect(counter.value == 40_000)
  }

  @Test("the loss of the input is an interruption")
  func lostInput() {
    let log = Log<String>()
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.record(in: log)
      input.send(value: 1)
    }
    #expect(log.entries == ["VALUE 1", "INTERRUPTED"])
  }

  @Test("a signal without holders and observers disposes of itself")
  func unreachable() {
    let disposable = AnyDisposable()
    var (signal, input): (Signal<Int, Never>?, Signal<Int, Never>.Observer) =
      Signal<Int, Never>.pipe(disposable: disposable)
    let observation = signal?.map { $0 }.observeValues { _ in }
    signal = nil
    #expect(!disposable.isDisposed)
    input.send(value: 1)
    observation?.dispose()
    #expect(disposable.isDisposed)
  }

  @Test("interruption overtakes events sent from inside before it")
  func interruptionOvertakes() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.observeValues { value in
      guard value == 1 else { return }
      input.send(value: 2)
      input.sendInterrupted()
    }
    signal.record(in: log)
    input.send(value: 1)
    #expect(log.entries == ["VALUE 1", "INTERRUPTED"])
  }

  @Test("a removed observer is released while its disposable is kept")
  func retention() {
    final class Witness: Sendable {}
    let (signal, input) = Signal<Int, Never>.pipe()
    weak var witness: Witness?
    let disposable: (any Disposable)?
    do {
      let held = Witness()
      witness = held
      disposable = signal.observeValues { _ in _ = held }
    }
    #expect(witness != nil)
    disposable?.dispose()
    #expect(witness == nil)
    _ = input
  }

  @Test("an observer that was removed while the end was delivered releases what it held")
  func retentionAtTheEnd() {
    final class Witness: Sendable {}
    let (signal, input) = Signal<Int, Never>.pipe()
    weak var witness: Witness?
    let second = SerialDisposable()
    signal.observeCompleted { [weak second] in second?.inner?.dispose() }
    let disposable: (any Disposable)?
    do {
      let held = Witness()
      witness = held
      disposable = signal.observe { _ in _ = held }
    }
    second.inner = disposable
    #expect(witness != nil)
    input.sendCompleted()
    #expect(disposable?.isDisposed == true)
    #expect(witness == nil)
  }
}

import Dispatch
import Reactive
import Synchronization
import Testing

/// What threads send faster than observers take it.
@Suite("A slow observer", .ownThread, .timeLimit(.minutes(5)))
struct BacklogTests {
  /// A little time on the processor.
  private func work() {
    let end = DispatchTime.now().uptimeNanoseconds + 20_000
    while DispatchTime.now().uptimeNanoseconds < end {}
  }

  /// Streams that several threads may send to, by how they are sent to.
  enum Way: CaseIterable, Sendable { case signal, property, merge, flatMap, replay }

  private func input(
    of way: Way, _ observe: @escaping @Sendable (Int) -> Void
  ) -> @Sendable (Int) -> Void {
    let (a, aInput) = Signal<Int, Never>.pipe()
    let (b, bInput) = Signal<Int, Never>.pipe()
    let either: @Sendable (Int) -> Void = { value in
      if value.isMultiple(of: 2) { aInput.send(value: value) } else { bInput.send(value: value) }
    }
    switch way {
    case .signal:
      a.observeValues(observe)
      return { aInput.send(value: $0) }
    case .property:
      let property = MutableProperty(0)
      property.signal.observeValues(observe)
      return { property.value = $0 }
    case .merge:
      Signal.merge(a, b).observeValues(observe)
      return either
    case .flatMap:
      SignalProducer<Signal<Int, Never>, Never>([a, b]).flatten(.merge).startWithValues(observe)
      return either
    case .replay:
      let (output, replayInput) = SignalProducer<Int, Never>.replayPipe(upTo: 1)
      output.startWithValues(observe)
      return { replayInput.send(value: $0) }
    }
  }

  @Test("a slow observer makes senders wait, so that few values do", arguments: Way.allCases)
  func bounded(_ way: Way) {
    let (sent, received) = (Counter(), Counter())
    let most = Synchronization.Atomic(0)
    let send = input(of: way) { _ in
      work()
      received.increment()
      most.max(sent.value - received.value, ordering: .relaxed)
    }
    @Sendable func flood(_ first: Int) {
      for value in first..<first + 2_000 {
        send(value)
        sent.increment()
      }
    }
    race({ flood(0) }, { flood(1) }, { flood(2) })
    #expect(sent.value == 6_000)
    #expect(received.value == 6_000)
    // Two inboxes of 256 and one for each sender, the one that is filled and the one that is emptied; at
    // three gates in a merge: those of its inputs, and its own.
    #expect(most.load(ordering: .relaxed) <= 6 * (256 + 3))
  }

  @Test("a slow observer doesn't keep one thread delivering for the others")
  func fairness() {
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.observeValues { _ in work() }
    let hasReturned = Synchronization.Atomic(0)
    @Sendable func victim() {
      // Delivers what the others send meanwhile.
      for _ in 0..<20 { input.send(value: 0) }
      hasReturned.add(1, ordering: .sequentiallyConsistent)
    }
    @Sendable func flood() {
      while hasReturned.load(ordering: .sequentiallyConsistent) == 0 { input.send(value: 1) }
    }
    race(victim, flood, flood, flood)
    #expect(hasReturned.load(ordering: .relaxed) == 1)
  }

  @Test("a slow observer of two streams that feed each other blocks no thread for ever")
  func crossing() {
    let (a, aInput) = Signal<Int, Never>.pipe()
    let (b, bInput) = Signal<Int, Never>.pipe()
    let received = Counter()
    // Three values for each that comes from outside: more than is made room for.
    a.observeValues { value in
      received.increment()
      if value == 0 { for _ in 0..<3 { bInput.send(value: 1) } }
    }
    b.observeValues { value in
      received.increment()
      if value == 0 { for _ in 0..<3 { aInput.send(value: 1) } }
    }
    race(
      { for _ in 0..<5_000 { aInput.send(value: 0) } },
      { for _ in 0..<5_000 { bInput.send(value: 0) } },
      { for _ in 0..<5_000 { aInput.send(value: 0) } },
      { for _ in 0..<5_000 { bInput.send(value: 0) } })
    #expect(received.value == 20_000 * 4)
  }

  /// What calls out with a property's lock.
  enum Lock: CaseIterable, Sendable { case withValue, modify, nestedModify }

  @Test(
    "a slow observer doesn't block a thread that holds the property it is waiting for",
    arguments: Lock.allCases)
  func locked(_ lock: Lock) {
    let (property, other) = (MutableProperty(0), MutableProperty(0))
    let (isInside, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let received = Counter()
    other.signal.observeValues { value in
      if value == -1 {
        isInside.signal()
        mayGoOn.wait()
        // Waits for the lock, inside the gate that the other thread has filled.
        _ = property.value
      }
      received.increment()
    }
    @Sendable func flood() {
      mayGoOn.signal()
      for value in 1...1_000 { other.value = value }
    }
    let done = DispatchGroup()
    detach(in: done) { other.value = -1 }
    isInside.wait()
    detach(in: done) {
      switch lock {
      case .withValue: property.withValue { _ in flood() }
      case .modify: property.modify { _ in flood() }
      case .nestedModify:
        // The inner call must not take the outer one's mark.
        let third = MutableProperty(0)
        property.modify { _ in
          third.modify { $0 = 1 }
          flood()
        }
      }
    }
    #expect(done.wait(timeout: .now() + 20) == .success)
    #expect(received.value == 1_001)
  }

  @Test("a slow observer may send as much as it likes from inside its own delivery")
  func nested() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let received = Counter()
    signal.observeValues { value in
      received.increment()
      if value == 0 { for _ in 0..<10_000 { input.send(value: 1) } }
    }
    input.send(value: 0)
    #expect(received.value == 10_001)
  }
}

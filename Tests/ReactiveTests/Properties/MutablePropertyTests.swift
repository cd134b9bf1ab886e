import Dispatch
import Glibc
import Reactive
import Testing

@Suite("MutableProperty", .ownThread)
struct MutablePropertyTests {
  private struct Refusal: Error {}

  @Test("a property's signal sends the values set, its producer the present value first")
  func signalAndProducer() {
    let property = MutableProperty(1)
    let changes = Log<Int>()
    let all = Log<Int>()
    property.signal.observeValues { changes.append($0) }
    property.producer.startWithValues { all.append($0) }
    property.value = 2
    property.value = 2
    property.value = 3
    #expect(changes.entries == [2, 2, 3])
    #expect(all.entries == [1, 2, 2, 3])
  }

  @Test("a released property completes its signal and its producer, and ends its lifetime")
  func release() {
    var property: MutableProperty<Int>? = MutableProperty(1)
    let log = Log<String>()
    property?.signal.observe { log.append("signal \($0)") }
    property?.producer.start { log.append("producer \($0)") }
    property?.lifetime.observeEnded { log.append("end") }
    let producer = property?.producer
    weak let released = property
    property = nil
    #expect(released == nil)
    #expect(log.entries == ["producer VALUE 1", "signal COMPLETED", "producer COMPLETED", "end"])
    let late = Log<String>()
    producer?.start { late.append("\($0)") }
    #expect(late.entries == ["VALUE 1", "COMPLETED"])
  }

  @Test("a property can be set, swapped and modified, and returns the old value")
  func access() {
    let property = MutableProperty([1])
    let log = Log<[Int]>()
    property.signal.observeValues { log.append($0) }
    #expect(property.swap([2]) == [1])
    let count = property.modify { value in
      value.append(3)
      return value.count
    }
    #expect(count == 2)
    #expect(property.withValue { $0.count } == 2)
    #expect(log.entries == [[2], [2, 3]])
  }

  @Test("no other thread sets the value while it is read", .timeLimit(.minutes(5)))
  func exclusiveReading() {
    let property = MutableProperty(1)
    let (begins, isSet) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    detach {
      begins.wait()
      property.value = 2
      isSet.signal()
    }
    property.withValue { value in
      begins.signal()
      for _ in 0..<200 {
        sched_yield()
        #expect(property.value == value)
      }
    }
    isSet.wait()
    #expect(property.value == 2)
  }

  @Test("a closure that reads the value may read, set and observe the property meanwhile")
  func reentrantReading() {
    let property = MutableProperty(1)
    let log = Log<String>()
    property.signal.observeValues { log.append("told \($0), is \(property.value)") }
    let outer = property.withValue { value in
      property.value = 2
      property.modify { $0 += 1 }
      property.producer.startWithValues { log.append("newcomer \($0)") }
      log.append("reads \(value), is \(property.withValue { $0 })")
      property.swap(4)
      return value
    }
    #expect(outer == 1)
    #expect(property.value == 4)
    #expect(log.entries.filter { $0.hasPrefix("newcomer") } == ["newcomer 3", "newcomer 4"])
    #expect(log.entries.filter { $0.hasPrefix("reads") } == ["reads 1, is 3"])
    #expect(
      log.entries.filter { $0.hasPrefix("told") }.map { $0.prefix(6) }
        == ["told 2", "told 3", "told 4"])
  }

  @Test("an observer that fails to read leaves the property unlocked")
  func throwingReader() {
    let property = MutableProperty(1)
    #expect(throws: Refusal.self) { try property.withValue { _ in throw Refusal() } }
    race({ property.value = 2 }, { _ = property.value })
    #expect(property.value == 2)
  }

  @Test("a modification that throws is kept as far as it got, and sent")
  func throwingModification() {
    let property = MutableProperty(1)
    let log = Log<Int>()
    property.signal.observeValues { log.append($0) }
    #expect(throws: Refusal.self) {
      try property.modify { value in
        value = 2
        throw Refusal()
      }
    }
    #expect(property.value == 2)
    #expect(log.entries == [2])
  }

  @Test("a value set by an observer is stored at once and sent to all after the one before")
  func recursion() {
    let property = MutableProperty(0)
    let log = Log<String>()
    property.signal.observeValues { value in
      log.append("a\(value)")
      if value == 1 {
        property.value = 2
        log.append("read \(property.value)")
      }
    }
    property.signal.observeValues { log.append("b\($0)") }
    property.value = 1
    #expect(log.entries == ["a1", "read 2", "b1", "a2", "b2"])
  }

  @Test("a recursion of ten thousand sets drains in order without using the stack")
  func deepRecursion() {
    let property = MutableProperty(0)
    let log = Log<Int>()
    property.producer.startWithValues { value in
      log.append(value)
      if value < 10_000 { property.value = value + 1 }
    }
    let isInOrder = log.entries == Array(0...10_000)
    #expect(isInOrder, "\(log.entries.count) values, the last \(log.entries.last ?? -1)")
  }

  @Test("an observer that comes while a value is delivered gets each value once")
  func observerFromInside() {
    let property = MutableProperty(0)
    let log = Log<Int>()
    property.signal.take(first: 1).observeValues { _ in
      property.value = 2
      property.producer.startWithValues { log.append($0) }
      property.value = 3
    }
    property.value = 1
    #expect(log.entries == [2, 3])
  }

  @Test("a value's deinitialiser may use the property without harm")
  func deinitialiserOfAValue() {
    final class Noisy: Sendable {
      let action: @Sendable () -> Void
      init(_ action: @escaping @Sendable () -> Void) { self.action = action }
      deinit { action() }
    }
    let property = MutableProperty<Noisy?>(nil)
    let other = Counter()
    property.value = Noisy {
      if property.value == nil { other.increment() }
    }
    property.value = nil
    #expect(other.value == 1)
  }

  @Test("two threads that set: every observer sees every value, ends on the last, in one order")
  func contention() {
    for _ in 0..<20 {
      let property = MutableProperty(0)
      let first = Log<Int>()
      let second = Log<Int>()
      property.signal.observeValues { first.append($0) }
      property.signal.observeValues { second.append($0) }
      race(
        { for number in 0..<500 { property.value = 2 * number } },
        { for number in 0..<500 { property.value = 2 * number + 1 } })
      #expect(first.entries.count == 1_000)
      #expect(first.entries == second.entries)
      #expect(first.entries.last == property.value)
      #expect(first.entries.filter { $0 % 2 == 0 } == (0..<500).map { 2 * $0 })
    }
  }

  @Test("an observer that comes while another thread sets misses nothing from its first value on")
  func startUnderContention() {
    for _ in 0..<500 {
      let property = MutableProperty(0)
      let log = Log<Int>()
      race(
        { for number in 1...50 { property.value = number } },
        { property.producer.startWithValues { log.append($0) } })
      let first = log.entries.first ?? 0
      #expect(log.entries == Array(first...50))
    }
  }

  @Test("modifications by two threads are not lost")
  func modificationUnderContention() {
    let property = MutableProperty(0)
    let work: @Sendable () -> Void = { for _ in 0..<5_000 { property.modify { $0 += 1 } } }
    race(work, work)
    #expect(property.value == 10_000)
  }

  @Test("a mutable property is a property wrapper, whose projection is the property")
  func wrapper() {
    struct Model {
      @MutableProperty var count = 1
    }
    let model = Model()
    let log = Log<Int>()
    model.$count.producer.startWithValues { log.append($0) }
    model.count = 2
    #expect(log.entries == [1, 2])
  }

  @Test("a property does not keep its observers once they are disposed of")
  func observersAreReleased() {
    let property = MutableProperty(0)
    var object: Counter? = Counter()
    weak let released = object
    let observation = property.producer.startWithValues { [object] _ in object?.increment() }
    object = nil
    property.value = 1
    #expect(released != nil)
    observation.dispose()
    #expect(released == nil)
  }
}

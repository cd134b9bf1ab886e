import Reactive
import Testing

@Suite("A property that is settled", .ownThread)
struct SettledTests {
  @Test("a settled property sends once what a diamond would send twice")
  func diamond() {
    let source = MutableProperty(1)
    let (single, double) = (source.map { $0 }, source.map { $0 * 2 })
    let sum = single.combineLatest(with: double).map { $0 + $1 }
    let settled = sum.settled(after: source)
    let (glitching, clean) = (Log<Int>(), Log<Int>())
    sum.producer.startWithValues { glitching.append($0) }
    settled.producer.startWithValues { clean.append($0) }
    for value in 2...4 { source.value = value }
    #expect(glitching.entries == [3, 4, 6, 7, 9, 10, 12])
    #expect(clean.entries == [3, 6, 9, 12])
    #expect(settled.value == 12)
  }

  @Test("diamonds of diamonds send once, too")
  func nested() {
    let source = MutableProperty(1)
    let a = source.map { $0 }.combineLatest(with: source.map { $0 }).map { $0 + $1 }
    let b = source.map { $0 * 10 }
    let whole = Property.combineLatest(a, b, a).map { $0 + $1 + $2 }.settled(after: source)
    let log = Log<Int>()
    whole.signal.observeValues { log.append($0) }
    source.value = 2
    source.value = 3
    #expect(log.entries == [28, 42])
  }

  @Test("every change of the source is sent, also one that is set from inside")
  func recursion() {
    let source = MutableProperty(0)
    let sum = source.map { $0 }.combineLatest(with: source.map { $0 }).map { $0 + $1 }
    let settled = sum.settled(after: source)
    let log = Log<Int>()
    settled.signal.observeValues { value in
      log.append(value)
      if value < 6 { source.value += 1 }
    }
    source.value = 1
    #expect(log.entries == [2, 4, 6])
  }

  @Test("a change from elsewhere is sent as it comes, and one that comes late is not lost")
  func otherChanges() {
    let (source, other) = (MutableProperty(1), MutableProperty(10))
    let sum = source.combineLatest(with: other).map { $0 + $1 }
    let settled = sum.settled(after: source)
    let log = Log<Int>()
    settled.signal.observeValues { log.append($0) }
    other.value = 20
    #expect(log.entries == [21])
    // Told of the source after the settled one has been.
    source.signal.observeValues { other.value = $0 * 100 }
    source.value = 2
    #expect(log.entries == [21, 22, 202])
  }

  @Test("a settled property completes with its sources, and keeps nothing")
  func life() {
    var source: MutableProperty<Int>? = MutableProperty(1)
    weak let released = source
    let log = Log<String>()
    let settled = source.map { source in source.map { $0 + 1 }.settled(after: source) }
    settled?.signal.record(in: log)
    source?.value = 2
    source = nil
    #expect(released == nil)
    #expect(log.entries == ["VALUE 3", "COMPLETED"])
    #expect(settled?.value == 3)
  }

  @Test("threads that change the source and another leave it with the last of both")
  func threads() {
    for _ in 0..<50 {
      let (source, other) = (MutableProperty(0), MutableProperty(0))
      let sum = Property.combineLatest(source.map { $0 }, source.map { $0 }, other)
        .map { $0 + $1 + $2 }
      let settled = sum.settled(after: source)
      race(
        { for value in 1...100 { source.value = value } },
        { for value in 1...100 { other.value = value } })
      #expect(settled.value == 300)
    }
  }
}

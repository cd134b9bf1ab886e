import Reactive
import Testing

@Suite("Links between properties", .ownThread)
struct LinkTests {
  @Test("the left property takes the right's value, and then a change of either is one of both")
  func bothWays() {
    let (left, right) = (MutableProperty(1), MutableProperty(2))
    left <~> right
    #expect(left.value == 2)
    left.value = 3
    #expect(right.value == 3)
    right.value = 4
    #expect(left.value == 4)
  }

  @Test("a change is delivered once on each side")
  func noEcho() {
    let (left, right) = (MutableProperty(0), MutableProperty(0))
    left <~> right
    let log = Log<String>()
    left.signal.observeValues { log.append("left \($0)") }
    right.signal.observeValues { log.append("right \($0)") }
    left.value = 1
    right.value = 2
    #expect(log.entries.sorted() == ["left 1", "left 2", "right 1", "right 2"])
  }

  @Test("a translated change does not come back")
  func translation() {
    let (text, number) = (MutableProperty(""), MutableProperty(7))
    text.link(to: number, reading: { "\($0)" }, writing: { Int($0.filter(\.isNumber)) ?? 0 })
    #expect(text.value == "7")
    text.value = " 12 "
    #expect(number.value == 12)
    #expect(text.value == " 12 ")
    number.value = 3
    #expect(text.value == "3")
  }

  @Test("several links make a chain")
  func chain() {
    let properties = (0..<4).map { MutableProperty($0) }
    for index in 1..<4 { properties[index - 1] <~> properties[index] }
    properties[3].value = 30
    #expect(properties.map(\.value) == [30, 30, 30, 30])
    properties[0].value = 10
    #expect(properties.map(\.value) == [10, 10, 10, 10])
  }

  @Test("changes of both sides at the same time leave both the same", arguments: 1...20)
  func race(_ round: Int) {
    let (left, right) = (MutableProperty(0), MutableProperty(0))
    left <~> right
    ReactiveTests.race(
      { for value in 1...200 { left.value = value } },
      { for value in 1...200 { right.value = -value } })
    #expect(left.value == right.value)
    left.value = 1000
    #expect(right.value == 1000)
  }

  @Test("a link ends when it is disposed of")
  func disposal() {
    let (left, right) = (MutableProperty(1), MutableProperty(2))
    (left <~> right).dispose()
    left.value = 5
    #expect(right.value == 2)
    right.value = 6
    #expect(left.value == 5)
  }

  @Test("a link keeps neither property, and keeps nothing when one is released")
  func release() {
    let left = MutableProperty(1)
    weak let right: MutableProperty<Int>?
    weak let captured: Counter?
    do {
      let other = MutableProperty(2)
      let counter = Counter()
      left.link(
        to: other, reading: { $0 },
        writing: {
          counter.increment(); return $0
        })
      (right, captured) = (other, counter)
      left.value = 3
      #expect(counter.value == 1)
    }
    #expect(right == nil)
    #expect(captured == nil)
    left.value = 4
  }
}

@Suite("A replacement for nil")
struct ReplaceNilTests {
  @Test("a replacement is sent instead of nil in a stream")
  func stream() {
    #expect(
      SignalProducer<Int?, Never>([1, nil, 2]).replaceNil(with: 0).recorded
        == ["VALUE 1", "VALUE 0", "VALUE 2", "COMPLETED"])
    let (signal, input) = Signal<String?, Never>.pipe()
    let log = Log<String>()
    signal.replaceNil(with: "-").observeValues { log.append($0) }
    input.send(value: nil)
    #expect(log.entries == ["-"])
  }

  @Test("a replacement is sent instead of nil to a target, which is not kept")
  func target() {
    let (signal, input) = Signal<Int?, Never>.pipe()
    weak let gone: MutableProperty<Int>?
    do {
      let property = MutableProperty(1)
      property.replacingNil(with: 0) <~ signal
      input.send(value: 5)
      #expect(property.value == 5)
      input.send(value: nil)
      #expect(property.value == 0)
      gone = property
    }
    #expect(gone == nil)
  }
}

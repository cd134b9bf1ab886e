import Reactive
import Testing

@Suite("Property")
struct PropertyTests {
  @Test("a constant sends itself and completes; its signal has ended")
  func constant() {
    let property = Property(value: 1)
    let log = Log<String>()
    property.producer.start { log.append("\($0)") }
    property.signal.observe { log.append("\($0)") }
    #expect(log.entries == ["VALUE 1", "COMPLETED", "INTERRUPTED"])
    #expect(property.value == 1)
  }

  @Test("a capturing view keeps its source, another does not")
  func retention() {
    var source: MutableProperty<Int>? = MutableProperty(1)
    weak let released = source
    var capturing: Property<Int>? = source.map { Property(capturing: $0) }
    let view = source.map { Property($0) }
    source = nil
    #expect(released != nil)
    released?.value = 2
    #expect(capturing?.value == 2 && view?.value == 2)
    capturing = nil
    #expect(released == nil)
    #expect(view?.value == 2)
  }

  @Test("a composed property is up to date, sends every change, and completes with its source")
  func composed() {
    var source: MutableProperty<Int>? = MutableProperty(1)
    let property = source?.map { $0 * 10 }
    let log = Log<String>()
    property?.signal.observe { log.append("\($0)") }
    #expect(property?.value == 10)
    source?.value = 2
    #expect(property?.value == 20)
    source = nil
    #expect(log.entries == ["VALUE 20", "COMPLETED"])
    #expect(property?.value == 20)
    let late = Log<String>()
    property?.producer.start { late.append("\($0)") }
    #expect(late.entries == ["VALUE 20", "COMPLETED"])
  }

  @Test("a composed property goes on while its signal or producer is used, and stops afterwards")
  func lifeOfAComposedProperty() {
    let source = MutableProperty(1)
    let transformations = Counter()
    var property: Property<Int>? = source.map { value in
      transformations.increment()
      return value
    }
    var producer = property?.producer
    property = nil
    source.value = 2
    #expect(transformations.value == 2)
    let log = Log<Int>()
    let observation = producer?.startWithValues { log.append($0) }
    producer = nil
    source.value = 3
    #expect(log.entries == [2, 3])
    observation?.dispose()
    source.value = 4
    #expect(transformations.value == 3)
  }

  @Test("a property begins with its initial value and takes those of a producer or a signal")
  func initialThen() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let property = Property(initial: 0, then: signal)
    let optional = Property<Int?>(initial: nil, then: signal.producer)
    #expect(property.value == 0 && optional.value == nil)
    input.send(value: 1)
    #expect(property.value == 1 && optional.value == 1)
    #expect(Property(initial: 0, then: SignalProducer([1, 2])).value == 2)
    let log = Log<String>()
    property.signal.observe { log.append("\($0)") }
    input.sendInterrupted()
    #expect(log.entries == ["COMPLETED"])
  }

  @Test("operators compose properties whose value is there at once")
  func operators() {
    let number = MutableProperty(1)
    let word = MutableProperty("a")
    let both = number.combineLatest(with: word)
    let pairs = number.zip(with: word)
    let even = number.filter(initial: 0) { $0 % 2 == 0 }
    let steps = number.combinePrevious(0)
    let distinct = number.skipRepeats()
    let unique = number.uniqueValues()
    let length = word.map(\.count)
    let log = Log<Int>()
    distinct.signal.observeValues { log.append($0) }
    number.value = 2
    number.value = 2
    word.value = "bc"
    #expect(both.value == (2, "bc"))
    #expect(pairs.value == (2, "bc"))
    #expect(even.value == 2)
    #expect(steps.value == (2, 2))
    #expect(log.entries == [2])
    #expect(unique.value == 2)
    #expect(length.value == 2)
    #expect(number.map(value: true).value)
  }

  @Test("flattening follows the property inside")
  func flattening() {
    let first = MutableProperty(1)
    let second = MutableProperty(10)
    let outer = MutableProperty(first)
    let latest = outer.flatten(.latest)
    let mapped = outer.flatMap(.latest) { $0.map { $0 + 1 } }
    first.value = 2
    #expect(latest.value == 2 && mapped.value == 3)
    outer.value = second
    first.value = 3
    #expect(latest.value == 10 && mapped.value == 11)
  }

  @Test("many properties combine; none make nil or the sentinel")
  func sequences() {
    let properties = [MutableProperty(1), MutableProperty(2)]
    let combined = MutableProperty<Int>.combineLatest(properties)
    let zipped = MutableProperty<Int>.zip(properties)
    properties[0].value = 3
    #expect(combined?.value == [3, 2])
    #expect(zipped?.value == [1, 2])
    let none: [MutableProperty<Int>] = []
    #expect(MutableProperty<Int>.combineLatest(none) == nil)
    #expect(MutableProperty<Int>.zip(none, emptySentinel: [9]).value == [9])
  }

  @Test("booleans combine")
  func booleans() {
    let first = MutableProperty(true)
    let second = MutableProperty(false)
    let both = first.and(second)
    let either = first.or(second)
    let not = first.negate()
    let all = Property<Bool>.all([first, second])
    let any = Property<Bool>.any(first, second)
    #expect(!both.value && either.value && !not.value && !all.value && any.value)
    second.value = true
    #expect(both.value && all.value)
    first.value = false
    second.value = false
    #expect(!either.value && not.value && !any.value)
  }
}

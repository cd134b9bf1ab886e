import Observation
import Reactive
import Testing

@Suite("Properties under observation tracking")
struct ObservedTests {
  @Test("the next change is reported, once")
  func tracking() {
    let property = MutableProperty(1)
    let observed = Observed(property)
    let counter = Counter()
    let read = withObservationTracking {
      observed.value
    } onChange: {
      counter.increment()
    }
    #expect(read == 1)
    #expect(counter.value == 0)
    property.value = 2
    property.value = 3
    #expect(counter.value == 1)
    #expect(observed.value == 3)
  }

  @Test("only changes of properties that were read are reported")
  func selective() {
    let (one, other) = (MutableProperty(1), MutableProperty(1))
    let (observedOne, observedOther) = (Observed(one), Observed(other))
    let counter = Counter()
    withObservationTracking {
      _ = observedOne.value
    } onChange: {
      counter.increment()
    }
    other.value = 2
    #expect(counter.value == 0)
    #expect(observedOther.value == 2)
    one.value = 2
    #expect(counter.value == 1)
  }

  @Test("an observer that reads in the callback sees the new value, and may track again")
  func rereading() {
    let property = MutableProperty(0)
    let observed = Observed(property)
    let log = Log<Int>()
    @Sendable func render() {
      withObservationTracking {
        log.append(observed.value)
      } onChange: {
        render()
      }
    }
    render()
    for value in 1...3 { property.value = value }
    #expect(log.entries == [0, 1, 2, 3])
  }

  @Test("Observations follow a composed property", .timeLimit(.minutes(5)))
  func observations() async {
    let (first, last) = (MutableProperty("Ada"), MutableProperty("Byron"))
    let name = Observed(first.combineLatest(with: last).map { "\($0) \($1)" })
    var iterator = Observations { name.value }.makeAsyncIterator()
    #expect(await iterator.next() == "Ada Byron")
    last.value = "Lovelace"
    #expect(await iterator.next() == "Ada Lovelace")
  }

  @Test("an observation keeps the property, and nothing keeps the observation")
  func retention() {
    weak var property: MutableProperty<Int>?
    weak var observed: Observed<Int>?
    do {
      let held = Observed(
        { () -> MutableProperty<Int> in
          let made = MutableProperty(1)
          property = made
          return made
        }())
      observed = held
      #expect(property != nil)
      withObservationTracking {
        _ = held.value
      } onChange: {
      }
    }
    #expect(observed == nil)
    #expect(property == nil)
  }
}

import Reactive
import Testing

// The listings of Debugging.md.

@Suite("The page on debugging")
struct DebuggingTests {
  @Test("events are logged, of the kinds asked for")
  func logging() {
    let log = Log<String>()
    let write: EventLogger = { name, event, _, _, _ in log.append("\(name): \(event)") }
    let search = SignalProducer<String, TestError>(value: "ab")
    search
      .logEvents(identifier: "search", events: [.value, .failed], logger: write)
      .start()
    #expect(log.entries == ["search: value ab"])
  }

  @Test("the graph is drawn as on the page")
  func graph() {
    let log = Log<String>()
    let (texts, input) = Signal<String, Never>.pipe()
    let trimmed = texts.map { $0.lowercased() }.named("search text")
    trimmed.filter { $0.count > 2 }.observeValues { print($0) }
    trimmed.observeValues { print($0.count) }
    trimmed.dumpGraph { log.append($0) }
    let place = "ReactiveTests/DebuggingTests.swift:\(#line - 4)"
    #expect(
      log.entries == [
        """
        root
          map
            "search text" (\(place)) ◀
              filter
                observer
              observer

        """
      ])
    withExtendedLifetime(input) {}
  }

  @Test("a diamond shows a mixture of values, and settled doesn't")
  func diamond() {
    let (mixed, clean) = (Log<Int>(), Log<Int>())
    let order = MutableProperty(1)
    let net = order.map { $0 * 100 }
    let tax = order.map { $0 * 20 }
    let gross = net.combineLatest(with: tax).map { $0 + $1 }
    gross.producer.startWithValues { mixed.append($0) }

    let settled = gross.settled(after: order)
    settled.producer.startWithValues { clean.append($0) }

    order.value = 2
    #expect(mixed.entries == [120, 220, 240])
    #expect(clean.entries == [120, 240])
  }
}

import Reactive
import Testing

// The listings of Debugging.md.

@Suite("The page on debugging")
struct DebuggingTests {
  @Test("events are logged, of the kinds asked for")
  func logging() {
    let log = Log<String>()
    let search = SignalProducer<String, TestError>(value: "ab")
    search.logEvents(
      identifier: "search", events: [.value, .failed],
      logger: { identifier, event, _, _, _ in log.append("\(identifier): \(event)") }
    ).start()
    #expect(log.entries == ["search: value ab"])
  }

  @Test("the graph is drawn as on the page")
  func graph() {
    let (texts, input) = Signal<String, Never>.pipe()
    let trimmed = texts.map { $0.lowercased() }.named(
      "search text", file: "App/Search.swift", line: 2)
    trimmed.filter { $0.count > 2 }.observeValues { _ in }
    trimmed.observeValues { _ in }
    let log = Log<String>()
    trimmed.dumpGraph { log.append($0) }
    #expect(
      log.entries == [
        """
        root
          map
            "search text" (App/Search.swift:2) ◀
              filter
                observer
              observer

        """
      ])
    withExtendedLifetime(input) {}
  }

  @Test("a diamond tells a mixture, and settled doesn't")
  func diamond() {
    let order = MutableProperty(1)
    let net = order.map { $0 * 100 }
    let tax = order.map { $0 * 20 }
    let gross = net.combineLatest(with: tax).map { $0 + $1 }
    let settled = gross.settled(after: order)
    let (mixed, clean) = (Log<Int>(), Log<Int>())
    gross.producer.startWithValues { mixed.append($0) }
    settled.producer.startWithValues { clean.append($0) }
    order.value = 2
    #expect(mixed.entries == [120, 220, 240])
    #expect(clean.entries == [120, 240])
  }
}

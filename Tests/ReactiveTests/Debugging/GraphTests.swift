import Dispatch
import Reactive
import Testing

@Suite("The graph of what is live", .ownThread)
struct GraphTests {
  private func drawing<Value, Error>(of signal: Signal<Value, Error>) -> String {
    let log = Log<String>()
    signal.dumpGraph { log.append($0) }
    #expect(log.entries.count == 1)
    return log.entries.first ?? ""
  }

  @Test("the graph shows the source, the operators and the observers, by name")
  func tree() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let named = signal.map { $0 + 1 }.named("ones", file: "App/Search.swift", line: 12)
    named.filter { $0 > 0 }.observeValues { _ in }
    let other = named.observe { _ in }
    #expect(
      drawing(of: named) == """
        root
          map
            "ones" (App/Search.swift:12) ◀
              filter
                observer
              observer

        """)
    other?.dispose()
    #expect(!drawing(of: named).hasSuffix("      observer\n      observer\n"))
    withExtendedLifetime(input) {}
  }

  @Test("names are passed on by producers, too, and change nothing")
  func producers() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.producer.named("run", file: "A.swift", line: 1).map { $0 * 2 }.record(in: log)
    #expect(
      drawing(of: signal).contains("\n    \"run\" (A.swift:1)\n      map\n        observer\n"))
    input.send(value: 1)
    input.sendCompleted()
    #expect(log.entries == ["VALUE 2", "COMPLETED"])
  }

  @Test("the graph follows events through joined, flattened and scheduled streams")
  func borders() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (other, otherInput) = Signal<Int, Never>.pipe()
    let scheduler = TestScheduler()
    signal.combineLatest(with: other).named("pair", file: "", line: 0).observeValues { _ in }
    signal.flatMap(.merge) { SignalProducer<Int, Never>(value: $0) }
      .named("flat", file: "", line: 0).observeValues { _ in }
    signal.delay(1, on: scheduler).named("late", file: "", line: 0).observeValues { _ in }
    let text = drawing(of: signal)
    for name in ["pair", "flattener", "flat", "delay", "late"] { #expect(text.contains(name)) }
    withExtendedLifetime((input, otherInput)) {}
  }

  @Test("the graph begins at every source, also behind joined, fed and started streams")
  func sources() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (other, otherInput) = Signal<Int, Never>.pipe()
    let first = signal.named("first", file: "", line: 1)
    let second = other.named("second", file: "", line: 2)
    let joined = first.combineLatest(with: second).map { $0 + $1 }
    let producers = first.producer.combineLatest(with: second.producer).map { $0 + $1 }
    func check(_ end: Signal<Int, Never>, _ names: Set<String> = ["first", "second"]) {
      let named = end.named("end", file: "", line: 3)
      named.observeValues { _ in }
      let text = drawing(of: named)
      for name in names {
        #expect(text.split(separator: "\n").count { $0.contains(name) } == 1, "\(text)")
      }
      #expect(text.contains("  \"end\" (:3) ◀\n"), "\(text)")
    }
    check(joined)
    check(first.merge(with: second).take(first: 5))
    check(first.delay(1, on: TestScheduler()).skip(first: 1), ["first"])
    check(first.flatMap(.latest) { _ in other.producer }, ["first"])
    check(Property(initial: 0, then: joined).signal)
    producers.startWithSignal { signal, _ in check(signal, []) }
    var started: Signal<Int, Never>?
    producers.startWithSignal { signal, _ in started = signal }
    started.map { check($0) }
    withExtendedLifetime((input, otherInput)) {}
  }

  @Test("a stream that is reached twice is drawn once")
  func diamond() {
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.map { $0 }.combineLatest(with: signal.filter { _ in true })
      .named("both", file: "", line: 0).observeValues { _ in }
    let text = drawing(of: signal)
    #expect(text.split(separator: "\n").count { $0.contains("both") } == 1)
    #expect(text.contains("…"))
    withExtendedLifetime(input) {}
  }

  @Test(
    "the graph can be drawn from inside a delivery, and while another thread delivers",
    .timeLimit(.minutes(5)))
  func whileDelivering() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    let (isInside, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    signal.observeValues { value in
      signal.dumpGraph { log.append("\(value) \($0)") }
      isInside.signal()
      isDone.wait()
    }
    detach { input.send(value: 1) }
    isInside.wait()
    #expect(log.entries.count == 1)
    signal.dumpGraph { log.append("later \($0)") }
    #expect(log.entries.count == 1)
    isDone.signal()
    // The next sender finds the gate free, or leaves its event to the drawing thread.
    isDone.signal()
    input.send(value: 2)
    while log.entries.count < 3 {}
    #expect(log.entries.prefix(2).allSatisfy { $0.hasSuffix("root ◀\n  observer\n") })
  }
}

import Dispatch
import Reactive
import Testing

// The listings of ThreadsAndLifetimes.md.

private final class Meter: Sendable {
  let reading = MutableProperty(0)
}

private final class Gauge: Sendable {
  private let (lifetime, token) = Lifetime.make()
  let shown = Log<Int>()

  init(showing meter: Meter) {
    meter.reading.producer
      .take(during: lifetime)
      .startWithValues { [weak self] in self?.shown.append($0) }
  }
}

@Suite("The page on threads and lifetimes")
struct ThreadsAndLifetimesTests {
  @Test("recursion is delivered after, not inside")
  func recursion() {
    let log = Log<String>()
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.observeValues { value in
      log.append("begin \(value)")
      if value < 2 { input.send(value: value + 1) }
      log.append("end \(value)")
    }
    input.send(value: 1)
    #expect(log.entries == ["begin 1", "end 1", "begin 2", "end 2"])
  }

  @Test("a computation runs on a queue and its result comes back to the main actor")
  @MainActor
  func hop() async {
    let background = QueueScheduler(qos: .userInitiated)
    let results = SignalProducer<Int, Never>(1...3)
      .observe(on: background)
      .map { $0 * $0 }
      .observe(on: UIScheduler())
    let log = Log<Int>()
    let done = Expectation()
    results.start { event in
      MainActor.assumeIsolated {
        if let value = event.value { log.append(value) } else { done.fulfill() }
      }
    }
    await done.wait()
    #expect(log.entries == [1, 4, 9])
  }

  @Test("disposal drops waiting values")
  func disposal() {
    let (scheduler, log) = (TestScheduler(), Log<String>())
    let toast = SignalProducer<String, Never>(value: "Saved")
      .delay(3, on: scheduler)
      .start { log.append("\($0)") }
    toast.dispose()
    scheduler.run()
    #expect(log.entries == ["INTERRUPTED"])
  }

  @MainActor final class Screen {
    var text = ""
    func show(_ texts: Signal<String, Never>) {
      texts.observeValues(on: UIScheduler()) { self.text = $0 }
    }
  }

  @Test("a view model is shown what happens")
  @MainActor
  func mainActor() {
    let screen = Screen()
    let (texts, input) = Signal<String, Never>.pipe()
    screen.show(texts)
    input.send(value: "a")
    #expect(screen.text == "a")
  }

  @Test("an observer goes with its owner")
  func owner() {
    let meter = Meter()
    var gauge: Gauge? = Gauge(showing: meter)
    let shown = gauge?.shown
    meter.reading.value = 1
    gauge = nil
    meter.reading.value = 2
    #expect(shown?.entries == [0, 1])
  }

  @Test("the loss of the input is an interruption")
  func lostInput() {
    let log = Log<String>()
    do {
      let (signal, input) = Signal<Int, Never>.pipe()
      signal.observe { log.append("\($0)") }
      input.send(value: 1)
    }
    #expect(log.entries == ["VALUE 1", "INTERRUPTED"])
  }
}

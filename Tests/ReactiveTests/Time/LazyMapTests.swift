import Reactive
import Testing

@Suite("lazyMap")
struct LazyMapTests {
  @Test("the latest value is transformed when the scheduler gets to it, and only that")
  func latestOnly() {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal
      .lazyMap(on: scheduler) { (value: Int) -> Int in
        log.append("transform \(value)")
        return value * 10
      }
      .observe { log.append("\($0)") }
    input.send(value: 1)
    input.send(value: 2)
    #expect(log.entries.isEmpty)
    scheduler.advance()
    input.send(value: 3)
    input.sendCompleted()
    scheduler.advance()
    #expect(
      log.entries == ["transform 2", "VALUE 20", "transform 3", "VALUE 30", "COMPLETED"])
  }

  @Test("an interruption drops the value that waits")
  func interruption() {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.lazyMap(on: scheduler) { $0 * 10 }.observe { log.append("\($0)") }
    input.send(value: 1)
    input.sendInterrupted()
    scheduler.advance()
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("a producer's run that is disposed of transforms nothing more")
  func disposal() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    let (signal, input) = Signal<Int, Never>.pipe()
    let run = signal.producer.lazyMap(on: scheduler) { (value: Int) -> Int in
      log.append("transform \(value)")
      return value
    }.start { log.append("\($0)") }
    input.send(value: 1)
    run.dispose()
    scheduler.advance()
    #expect(log.entries == ["INTERRUPTED"])
  }
}

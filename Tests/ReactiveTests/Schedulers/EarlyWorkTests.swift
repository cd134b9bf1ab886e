import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// What another thread may do between two lines of an operator, done in between for certain.
@Suite("Work that is done before its disposable is there")
struct EarlyWorkTests {
  @Test("a new attempt goes on although it began before the wait for it was noted")
  func retry() {
    let scheduler = EarlyScheduler(earlyCount: 1)
    let (signal, input) = Signal<Int, TestError>.pipe()
    let attempts = Counter()
    let producer = SignalProducer<Int, TestError> { observer, lifetime in
      attempts.increment()
      if attempts.value == 1 {
        observer.send(error: .one)
      } else {
        lifetime += signal.observe(observer)
      }
    }
    let log = Log<String>()
    producer.retry(upTo: 1, interval: 1, on: scheduler).record(in: log)
    input.send(value: 1)
    #expect(log.entries == ["VALUE 1"])
  }

  @Test("a repetition goes on although its first turn came before it was noted")
  func repetition() {
    let scheduler = EarlyScheduler(earlyCount: 1)
    let turns = Counter()
    let repetition = scheduler.scheduleRepetition(
      after: scheduler.currentDate, interval: .seconds(1)
    ) { turns.increment() }
    scheduler.base.advance(by: 3)
    #expect(turns.value == 4)
    repetition.dispose()
    scheduler.base.advance(by: 3)
    #expect(turns.value == 4)
  }

  @Test("a value that comes while another one is delivered early is delivered, too")
  func throttleWhile() {
    let scheduler = EarlyScheduler(earlyCount: 1)
    let isThrottled = MutableProperty(true)
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    signal.throttle(while: isThrottled, on: scheduler).observeValues { value in
      log.append(value)
      if value == 1 { input.send(value: 2) }
    }
    input.send(value: 1)
    isThrottled.value = false
    scheduler.base.run()
    #expect(log.entries == [1, 2])
  }
}

/// Does the first work that it is given before it returns: a thread that was quicker.
private final class EarlyScheduler: DateScheduler {
  let base = TestScheduler()
  private let earlyCount: Atomic<Int>

  init(earlyCount: Int) { self.earlyCount = Atomic(earlyCount) }

  var currentDate: Date { base.currentDate }

  func schedule(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    schedule(after: currentDate, action: action)
  }

  func schedule(
    after date: Date, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    let isEarly = earlyCount.modify { count in
      count -= 1
      return count >= 0
    }
    guard isEarly else { return base.schedule(after: date, action: action) }
    action()
    return AnyDisposable()
  }

  func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval,
    action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? {
    scheduleRepetition(after: date, interval: interval, action)
  }
}

import Dispatch
import Reactive
import Testing

/// What crosses to a queue waits there in batches; these tests fill one while the queue is held.
@Suite("A batch on its way to a queue")
struct QueueHopTests {
  @Test("a batch is dropped from the value on at which the observer disposes of the run")
  func disposalInside() async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let observation = SerialDisposable()
    observation.inner = signal.observe(on: queue).observeValues { value in
      log.append(value)
      if value == 3 { observation.dispose() }
    }
    let done = Expectation()
    queue.queue.suspend()
    for number in 1...1000 { input.send(value: number) }
    queue.schedule { done.fulfill() }
    queue.queue.resume()
    await done.wait()
    #expect(log.entries == [1, 2, 3])
  }

  @Test("a batch releases its values, delivered or not", arguments: [1, 10_000])
  func release(_ count: Int) async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Counter, Never>.pipe()
    var observation = signal.observe(on: queue).take(first: count / 2 + 1)
      .observeValues { $0.increment() }
    let done = Expectation()
    weak let last: Counter? = {
      queue.queue.suspend()
      let last = Counter()
      for _ in 1..<count { input.send(value: Counter()) }
      input.send(value: last)
      queue.schedule { done.fulfill() }
      queue.queue.resume()
      return last
    }()
    await done.wait()
    observation?.dispose()
    observation = nil
    #expect(last == nil)
  }

  @Test("a batch lets values that its own delivery sends follow behind, in order")
  func recursion() async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let done = Expectation()
    signal.observe(on: queue).observeValues { value in
      log.append(value)
      if value < 100 { input.send(value: value + 100) }
      if value == 199 { done.fulfill() }
    }
    queue.queue.suspend()
    for number in 0..<100 { input.send(value: number) }
    queue.queue.resume()
    await done.wait()
    #expect(log.entries == Array(0..<200))
  }

  @Test("a batch lets in an observer that comes from another thread before it is through")
  func newcomer() async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let crossed = signal.observe(on: queue)
    let (began, mayGoOn) = (Expectation(), DispatchSemaphore(value: 0))
    crossed.observeValues { value in
      guard value == 0 else { return }
      began.fulfill()
      mayGoOn.wait()
    }
    queue.queue.suspend()
    for number in 0..<100_000 { input.send(value: number) }
    queue.queue.resume()
    await began.wait()
    let heard = Counter()
    let done = Expectation()
    crossed.observeValues { value in
      heard.increment()
      if value == 99_999 { done.fulfill() }
    }
    mayGoOn.signal()
    await done.wait()
    #expect(heard.value > 99_000)
  }
}

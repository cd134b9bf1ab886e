import Dispatch
import Reactive
import Testing

@Suite("Side effects by event")
struct SideEffectTests {
  /// Notes what `on` calls.
  private func noting<Value, Error>(
    _ producer: SignalProducer<Value, Error>, in log: Log<String>
  ) -> SignalProducer<Value, Error> {
    producer.on(
      starting: { log.append("starting") }, started: { log.append("started") },
      event: { log.append("event \($0)") }, failed: { log.append("failed \($0)") },
      completed: { log.append("completed") }, interrupted: { log.append("interrupted") },
      terminated: { log.append("terminated") }, disposed: { log.append("disposed") },
      value: { log.append("value \($0)") })
  }

  @Test("side effects are called around each event, in a fixed order, before it is passed on")
  func order() {
    let log = Log<String>()
    noting(SignalProducer<Int, Never>([1]), in: log).start { log.append("got \($0)") }
    #expect(
      log.entries == [
        "starting", "event VALUE 1", "value 1", "got VALUE 1", "event COMPLETED", "completed",
        "terminated", "got COMPLETED", "disposed", "started",
      ])
  }

  @Test("side effects are called for a failure")
  func failure() {
    let log = Log<String>()
    noting(SignalProducer<Int, TestError>(error: .one), in: log).start()
    #expect(
      log.entries == [
        "starting", "event FAILED one", "failed one", "terminated", "disposed", "started",
      ])
  }

  @Test("side effects are called for the interruption of a run that is disposed of")
  func interruption() {
    let log = Log<String>()
    noting(SignalProducer<Int, Never>.never, in: log).start().dispose()
    #expect(
      log.entries == [
        "starting", "started", "event INTERRUPTED", "interrupted", "terminated", "disposed",
      ])
  }

  @Test("side effects are called with an interruption when the operators behind have had enough")
  func enough() {
    let log = Log<String>()
    SignalProducer<Int, Never>([1, 2, 3])
      .on(
        completed: { log.append("completed") }, interrupted: { log.append("interrupted") },
        value: { log.append("value \($0)") }
      )
      .take(first: 1)
      .start { log.append("got \($0)") }
    #expect(log.entries == ["value 1", "got VALUE 1", "got COMPLETED", "interrupted"])
  }

  @Test("side effects are called once for an event, however many observers there are")
  func severalObservers() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    let noted = signal.on(value: { log.append("value \($0)") })
    noted.observeValues { log.append("first \($0)") }
    noted.observeValues { log.append("second \($0)") }
    input.send(value: 1)
    #expect(log.entries == ["value 1", "first 1", "second 1"])
  }

  @Test("side effects happen for a signal that is held, and end with its last holder")
  func heldSignal() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    var noted: Signal<Int, Never>? = signal.on(
      disposed: { log.append("disposed") }, value: { log.append("value \($0)") })
    input.send(value: 1)
    withExtendedLifetime(noted) {}
    noted = nil
    input.send(value: 2)
    #expect(log.entries == ["value 1", "disposed"])
  }

  @Test("side effects release what they captured at the end")
  func release() {
    let (signal, input) = Signal<Int, Never>.pipe()
    weak let counter: Counter? = {
      let counter = Counter()
      signal.on(value: { _ in counter.increment() }).observeCompleted {}
      return counter
    }()
    input.send(value: 1)
    #expect(counter?.value == 1)
    input.sendCompleted()
    #expect(counter == nil)
  }
}

@Suite("Logging of events")
struct LogEventsTests {
  private func logger(_ log: Log<String>) -> EventLogger {
    { identifier, event, file, function, line in
      log.append("\(identifier): \(event)")
      #expect(file.hasSuffix("SideEffectTests.swift") && !function.isEmpty && line > 0)
    }
  }

  @Test("logging writes all events by default")
  func all() {
    let log = Log<String>()
    SignalProducer<Int, Never>([7]).logEvents(identifier: "seven", logger: logger(log)).start()
    #expect(
      log.entries == [
        "seven: starting", "seven: value 7", "seven: completed", "seven: terminated",
        "seven: disposed", "seven: started",
      ])
  }

  @Test("logging writes only the requested events")
  func some() {
    let log = Log<String>()
    let (signal, input) = Signal<Void, TestError>.pipe()
    signal.logEvents(identifier: "s", events: [.value, .failed], logger: logger(log))
      .observeFailed { _ in }
    input.send(value: ())
    input.send(error: .two)
    #expect(log.entries == ["s: value", "s: failed two"])
  }
}

@Suite("Waiting with a blocked thread", .ownThread)
struct BlockingTests {
  @Test("first gives the first value, the failure, or nothing")
  func first() {
    #expect(SignalProducer<Int, TestError>([1, 2]).first() == .success(1))
    #expect(SignalProducer<Int, TestError>(error: .one).first() == .failure(.one))
    #expect(SignalProducer<Int, TestError>.empty.first() == nil)
  }

  @Test("single gives the only value, and nothing if there are two")
  func single() {
    #expect(SignalProducer<Int, TestError>(value: 1).single() == .success(1))
    #expect(SignalProducer<Int, TestError>([1, 2]).single() == nil)
    #expect(SignalProducer<Int, TestError>(error: .one).single() == .failure(.one))
    #expect(SignalProducer<Int?, Never>([nil]).single() == .success(nil))
  }

  @Test("last and wait run to the end")
  func last() {
    #expect(SignalProducer<Int, TestError>([1, 2]).last() == .success(2))
    #expect(SignalProducer<Int, TestError>.empty.last() == nil)
    let failing = SignalProducer<Int, TestError>([1, 2])
      .concat(SignalProducer<Int, TestError>(error: .two))
    #expect(throws: TestError.two) { try failing.wait().get() }
    #expect(throws: Never.self) { try SignalProducer<Int, TestError>([1, 2]).wait().get() }
  }

  @Test("a blocking call waits for another thread, and leaves the run when it has its result")
  func otherThread() {
    let left = DispatchSemaphore(value: 0)
    let producer = SignalProducer<Int, Never> { observer, lifetime in
      lifetime.observeEnded { left.signal() }
      let repetition = QueueScheduler(name: "background").schedule {
        observer.send(value: 1)
        observer.send(value: 2)
      }
      lifetime += repetition
    }
    #expect(producer.first() == .success(1))
    // The run is left after its end has been delivered, by the thread that delivers it.
    #expect(left.wait(timeout: .now() + 20) == .success)
  }
}

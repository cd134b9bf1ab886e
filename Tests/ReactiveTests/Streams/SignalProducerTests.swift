import Reactive
import Testing

@Suite("SignalProducer")
struct SignalProducerTests {
  @Test("every start is a run of its own")
  func runs() {
    let counter = Counter()
    let producer = SignalProducer<Int, Never> { observer, _ in
      counter.increment()
      observer.send(value: counter.value)
      observer.sendCompleted()
    }
    #expect(producer.recorded == ["VALUE 1", "COMPLETED"])
    #expect(producer.recorded == ["VALUE 2", "COMPLETED"])
  }

  @Test("disposing of a run interrupts it, and ends its lifetime after that")
  func interruption() {
    let log = Log<String>()
    let disposable = SignalProducer<Int, Never> { observer, lifetime in
      lifetime.observeEnded { log.append("ended") }
      observer.send(value: 1)
    }
    .map { $0 + 1 }.record(in: log)
    disposable.dispose()
    disposable.dispose()
    #expect(log.entries == ["VALUE 2", "INTERRUPTED", "ended"])
  }

  @Test("a run whose input and disposable are lost is interrupted")
  func lostInput() {
    let log = Log<String>()
    SignalProducer<Int, Never> { observer, _ in observer.send(value: 1) }.record(in: log)
    #expect(log.entries == ["VALUE 1", "INTERRUPTED"])
  }

  @Test("a run whose disposable is held waits, though its handler let the input go")
  func heldDisposable() {
    let log = Log<String>()
    let disposable = SignalProducer<Int, Never> { _, _ in }.record(in: log)
    #expect(log.entries == [])
    disposable.dispose()
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("a chain that ends early stops its source")
  func earlyEnd() {
    let counter = Counter()
    let producer = SignalProducer<Int, Never>(0..<1_000_000)
      .map { value in
        counter.increment()
        return value
      }
      .take(first: 3)
    #expect(producer.recorded == ["VALUE 0", "VALUE 1", "VALUE 2", "COMPLETED"])
    #expect(counter.value == 3)
  }

  @Test("startWithSignal starts after its setup, and not streams that were interrupted in it")
  func startWithSignal() {
    let log = Log<String>()
    let producer = SignalProducer<Int, Never> { observer, _ in
      log.append("started")
      observer.sendCompleted()
    }
    producer.startWithSignal { signal, _ in
      signal.record(in: log)
      log.append("set up")
    }
    #expect(log.entries == ["set up", "started", "COMPLETED"])
    producer.startWithSignal { signal, handle in
      signal.record(in: log)
      handle.dispose()
    }
    #expect(log.entries == ["set up", "started", "COMPLETED", "INTERRUPTED"])
  }

  @Test("a never producer stays until it is disposed of")
  func never() {
    let log = Log<String>()
    let disposable = SignalProducer<Int, Never>.never.record(in: log)
    #expect(log.entries == [])
    disposable.dispose()
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("a producer of a signal follows it, and lets go when disposed of")
  func ofSignal() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    let disposable = signal.producer.record(in: log)
    input.send(value: 1)
    disposable.dispose()
    input.send(value: 2)
    #expect(log.entries == ["VALUE 1", "INTERRUPTED"])
  }

  @Test("results, errors and throwing actions become their events")
  func results() {
    #expect(Result<Int, TestError>.success(1).producer.recorded == ["VALUE 1", "COMPLETED"])
    #expect(SignalProducer<Int, TestError>(error: .two).recorded == ["FAILED two"])
    #expect(SignalProducer<Int, any Error> { throw TestError.one }.recorded == ["FAILED one"])
    #expect(SignalProducer<Int, Never>.empty.recorded == ["COMPLETED"])
  }
}

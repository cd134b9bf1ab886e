import Reactive
import Testing

/// Streams of one value are flattened without being started, which must not be observable.
@Suite("Flattened singles")
struct FlattenSinglesTests {
  typealias Producer = SignalProducer<Int, Never>

  @Test(
    "every strategy passes all singles and completes",
    arguments: [FlattenStrategy.merge, .concat, .concurrent(limit: 2), .latest, .throttle])
  func everyStrategy(_ strategy: FlattenStrategy) {
    let log = Producer(1...3).flatMap(strategy) { Producer(value: $0 * 10) }.recorded
    #expect(log == ["VALUE 10", "VALUE 20", "VALUE 30", "COMPLETED"])
  }

  @Test("the first single wins the race, and the race is over")
  func race() {
    #expect(
      Producer(1...3).flatMap(.race) { Producer(value: $0) }.recorded == ["VALUE 1", "COMPLETED"])
  }

  @Test("a race is won and not over while the outer stream can fail")
  func raceGoesOn() {
    let (outer, input) = Signal<SignalProducer<Int, TestError>, TestError>.pipe()
    let log = Log<String>()
    outer.flatten(.race).record(in: log)
    input.send(value: SignalProducer(value: 1))
    input.send(value: SignalProducer(value: 2))
    #expect(log.entries == ["VALUE 1"])
    input.send(error: .one)
    #expect(log.entries == ["VALUE 1", "FAILED one"])
  }

  @Test("a single that wins a race disposes of those that are running")
  func raceDisposes() {
    let disposals = Log<String>()
    let slow = Producer.never.on(disposed: { disposals.append("disposed") })
    let log = SignalProducer<Producer, Never>([slow, Producer(value: 1)]).flatten(.race).recorded
    #expect(log == ["VALUE 1", "COMPLETED"])
    #expect(disposals.entries == ["disposed"])
  }

  @Test("singles that wait behind a running stream follow it, and then all is complete")
  func waiting() {
    let (first, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    SignalProducer<Producer, Never>([first.producer, Producer(value: 2), Producer(value: 3)])
      .flatten(.concat).record(in: log)
    #expect(log.entries == [])
    input.send(value: 1)
    input.sendCompleted()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("singles that wait behind one that ends while it starts follow it")
  func waitingBehindSynchronous() {
    let log = SignalProducer<Producer, Never>([Producer([1, 2]), Producer(value: 3)])
      .flatten(.concat).recorded
    #expect(log == ["VALUE 1", "VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("a single takes the place of the latest stream, which is disposed of")
  func latest() {
    let (outer, outerInput) = Signal<Producer, Never>.pipe()
    let (running, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    outer.flatten(.latest).record(in: log)
    outerInput.send(value: running.producer)
    input.send(value: 1)
    outerInput.send(value: Producer(value: 2))
    input.send(value: 3)
    outerInput.sendCompleted()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "COMPLETED"])
  }

  @Test("when the run is over, singles that wait are passed nowhere")
  func interruptedWhileWaiting() {
    let (first, input) = Signal<Int, Never>.pipe()
    let seen = Log<Int>()
    let log = SignalProducer<Producer, Never>([first.producer, Producer(value: 2), .init(value: 3)])
      .flatten(.concat).on(value: { seen.append($0) }).take(first: 1)
    let events = Log<String>()
    log.record(in: events)
    input.sendCompleted()
    #expect(events.entries == ["VALUE 2", "COMPLETED"])
    #expect(seen.entries == [2])
  }

  @Test("a single that is sent while another is delivered comes after it")
  func recursion() {
    let (outer, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    outer.flatMap(.concat) { Producer(value: $0) }.observeValues { value in
      log.append("in \(value)")
      if value < 3 { input.send(value: value + 1) }
      log.append("out \(value)")
    }
    input.send(value: 1)
    #expect(log.entries == ["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"])
  }
}

import Reactive
import Testing

@Suite("group(by:)")
struct GroupByTests {
  @Test("a stream is grouped by key, each group with its first value and all that follow")
  func groups() {
    let log = Log<String>()
    SignalProducer<Int, Never>(1...6).group { $0 % 3 }.startWithValues { group in
      log.append("group \(group.key)")
      let key = group.key
      group.signal.observe { log.append("\(key): \($0)") }
    }
    #expect(
      log.entries == [
        "group 1", "1: VALUE 1", "group 2", "2: VALUE 2", "group 0", "0: VALUE 3",
        "1: VALUE 4", "2: VALUE 5", "0: VALUE 6",
        "1: COMPLETED", "2: COMPLETED", "0: COMPLETED",
      ])
  }

  @Test("all values are kept when the groups are merged again")
  func merged() {
    let sums = SignalProducer<Int, Never>(1...9).group { $0 % 2 == 0 }
      .flatMap(.merge) { group in
        group.signal.producer.scan(0, +).map { "\(group.key ? "even" : "odd") \($0)" }
      }
    #expect(
      sums.recorded == [
        "VALUE odd 1", "VALUE even 2", "VALUE odd 4", "VALUE even 6", "VALUE odd 9",
        "VALUE even 12", "VALUE odd 16", "VALUE even 20", "VALUE odd 25", "COMPLETED",
      ])
  }

  @Test("groups fail with the stream, and are interrupted with it")
  func ends() {
    for (end, name) in [
      (Termination.failed(TestError.one), "FAILED one"), (.interrupted, "INTERRUPTED"),
    ] {
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      signal.group { $0 }.observe { event in
        event.value?.signal.observe { log.append("group \($0)") }
        if event.isTerminating { log.append("end") }
      }
      input.send(value: 1)
      input.terminate(end)
      #expect(log.entries == ["group VALUE 1", "group \(name)", "end"])
    }
  }

  @Test("groups end when the stream of groups has no observers any more")
  func release() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let ends = Counter()
    weak let counter: Counter? = {
      let counter = Counter()
      let observation = signal.group { $0 }.observeValues { group in
        group.signal.observeInterrupted { ends.increment() }
        group.signal.observeValues { _ in counter.increment() }
      }
      input.send(value: 1)
      #expect(counter.value == 1)
      observation?.dispose()
      return counter
    }()
    input.send(value: 1)
    #expect(ends.value == 1)
    #expect(counter == nil)
  }
}

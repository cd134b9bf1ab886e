import Reactive
import Testing

@Suite("replayPipe")
struct ReplayPipeTests {
  @Test("a start gets the past, as far as it is kept, and then what comes")
  func replay() {
    let (output, input) = SignalProducer<Int, Never>.replayPipe(upTo: 2)
    for value in 1...3 { input.send(value: value) }
    let log = Log<String>()
    output.record(in: log)
    #expect(log.entries == ["VALUE 2", "VALUE 3"])
    input.send(value: 4)
    input.sendCompleted()
    #expect(log.entries == ["VALUE 2", "VALUE 3", "VALUE 4", "COMPLETED"])
    #expect(output.recorded == ["VALUE 3", "VALUE 4", "COMPLETED"])
  }

  @Test("a replay keeps all past events, unless it is limited", arguments: [0, 1, 100])
  func capacity(_ count: Int) {
    let (output, input) = SignalProducer<Int, Never>.replayPipe()
    for value in 0..<count { input.send(value: value) }
    input.sendCompleted()
    #expect(output.recorded == (0..<count).map { "VALUE \($0)" } + ["COMPLETED"])
  }

  @Test("the loss of the input is an interruption, for late starts too")
  func lostInput() {
    let output = SignalProducer<Int, Never>.replayPipe().output
    #expect(output.recorded == ["INTERRUPTED"])
  }

  @Test("values are released with the pipe, and an observer with its run")
  func release() {
    weak let value: Counter? = {
      let value = Counter()
      let (output, input) = SignalProducer<Counter, Never>.replayPipe()
      input.send(value: value)
      weak let captured: Counter? = {
        let captured = Counter()
        output.startWithValues { _ in captured.increment() }.dispose()
        return captured
      }()
      #expect(captured == nil)
      return value
    }()
    #expect(value == nil)
  }
}

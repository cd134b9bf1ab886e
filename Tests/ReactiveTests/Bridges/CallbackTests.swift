import Reactive
import Synchronization
import Testing

/// An object as many interfaces have them: weak delegate, listeners, one-shot completions.
private final class Doorbell: Sendable {
  protocol Delegate: AnyObject, Sendable {
    func doorbell(_ doorbell: Doorbell, didRing times: Int)
  }

  private struct State {
    weak var delegate: (any Delegate)?
    var listeners = Bag<@Sendable (Int) -> Void>()
    var answers: [@Sendable (Result<Int, TestError>) -> Void] = []
  }
  private let state = Mutex(State())
  let cancelled = Counter()

  var delegate: (any Delegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  var listenerCount: Int { state.withLock { $0.listeners.count } }

  func ring(times: Int) {
    let (delegate, listeners) = state.withLock { ($0.delegate, $0.listeners) }
    delegate?.doorbell(self, didRing: times)
    for listener in listeners { listener(times) }
  }

  func addListener(_ listener: @escaping @Sendable (Int) -> Void) -> any Disposable {
    let token = state.withLock { $0.listeners.insert(listener) }
    return AnyDisposable { [weak self] in
      _ = self?.state.withLock { $0.listeners.remove(using: token) }
    }
  }

  func ask(_ answer: @escaping @Sendable (Result<Int, TestError>) -> Void) {
    state.withLock { $0.answers.append(answer) }
  }

  func answer(_ result: Result<Int, TestError>) {
    let answers = state.withLock { state in
      defer { state.answers = [] }
      return state.answers
    }
    for answer in answers { answer(result) }
  }
}

private final class Reporter: Doorbell.Delegate {
  private let observer: Signal<Int, Never>.Observer

  init(reportingTo observer: Signal<Int, Never>.Observer) {
    self.observer = observer
  }

  func doorbell(_ doorbell: Doorbell, didRing times: Int) {
    observer.send(value: times)
  }
}

@Suite("Interfaces that call back, as producers")
struct CallbackTests {
  private func answers(of bell: Doorbell) -> SignalProducer<Int, TestError> {
    SignalProducer(callback: { done in
      bell.ask(done)
      return AnyDisposable { bell.cancelled.increment() }
    })
  }

  @Test("a callback is one value, or a failure; what it is called with later is ignored")
  func callback() {
    let bell = Doorbell()
    let log = Log<String>()
    answers(of: bell).record(in: log)
    bell.answer(.success(1))
    answers(of: bell).record(in: log)
    bell.answer(.failure(.one))
    #expect(log.entries == ["VALUE 1", "COMPLETED", "FAILED one"])
    let twice = SignalProducer<Int, TestError>(callback: { done in
      done(.success(1))
      done(.success(2))
      return nil
    })
    #expect(twice.recorded == ["VALUE 1", "COMPLETED"])
  }

  @Test("a run that is disposed of cancels the call, and its late answer goes nowhere")
  func cancellation() {
    let bell = Doorbell()
    let log = Log<String>()
    let run = answers(of: bell).record(in: log)
    run.dispose()
    #expect(bell.cancelled.value == 1)
    bell.answer(.success(1))
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("each run has a listener, taken out when the run is disposed of")
  func listener() {
    let bell = Doorbell()
    let rings = SignalProducer<Int, Never>(listener: { bell.addListener($0) })
    let log = Log<String>()
    let runs = [rings.record(in: log), rings.take(first: 1).record(in: log)]
    bell.ring(times: 1)
    #expect(bell.listenerCount == 1)
    bell.ring(times: 2)
    runs[0].dispose()
    #expect(bell.listenerCount == 0)
    #expect(log.entries == ["VALUE 1", "VALUE 1", "COMPLETED", "VALUE 2", "INTERRUPTED"])
  }

  @Test("a delegate is kept while the run lasts, then taken away and released")
  func delegate() {
    let bell = Doorbell()
    let rings = SignalProducer<Int, Never>(
      delegate: { Reporter(reportingTo: $0) },
      attach: { bell.delegate = $0 },
      detach: { _ in bell.delegate = nil })
    let log = Log<String>()
    let run = rings.record(in: log)
    weak let delegate = bell.delegate
    bell.ring(times: 3)
    #expect(log.entries == ["VALUE 3"])
    #expect(delegate != nil)
    run.dispose()
    #expect(delegate == nil)
    bell.ring(times: 4)
    #expect(log.entries == ["VALUE 3", "INTERRUPTED"])
  }

  @Test("nothing that a run captured outlives it")
  func release() {
    let bell = Doorbell()
    var run: (any Disposable)?
    weak let counter: Counter? = {
      let counter = Counter()
      run = SignalProducer<Int, Never>(listener: { bell.addListener($0) })
        .startWithValues { _ in counter.increment() }
      return counter
    }()
    bell.ring(times: 1)
    #expect(counter?.value == 1)
    run?.dispose()
    #expect(counter == nil)
  }
}

import Reactive
import Testing

@testable import ReactiveAppCode

/// That the app's code compiles is most of the test: it is in Swift 5 mode, and nothing in it was
/// written for this library in particular.
@Suite("An app that was written for ReactiveSwift")
struct ReactiveAppTests {
  private final class Service: AccountService {
    var pending: [(Result<String, SignInError>) -> Void] = []

    func signIn(
      name: String, password: String,
      completion: @escaping (Result<String, SignInError>) -> Void
    ) {
      if password == "wrong wrong" {
        completion(.failure(.wrongPassword))
      } else {
        pending.append(completion)
      }
    }

    func isTaken(name: String, completion: @escaping (Bool) -> Void) {
      completion(name.hasPrefix("ann"))
    }
  }

  @Test("the app's view model validates, enables, executes and greets")
  func viewModel() {
    let service = Service()
    let scheduler = TestScheduler()
    let model = SignInViewModel(service: service, scheduler: scheduler)
    let reasons = Log<String?>()
    model.reasons.observeValues { reasons.append($0) }
    #expect(!model.signIn.isEnabled.value)

    model.name.value = "ann"
    model.name.value = "ann@example.org"
    #expect(reasons.entries == ["no such address", nil])
    scheduler.advance(by: 0.3)
    #expect(model.isNameTaken.value)

    model.password.value = "wrong wrong"
    #expect(model.signIn.isEnabled.value)
    let log = Log<String>()
    model.signIn.errors.observeValues { log.append("\($0)") }
    model.signIn.apply().start()
    model.password.value = "right right"
    model.signIn.apply().start()
    #expect(!model.signIn.isEnabled.value)
    service.pending.forEach { $0(.success("Ann")) }
    #expect(model.signIn.isEnabled.value)
    #expect(model.greeting.value == "Hello Ann")
    #expect(log.entries == ["wrongPassword"])
    #expect(model.attempts == 2)
    #expect(model.edits == 2)
  }

  @Test("the app's views take bindings, as long as they live")
  func views() {
    let text = MutableProperty<String?>("first")
    var label: Label? = Label()
    weak let released = label
    label?.reactive.text <~ text
    label?.reactive.isHidden <~ text.signal.map { $0 == nil }
    #expect(label?.text == "first")
    text.value = nil
    #expect(label?.text == nil)
    #expect(label?.isHidden == true)
    label = nil
    #expect(released == nil)
    text.value = "second"
  }

  @Test("the app's scheduler performs the library's work")
  func scheduler() {
    let scheduler = StepScheduler()
    let log = Log<String>()
    SignalProducer<Int, Never>([1, 2]).observe(on: scheduler).record(in: log)
    #expect(log.entries.isEmpty)
    scheduler.step()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "COMPLETED"])
  }

  @Test("the app's operators keep their state in captured variables")
  func operators() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let means = Log<Double>()
    signal.runningMean().observeValues { means.append($0) }
    for value in [1, 2, 6] { input.send(value: value) }
    #expect(means.entries == [1, 1.5, 3])

    let diary = Diary()
    let counts = Log<Int>()
    diary.follow("n", SignalProducer([5, 6]).counting { counts.append($0) })
    diary.stop()
    #expect(diary.lines == ["n: 5", "n: 6", "n started"])
    #expect(counts.entries == [1, 2])
  }
}

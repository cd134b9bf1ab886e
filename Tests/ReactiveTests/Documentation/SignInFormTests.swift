import Reactive
import Testing

@testable import ReactiveSignInForm

// The listings of SignInForm.md that aren't in Examples/SignInForm.

@Suite("The page that builds a sign-in form")
struct SignInFormTests {
  private let scheduler = TestScheduler()

  /// A form whose server takes two seconds.
  private func makeForm() -> SignInForm {
    let scheduler = scheduler
    return SignInForm(
      authenticate: { credentials in
        SignalProducer(value: credentials)
          .delay(2, on: scheduler)
          .attemptMap { credentials in
            credentials.password == "open sesame" ? .success("Ann") : .failure(.wrongPassword)
          }
      },
      scheduler: scheduler)
  }

  private func fillIn(_ form: SignInForm, password: String) {
    form.email.value = "ann@example.org"
    form.password.value = password
  }

  @Test("a signal sends to its observers, and only from then on")
  func signal() {
    let (presses, input) = Signal<String, Never>.pipe()
    input.send(value: "nobody hears this")

    let log = Log<String>()
    presses.observeValues { log.append($0) }
    input.send(value: "a")
    input.send(value: "b")
    #expect(log.entries == ["a", "b"])
  }

  @Test("a producer works once for each start")
  func producer() {
    let calls = Counter()
    let answer = SignalProducer<Int, Never> { observer, _ in
      calls.increment()
      observer.send(value: 42)
      observer.sendCompleted()
    }
    #expect(calls.value == 0)

    let log = Log<String>()
    answer.start { event in log.append("\(event)") }
    answer.start()
    #expect(calls.value == 2)
    #expect(log.entries == ["VALUE 42", "COMPLETED"])
  }

  @Test("a property has a value, and sends its changes")
  func property() {
    let email = MutableProperty("")
    let isValid = email.map { $0.contains("@") }
    #expect(isValid.value == false)

    let log = Log<Bool>()
    isValid.producer.startWithValues { log.append($0) }
    email.value = "ann"
    email.value = "ann@example.org"
    #expect(log.entries == [false, false, true])
    #expect(isValid.value)
  }

  @Test("the button is enabled when both fields are valid")
  func enablement() {
    let form = makeForm()
    let isButtonEnabled = MutableProperty(true)
    isButtonEnabled <~ form.signIn.isEnabled
    #expect(!isButtonEnabled.value)

    form.email.value = "ann@example.org"
    #expect(!isButtonEnabled.value)
    form.password.value = "open sesame"
    #expect(isButtonEnabled.value)
    form.email.value = "ann"
    #expect(!isButtonEnabled.value)
  }

  @Test("the hint waits until the typing pauses")
  func hint() {
    let form = makeForm()
    form.email.value = "a"
    scheduler.advance(by: 0.4)
    form.email.value = "an"
    scheduler.advance(by: 0.4)
    #expect(form.hint.value == nil)
    scheduler.advance(by: 0.1)
    #expect(form.hint.value == "An address has an @ in it.")

    form.email.value = "ann@example.org"
    scheduler.advance(by: 0.5)
    #expect(form.hint.value == nil)
  }

  @Test("the action is disabled while it executes")
  func execution() {
    let form = makeForm()
    fillIn(form, password: "open sesame")
    let names = Log<String>()
    form.signIn.values.observeValues { names.append($0) }

    form.submit()
    #expect(form.signIn.isExecuting.value)
    #expect(!form.signIn.isEnabled.value)
    form.submit()  // Too fast: nothing happens.

    scheduler.advance(by: 2.0)
    #expect(names.entries == ["Ann"])
    #expect(form.signIn.isEnabled.value)
  }

  @Test("a failure is shown until the next attempt")
  func failure() {
    let form = makeForm()
    fillIn(form, password: "wrong password")
    form.submit()
    scheduler.advance(by: 2.0)
    #expect(form.message.value == "This is not the password.")

    form.password.value = "open sesame"
    form.submit()
    #expect(form.message.value == nil)
  }

  @Test("a server that is silent for ten seconds is given up")
  func silence() {
    let form = SignInForm(authenticate: { _ in .never }, scheduler: scheduler)
    fillIn(form, password: "open sesame")
    form.submit()
    scheduler.advance(by: 9.9)
    #expect(form.message.value == nil)
    scheduler.advance(by: 0.1)
    #expect(form.message.value == "The server does not answer.")
    #expect(form.signIn.isEnabled.value)
  }

  @Test("an attempt that finds the action disabled fails, and is reported")
  func disabled() {
    let form = makeForm()
    let log = Log<String>()
    form.signIn.disabledErrors.observeValues { log.append("disabled") }
    form.signIn.apply(Credentials(email: "", password: "")).start { event in log.append("\(event)")
    }
    #expect(log.entries == ["FAILED disabled", "disabled"])
  }

  @Test("nothing keeps the form")
  func retention() {
    weak var released: SignInForm?
    do {
      let form = makeForm()
      fillIn(form, password: "open sesame")
      form.submit()
      scheduler.advance(by: 5.0)
      released = form
    }
    #expect(released == nil)
  }
}

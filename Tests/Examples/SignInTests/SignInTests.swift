import Binding
import Foundation
import Reactive
import Testing

@testable import sign_in

/// One account, which answers after a second of the test's.
private struct OneAccount: Accounts {
  var scheduler = TestScheduler()

  func signIn(email: String, password: String) -> SignalProducer<String, SignInError> {
    SignalProducer(value: "Ann").delay(1, on: scheduler)
  }
}

@Suite("The sign-in form")
@MainActor
struct SignInTests {
  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Examples/SignIn/Site/index.html")

  @Test("the sign-in form works as the documentation describes")
  func documentation() throws {
    let scheduler = TestScheduler()
    let form = SignIn(accounts: OneAccount(scheduler: scheduler), scheduler: scheduler)
    form.email.value = "ann"
    scheduler.advance(by: 0.5)
    #expect(form.emailHint.value == "An address has an @ in it.")
    form.email.value = "ann@example.org"
    form.password.value = "open sesame"
    #expect(form.signIn.isEnabled.value)
    form.signIn.apply().start()
    #expect(!form.signIn.isEnabled.value, "once is enough")
    scheduler.advance(by: 1)
    #expect(form.name.value == "Ann")
    #expect(form.password.value == "")
  }

  @Test("the sign-in form has a page that names only declared values")
  func page() throws {
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(SignIn.problems(inPage: page, named: "index.html") == [])
  }

  @Test("the sign-in form shows no hint while the user types, nor for an empty field")
  func hints() {
    let scheduler = TestScheduler()
    let form = SignIn(accounts: OneAccount(scheduler: scheduler), scheduler: scheduler)
    form.password.value = "short"
    scheduler.advance(by: 0.4)
    #expect(form.passwordHint.value == nil)
    scheduler.advance(by: 0.1)
    #expect(form.passwordHint.value == "A password has at least eight characters.")
    form.password.value = ""
    scheduler.advance(by: 0.5)
    #expect(form.passwordHint.value == nil)
  }

  @Test("the sign-in form signs the user out again, and shows when the server is silent")
  func signingOut() {
    struct Silent: Accounts {
      func signIn(email: String, password: String) -> SignalProducer<String, SignInError> {
        .never
      }
    }
    let scheduler = TestScheduler()
    let form = SignIn(accounts: Silent(), scheduler: scheduler)
    form.email.value = "ann@example.org"
    form.password.value = "open sesame"
    let error = MutableProperty<SignInError?>(nil)
    error <~ form.signIn.errors
    form.signIn.apply().start()
    scheduler.advance(by: 10)
    #expect(error.value == .noAnswer)
    #expect(form.signIn.isEnabled.value)

    let other = SignIn(accounts: OneAccount(scheduler: scheduler), scheduler: scheduler)
    other.email.value = "ann@example.org"
    other.password.value = "open sesame"
    other.signIn.apply().start()
    scheduler.advance(by: 1)
    #expect(!other.isSignedOut.value)
    other.signOut.apply().start()
    #expect(other.isSignedOut.value && other.name.value == nil)
  }
}

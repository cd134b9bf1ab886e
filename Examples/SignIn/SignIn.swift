import Binding
import Reactive

/// A form with two fields, and a button that works when both are right and while nothing is under way:
/// the view model. It knows no view, no server and no clock.
final class SignIn: ViewModel {
  let email = MutableProperty("")
  let password = MutableProperty("")

  /// The remark about the address when its user pauses while typing it.
  let emailHint: Property<String?>
  /// The remark about the password when its user pauses while typing it.
  let passwordHint: Property<String?>

  /// The signed-in user.
  let name: Property<String?>
  let isSignedOut: Property<Bool>

  let signIn: Action<Void, String, SignInError>
  let signOut: Action<Void, Never, Never>

  static let bindings: Bindings<SignIn> = [
    "email": .twoWay(\.email),
    "password": .twoWay(\.password),
    "emailHint": .oneWay(\.emailHint),
    "passwordHint": .oneWay(\.passwordHint),
    "name": .oneWay(\.name),
    "isSignedOut": .oneWay(\.isSignedOut),
    "signIn": .action(\.signIn, error: \.text),
    "signOut": .action(\.signOut),
  ]

  init(accounts: some Accounts, scheduler: any DateScheduler) {
    let isEmailValid = email.map { $0.contains("@") }
    let isPasswordValid = password.map { $0.count >= 8 }
    let isComplete = isEmailValid.and(isPasswordValid)

    let hint = { (field: MutableProperty<String>, isValid: Property<Bool>, text: String) in
      Property(
        initial: nil,
        then: field.signal.debounce(0.5, on: scheduler)
          .map { $0.isEmpty || isValid.value ? nil : text })
    }
    emailHint = hint(email, isEmailValid, "An address has an @ in it.")
    passwordHint = hint(password, isPasswordValid, "A password has at least eight characters.")

    let (email, password) = (email, password)
    signIn = Action(enabledIf: isComplete) {
      accounts.signIn(email: email.value, password: password.value)
        .timeout(after: 10, raising: .noAnswer, on: scheduler)
    }
    signOut = Action { .empty }
    name = Property(
      initial: nil,
      then: Signal<String?, Never>.merge(
        signIn.values.map { $0 }, signOut.completed.map { _ in nil }))
    isSignedOut = name.map { $0 == nil }
    // What was typed is no one else's to see.
    password <~ signIn.values.map { _ in "" }
  }
}

import Reactive

struct Credentials: Sendable, Equatable {
  var email: String
  var password: String
}

enum SignInError: Error, Equatable {
  case wrongPassword
  case noAnswer

  var text: String {
    switch self {
    case .wrongPassword: "This is not the password."
    case .noAnswer: "The server does not answer."
    }
  }
}

/// The logic of a sign-in form. It knows no view, no server and no clock.
final class SignInForm: Sendable {
  let email = MutableProperty("")
  let password = MutableProperty("")

  let isEmailValid: Property<Bool>
  let isPasswordValid: Property<Bool>
  let isComplete: Property<Bool>

  /// The remark about the address while it is being typed.
  let hint: Property<String?>

  /// Sends the name of the user that has signed in.
  let signIn: Action<Credentials, String, SignInError>

  /// Why it did not work.
  let message: Property<String?>

  init(
    authenticate: @escaping @Sendable (Credentials) -> SignalProducer<String, SignInError>,
    scheduler: any DateScheduler
  ) {
    isEmailValid = email.map { $0.contains("@") }
    isPasswordValid = password.map { $0.count >= 8 }
    isComplete = isEmailValid.and(isPasswordValid)

    hint = Property(
      initial: nil,
      then: isEmailValid.producer
        .skip(first: 1)
        .debounce(0.5, on: scheduler)
        .map { $0 ? nil : "An address has an @ in it." })

    signIn = Action(enabledIf: isComplete) { credentials in
      authenticate(credentials)
        .timeout(after: 10, raising: .noAnswer, on: scheduler)
    }

    message = Property(
      initial: nil,
      then: Signal<String?, Never>.merge(
        signIn.isExecuting.signal.filter { $0 }.map { _ in nil },
        signIn.errors.map { $0.text }))
  }

  /// What the button does.
  func submit() {
    signIn.apply(Credentials(email: email.value, password: password.value)).start()
  }
}

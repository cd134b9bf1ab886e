import Reactive

/// The users that can sign in: the model. It knows no form.
protocol Accounts: Sendable {
  /// Sends the name of the person whose e-mail address and password these are.
  func signIn(email: String, password: String) -> SignalProducer<String, SignInError>
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

/// Accounts of anyone, with one password, which take a second to answer as a server would.
struct DemoAccounts: Accounts {
  static let password = "open sesame"

  func signIn(email: String, password: String) -> SignalProducer<String, SignInError> {
    let user = email.prefix { $0 != "@" }
    let name = user.prefix(1).uppercased() + user.dropFirst()
    let isRight = password == Self.password
    return SignalProducer<Void, SignInError>(value: ())
      .delay(1, on: QueueScheduler())
      .attemptMap { isRight ? .success(name) : .failure(.wrongPassword) }
  }
}

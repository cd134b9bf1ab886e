import Foundation
import Reactive

/// A server with the accounts that may sign in.
protocol AccountService: AnyObject {
  func signIn(
    name: String, password: String, completion: @escaping (Result<String, SignInError>) -> Void)
  func isTaken(name: String, completion: @escaping (Bool) -> Void)
}

enum SignInError: Error, Equatable {
  case wrongPassword
  case offline
}

struct FormError: Error {
  let reason: String
}

/// A sign-in form's logic, unchanged from an app that was written for ReactiveSwift.
final class SignInViewModel {
  let name: ValidatingProperty<String, FormError>
  let password = MutableProperty("")
  let greeting: Property<String?>
  let reasons: Signal<String?, Never>
  let isNameTaken: Property<Bool>
  let signIn: Action<(), String, SignInError>

  private(set) var attempts = 0
  private(set) var edits = 0

  init(service: AccountService, scheduler: DateScheduler) {
    let name = ValidatingProperty<String, FormError>("") { input in
      input.hasSuffix("@example.org") ? .valid : .invalid(FormError(reason: "no such address"))
    }
    self.name = name
    reasons = name.result.signal.map { $0.error?.reason }.skipRepeats()

    isNameTaken = Property(
      initial: false,
      then: name.producer
        .skip(first: 1)
        .debounce(0.3, on: scheduler)
        .flatMap(.latest) { name in
          SignalProducer<Bool, Never> { observer, _ in
            service.isTaken(name: name) { isTaken in
              observer.send(value: isTaken)
              observer.sendCompleted()
            }
          }
        })

    let state = Property.combineLatest(name.result, password)
      .map { result, password -> (String, String)? in
        guard let name = result.value, password.count >= 8 else { return nil }
        return (name, password)
      }
    signIn = Action(unwrapping: state) { credentials in
      SignalProducer { observer, lifetime in
        service.signIn(name: credentials.0, password: credentials.1) { result in
          switch result {
          case let .success(name):
            observer.send(value: name)
            observer.sendCompleted()
          case let .failure(error):
            observer.send(error: error)
          }
        }
      }
    }
    greeting = Property(initial: nil, then: signIn.values.map { "Hello \($0)" })

    signIn.isExecuting.producer
      .filter { $0 }
      .startWithValues { [weak self] _ in self?.attempts += 1 }
    password.signal.observeValues { [weak self] _ in
      self?.edits += 1
    }
  }
}

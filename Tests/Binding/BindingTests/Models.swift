import Binding
import Reactive

// View models as apps have them, for the tests. None knows a view.

struct Credentials: Equatable, Sendable {
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

/// Two fields, and an action that is disabled until they are right and while it executes.
final class SignIn: ViewModel {
  let email = MutableProperty("")
  let password = MutableProperty("")
  let isEmailValid: Property<Bool>
  let name: Property<String?>
  let signIn: Action<Void, String, SignInError>

  static let bindings: Bindings<SignIn> = [
    "email": .twoWay(\.email),
    "password": .twoWay(\.password),
    "isEmailValid": .oneWay(\.isEmailValid),
    "name": .oneWay(\.name),
    "signIn": .action(\.signIn, error: \.text),
  ]

  init(authenticate: @escaping @Sendable (Credentials) -> SignalProducer<String, SignInError>) {
    isEmailValid = email.map { $0.contains("@") }
    let credentials = email.combineLatest(with: password)
      .map { Credentials(email: $0, password: $1) }
    signIn = Action(
      state: credentials, enabledIf: { $0.email.contains("@") && $0.password.count >= 8 },
      execute: { credentials, _ in authenticate(credentials) })
    name = Property(initial: nil, then: signIn.values.map { $0 })
  }
}

/// Searches while one types, when one pauses, and shows the answer to the latest question only.
final class Search: ViewModel {
  let text = MutableProperty("")
  let results: Property<[Hit]>
  let isSearching: Property<Bool>

  struct Hit: Identifiable, Equatable, Sendable {
    let id: Int
    let title: String
  }

  static let bindings: Bindings<Search> = [
    "text": .twoWay(\.text),
    "results": .list(\.results, ["title": .value(\.title)]),
    "isSearching": .oneWay(\.isSearching),
  ]

  init(
    find: @escaping @Sendable (String) -> SignalProducer<[Hit], Never>,
    scheduler: any DateScheduler
  ) {
    let searching = MutableProperty(false)
    let questions = text.producer.filter { $0.count >= 3 }.debounce(0.5, on: scheduler)
    results = Property(
      initial: [],
      then: questions.flatMap(.latest) { text in
        find(text).on(
          starting: { searching.value = true }, terminated: { searching.value = false })
      })
    isSearching = Property(capturing: searching)
  }
}

/// The devices nearby: rows that are values.
final class DeviceList: ViewModel {
  let devices = MutableProperty<[Device]>([])
  let connect: Action<Int, Void, Never>
  let connected = MutableProperty<[Int]>([])

  struct Device: Identifiable, Equatable, Sendable {
    enum Kind: String, BindableValue { case phone, lamp }

    let id: Int
    var name: String
    var strength: Double
    var kind: Kind
  }

  static let bindings: Bindings<DeviceList> = [
    "devices": .list(
      \.devices,
      [
        "id": .value(\.id),
        "name": .value(\.name),
        "strength": .value(\.strength),
        "kind": .value(\.kind),
      ]),
    "connect": .action(\.connect),
    "connected": .oneWay(\.connected),
  ]

  init() {
    let connected = connected
    connect = Action { id in
      SignalProducer { observer, _ in
        connected.modify { $0.append(id) }
        observer.sendCompleted()
      }
    }
  }
}

/// A list of view models: rows with values of both ways and actions of their own.
final class ToDoList: ViewModel {
  let items = MutableProperty<[Item]>([])
  let search = Search(find: { _ in .empty }, scheduler: TestScheduler())

  static let bindings: Bindings<ToDoList> = [
    "items": .list(\.items),
    "search": .group(\.search),
  ]

  final class Item: ViewModel, Identifiable {
    let id: String
    let title: String
    let isDone = MutableProperty(false)
    let finish: Action<Void, Void, Never>

    static let bindings: Bindings<Item> = [
      "title": .value(\.title),
      "isDone": .twoWay(\.isDone),
      "finish": .action(\.finish),
    ]

    init(_ id: String, title: String) {
      self.id = id
      self.title = title
      let isDone = isDone
      finish = Action(enabledIf: isDone.negate()) {
        SignalProducer { observer, _ in
          isDone.value = true
          observer.sendCompleted()
        }
      }
    }
  }
}

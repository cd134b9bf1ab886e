import Binding
import Reactive

/// Rooms with lists of their own: values and view models.
final class House: ViewModel {
  let rooms = MutableProperty<[Room]>([])
  let floor = MutableProperty(0)

  static let bindings: Bindings<House> = ["rooms": .list(\.rooms)]

  final class Room: ViewModel, Identifiable {
    let id: String
    let name = MutableProperty("")
    let lamps = MutableProperty<[Lamp]>([])
    let notes = MutableProperty<[Note]>([])

    static let bindings: Bindings<Room> = [
      "name": .twoWay(\.name), "lamps": .list(\.lamps),
      "notes": .list(\.notes, ["text": .value(\.text)]),
    ]

    init(_ id: String) { self.id = id }
  }

  final class Lamp: ViewModel, Identifiable {
    let id: String
    let isOn = MutableProperty(false)
    let turn: Action<Void, Never, Never>

    static let bindings: Bindings<Lamp> = ["isOn": .twoWay(\.isOn), "turn": .action(\.turn)]

    init(_ id: String) {
      self.id = id
      let isOn = isOn
      turn = Action {
        SignalProducer { observer, _ in
          isOn.modify { $0.toggle() }
          observer.sendCompleted()
        }
      }
    }
  }

  struct Note: Identifiable, Equatable, Sendable {
    let id: String
    var text: String
  }
}

/// A form that refuses values.
final class Booking: ViewModel {
  enum Refusal: Error {
    case tooMany
    var text: String { "At most nine" }
  }

  let guests = ValidatingProperty<Int, Refusal>(2) { $0 > 9 ? .invalid(.tooMany) : .valid }
  let age = MutableProperty(30)

  static let bindings: Bindings<Booking> = [
    "guests": .twoWay(\.guests, refusal: \.text), "age": .twoWay(\.age, refusal: "A whole number"),
  ]
}

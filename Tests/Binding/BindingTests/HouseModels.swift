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

/// Streets of houses, which have three lists in each other.
final class Town: ViewModel {
  final class Street: ViewModel, Identifiable {
    let id: String
    let houses: MutableProperty<[NumberedHouse]>
    static let bindings: Bindings<Street> = ["houses": .list(\.houses)]

    init(_ id: String, _ houses: [NumberedHouse]) {
      self.id = id
      self.houses = MutableProperty(houses)
    }
  }

  final class NumberedHouse: ViewModel, Identifiable {
    let id: String
    let house = House()
    let plans = Upload(byteCountMax: 1_000, countMax: 2)
    static let bindings: Bindings<NumberedHouse> = [
      "inside": .group(\.house), "plans": .upload(\.plans),
    ]

    init(_ id: String, _ rooms: House.Room...) {
      self.id = id
      house.rooms.value = rooms
    }
  }

  let streets: MutableProperty<[Street]>
  static let bindings: Bindings<Town> = ["streets": .list(\.streets)]

  init(_ streets: [Street]) { self.streets = MutableProperty(streets) }
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

import Binding
import Reactive

/// The typed text, the text derived from it, and the page's measurements.
final class TypingDesk: ViewModel {
  let text = MutableProperty("")
  let upper: Property<String>
  let report = MutableProperty("")

  static let bindings: Bindings<TypingDesk> = [
    "text": .twoWay(\.text),
    "upper": .oneWay(\.upper),
    "report": .twoWay(\.report),
  ]

  init() { upper = text.map { $0.uppercased() } }
}

/// The nearby devices, as a page shows them.
final class DeviceBoard: ViewModel {
  let devices: MutableProperty<[Device]>

  struct Device: Identifiable, Equatable, Sendable {
    let id: Int
    var name: String
    var strength: Int
    var age: Int
  }

  static let bindings: Bindings<DeviceBoard> = [
    "devices": .list(
      \.devices,
      ["name": .value(\.name), "strength": .value(\.strength), "age": .value(\.age)])
  ]

  init(count: Int) {
    devices = MutableProperty(
      (0..<count).map { Device(id: $0, name: "Device \($0)", strength: -60, age: 0) })
  }
}

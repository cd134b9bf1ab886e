package import BluetoothInterface
import EventLoop

// The policy of the environment variable `AMBIT_AUTHORIZATION`.
extension BluetoothAuthorization {
  /// The policy that the environment sets; an unknown name counts as `denied`.
  package static var current: BluetoothAuthorization {
    named(ProcessEnvironment.value("AMBIT_AUTHORIZATION"))
  }

  /// Parses the name of a policy. Nil is `allowed`, an unknown name `denied`.
  package static func named(_ name: String?) -> BluetoothAuthorization {
    name.map { BluetoothAuthorization(rawValue: $0) ?? .denied } ?? .allowed
  }

  /// The reason why this program must not use a radio; nil if it is allowed.
  package static var refusal: String? {
    refusal(named: ProcessEnvironment.value("AMBIT_AUTHORIZATION"))
  }

  /// The reason why a host with this policy must not use a radio; nil if it is allowed.
  static func refusal(named name: String?) -> String? {
    switch named(name) {
    case .allowed: nil
    case .denied where name != "denied":
      "AMBIT_AUTHORIZATION: \"\(name ?? "")\" is not one of allowed, denied, restricted."
    case .denied: "AMBIT_AUTHORIZATION does not let this program use Bluetooth: denied."
    case .restricted: "AMBIT_AUTHORIZATION does not let this program use Bluetooth: restricted."
    }
  }
}

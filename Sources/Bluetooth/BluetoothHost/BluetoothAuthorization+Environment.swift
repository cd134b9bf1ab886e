package import BluetoothInterface
import EventLoop

// The policy is in `AMBIT_AUTHORIZATION`.
extension BluetoothAuthorization {
  /// The policy of the environment; an unknown name counts as `denied`.
  package static var current: BluetoothAuthorization {
    named(ProcessEnvironment.value("AMBIT_AUTHORIZATION"))
  }

  /// The policy of this name; `allowed` for none, `denied` for one that doesn't exist.
  package static func named(_ name: String?) -> BluetoothAuthorization {
    name.map { BluetoothAuthorization(rawValue: $0) ?? .denied } ?? .allowed
  }

  /// Why this program has no radio; nil if it may have one.
  package static var refusal: String? {
    refusal(named: ProcessEnvironment.value("AMBIT_AUTHORIZATION"))
  }

  /// Why a host with this policy has no radio; nil if it has one.
  static func refusal(named name: String?) -> String? {
    switch named(name) {
    case .allowed: nil
    case .denied where name != "denied":
      "AMBIT_AUTHORIZATION: \"\(name ?? "")\" is none of allowed, denied, restricted."
    case .denied: "AMBIT_AUTHORIZATION does not let this program use Bluetooth: denied."
    case .restricted: "AMBIT_AUTHORIZATION does not let this program use Bluetooth: restricted."
    }
  }
}

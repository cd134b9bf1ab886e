/// Whether programs may use Bluetooth, as `AMBIT_AUTHORIZATION` says: the policy that stands in for the
/// question that Apple's systems ask their user.
package enum BluetoothAuthorization: String, Sendable, CaseIterable {
  /// They may. The default.
  case allowed
  /// The user said no.
  case denied
  /// Whoever looks after the machine doesn't let them, nor the user change that.
  case restricted

  /// What the environment says; what it says unclearly is a no.
  package static var current: BluetoothAuthorization {
    named(BluetoothHost.environment("AMBIT_AUTHORIZATION"))
  }

  /// The policy of this name; `allowed` for none, `denied` for one that doesn't exist.
  package static func named(_ name: String?) -> BluetoothAuthorization {
    name.map { BluetoothAuthorization(rawValue: $0) ?? .denied } ?? .allowed
  }

  /// Why this program has no radio; nil if it may have one.
  package static var refusal: String? {
    refusal(named: BluetoothHost.environment("AMBIT_AUTHORIZATION"))
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

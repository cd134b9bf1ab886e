/// Whether programs may use Bluetooth, from `AMBIT_AUTHORIZATION`: a policy in place of the prompt
/// that Apple's systems show to the user.
package enum BluetoothAuthorization: String, Sendable, CaseIterable {
  /// Programs may use Bluetooth. The default.
  case allowed
  /// The user denied it.
  case denied
  /// The machine's administrator denied it, and the user can't change that.
  case restricted

  /// The policy that the environment sets; an unknown name counts as `denied`.
  package static var current: BluetoothAuthorization {
    named(BluetoothHost.environment("AMBIT_AUTHORIZATION"))
  }

  /// Parses the name of a policy. Nil is `allowed`, an unknown name `denied`.
  package static func named(_ name: String?) -> BluetoothAuthorization {
    name.map { BluetoothAuthorization(rawValue: $0) ?? .denied } ?? .allowed
  }

  /// The reason why this program must not use a radio; nil if it is allowed.
  package static var refusal: String? {
    refusal(named: BluetoothHost.environment("AMBIT_AUTHORIZATION"))
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

/// Whether programs may use Bluetooth: a policy in place of the prompt that Apple's systems show to
/// the user.
package enum BluetoothAuthorization: String, Sendable, CaseIterable {
  /// Programs may use Bluetooth. The default.
  case allowed
  /// The user denied it.
  case denied
  /// The machine's administrator denied it, and the user can't change that.
  case restricted
}

// The values of the environment variable `AMBIT_AUTHORIZATION`.
extension BluetoothAuthorization {
  /// The environment variable that sets the policy.
  package static let variable = "AMBIT_AUTHORIZATION"

  /// Parses the name of a policy. Nil is `allowed`, an unknown name `denied`.
  package static func named(_ name: String?) -> BluetoothAuthorization {
    name.map { BluetoothAuthorization(rawValue: $0) ?? .denied } ?? .allowed
  }

  /// The reason why a program with this policy must not use a radio; nil if it is allowed.
  package static func refusal(named name: String?) -> String? {
    switch named(name) {
    case .allowed: nil
    case .denied where name != "denied":
      "\(variable): \"\(name ?? "")\" is not one of allowed, denied, restricted."
    case .denied: "\(variable) does not let this program use Bluetooth: denied."
    case .restricted: "\(variable) does not let this program use Bluetooth: restricted."
    }
  }
}

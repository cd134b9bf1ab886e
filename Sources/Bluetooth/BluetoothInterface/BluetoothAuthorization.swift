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

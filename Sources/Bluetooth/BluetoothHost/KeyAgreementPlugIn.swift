package import BluetoothMachines
import Synchronization

/// The implementation of P-256 key agreement for hosts. This module doesn't depend on one: the
/// module `SecureConnections` installs it.
package enum KeyAgreementPlugIn {
  private static let installed = Mutex<(any KeyAgreement)?>(nil)

  /// Makes LE Secure Connections available to all hosts created from now on.
  package static func install(_ new: any KeyAgreement) { installed.withLock { $0 = new } }

  /// The installed implementation; nil in a program without LE Secure Connections.
  package static var current: (any KeyAgreement)? { installed.withLock(\.self) }
}

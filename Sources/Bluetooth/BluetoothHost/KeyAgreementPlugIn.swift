package import BluetoothMachines
import Synchronization

/// What computes on the curve P-256 for hosts, which this module doesn't know: the module
/// `SecureConnections` installs itself here.
package enum KeyAgreementPlugIn {
  private static let installed = Mutex<(any KeyAgreement)?>(nil)

  /// Makes LE Secure Connections available to all hosts created from now on.
  package static func install(_ new: any KeyAgreement) { installed.withLock { $0 = new } }

  /// The installed implementation; nil in a program without LE Secure Connections.
  package static var current: (any KeyAgreement)? { installed.withLock(\.self) }
}

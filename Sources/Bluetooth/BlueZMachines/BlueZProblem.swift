import BluetoothInterface

/// Why rfkill(4) keeps a radio off.
package enum RadioBlock: Sendable, Hashable {
  /// By software.
  case soft
  /// By a switch of the machine.
  case hard
}

/// The reason why bluetoothd's radio can't be used.
enum BlueZProblem: Sendable, Hashable {
  case noBus(String)
  case noDaemon(String)
  case refused(String)
  case noAdapter(String?)
  case off(String)
  case blocked(String, RadioBlock)

  var state: RadioState {
    switch self {
    case .noBus, .noDaemon, .noAdapter, .off, .blocked: .poweredOff
    case .refused: .unauthorized
    }
  }

  /// A text of another program with a full stop.
  private static func sentence(_ text: String) -> String { text.hasSuffix(".") ? text : text + "." }

  /// For users: the reason, and a remedy.
  var sentence: String {
    switch self {
    case .noBus(let reason):
      "The system's D-Bus, on which bluetoothd serves, can't be reached: \(reason)"
    case .noDaemon(let reason):
      "bluetoothd does not run, and D-Bus did not start it: \(Self.sentence(reason)) Install the package bluez, or start it with "
        + "\"systemctl start bluetooth\"."
    case .refused(let reason):
      "This user may not use bluetoothd: \(Self.sentence(reason)) The policies in /etc/dbus-1/system.d and "
        + "/usr/share/dbus-1/system.d decide that."
    case .noAdapter(nil):
      "bluetoothd has no Bluetooth adapter. One that is plugged in is used at once."
    case .noAdapter(let name?):
      "bluetoothd has no Bluetooth adapter \(name). \"bluetoothctl list\" shows the others."
    case .off(let name): "The adapter \(name) is off. \"bluetoothctl power on\" switches it on."
    case .blocked(let name, .soft):
      "The adapter \(name) is blocked by software. \"rfkill unblock bluetooth\" unblocks it."
    case .blocked(let name, .hard): "The adapter \(name) is blocked by a switch of this machine."
    }
  }
}

enum BlueZErrorName {
  static let noReply = "org.freedesktop.DBus.Error.NoReply"
  static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
  static let noOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
  static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
  static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
  static let inProgress = "org.bluez.Error.InProgress"
  static let notReady = "org.bluez.Error.NotReady"
  static let notConnected = "org.bluez.Error.NotConnected"
  static let alreadyExists = "org.bluez.Error.AlreadyExists"
  static let doesNotExist = "org.bluez.Error.DoesNotExist"
}

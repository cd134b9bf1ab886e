internal import BluetoothHost
package import BluetoothInterface

#if SecureConnections
  internal import SecureConnections
#endif
#if SimulatedRadio
  internal import SimulatedRadio
#endif

/// The host that is current in a task, for the API modules.
package enum CurrentHost {
  /// The provider of sessions with the current host. The plug-ins of this build are installed first.
  package static var provider: any HostSessionProvider {
    #if SecureConnections
      SecureConnections.install()
    #endif
    #if SimulatedRadio
      SimulatedRadio.install()
    #endif
    return BluetoothHost.current ?? BluetoothHost.shared
  }

  /// Whether the current host is the one of the whole process, and not one set for the task.
  package static var isShared: Bool { BluetoothHost.current == nil }

  /// Whether this program may use Bluetooth.
  package static var authorization: BluetoothAuthorization { .current }
}

internal import BluetoothHost
package import BluetoothInterface
internal import HubClient

#if SecureConnections
  internal import SecureConnections
#endif
#if SimulatedRadio
  internal import SimulatedRadio
#endif

/// The host that is current in a task, for the API modules.
package enum CurrentHost {
  /// The provider of sessions with the current host: the one that the task has set, or else the hub that
  /// `HubChoice` selects, or else the process's own. The plug-ins of this build are installed before that is made.
  package static var provider: any HostSessionProvider {
    if BluetoothHost.current == nil, let hub { return hub }
    #if SecureConnections
      SecureConnections.install()
    #endif
    #if SimulatedRadio
      SimulatedRadio.install()
    #endif
    return BluetoothHost.current ?? BluetoothHost.shared
  }

  /// The hub that `AMBIT_HUB` names, or that runs at its usual path; nil if none is used. A program that may not use
  /// Bluetooth has a host of its own, which reports that.
  private static let hub: HubSessionProvider? =
    authorization == .allowed
    ? HubChoice.current.setting.flatMap { HubSessionProvider.provider(for: $0) } : nil

  /// Whether the current host is the one of the whole process, and not one set for the task.
  package static var isShared: Bool { BluetoothHost.current == nil }

  /// Whether this program may use Bluetooth.
  package static var authorization: BluetoothAuthorization { .current }
}

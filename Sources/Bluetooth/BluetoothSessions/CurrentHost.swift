package import BluetoothInterface
internal import EventLoop
internal import HubClient
internal import Synchronization

#if BlueZ
  internal import BlueZHost
#endif
#if BluetoothHost
  internal import BluetoothHost
#endif
#if SecureConnections
  internal import SecureConnections
#endif
#if SimulatedRadio
  internal import SimulatedRadio
#endif

/// The host that is current in a task, for the API modules.
package enum CurrentHost {
  /// The provider of sessions with the current host: the one that the task has set, or else the hub that
  /// `HubChoice` selects, or else bluetoothd's if `AMBIT_RADIO` names that, or else the process's own. The plug-ins of this build are installed before that is made.
  package static var provider: any HostSessionProvider {
    if let override { return override }
    #if BluetoothHost
      if BluetoothHost.current == nil, let provider = ofApp ?? hub ?? bluez { return provider }
      #if SecureConnections
        SecureConnections.install()
      #endif
      #if SimulatedRadio
        SimulatedRadio.install()
      #endif
      return BluetoothHost.current ?? BluetoothHost.shared
    #else
      return ofApp ?? bluez ?? hub
    #endif
  }

  /// The host over bluetoothd, if `AMBIT_RADIO` names it and this program may use Bluetooth and has the trait
  /// `BlueZ`.
  private static let bluez: (any HostSessionProvider)? = {
    #if BlueZ
      guard ownAuthorization == .allowed, let name = ProcessEnvironment.value("AMBIT_RADIO") else {
        return nil
      }
      return BlueZSessionProvider(named: name)
    #else
      return nil
    #endif
  }()

  #if BluetoothHost
    /// The hub that `AMBIT_HUB` names, or that runs at its usual path; nil if none is used. A program that may not
    /// use Bluetooth has a host of its own, which reports that.
    private static let hub: HubSessionProvider? =
      ownAuthorization == .allowed ? HubChoice.current.provider() : nil

    /// Whether the current host is the one of the whole process, and not one set for the task.
    package static var isShared: Bool {
      override == nil && BluetoothHost.current == nil && ofApp == nil
    }
  #else
    /// The hub, or a radio that can't be used and has the reason: without the trait `BluetoothHost`, the process has
    /// no host of its own (docs/decisions/0204-the-host-in-the-process-is-a-trait.md).
    private static let hub = HubChoice.onlyProvider(
      refusal: BluetoothAuthorization.refusal(
        named: ProcessEnvironment.value(BluetoothAuthorization.variable)))

    /// Whether the current host is the one of the whole process, and not one set for the task.
    package static var isShared: Bool { override == nil && ofApp == nil }
  #endif

  /// The host of the system that runs the app of this process, such as a simulated phone: all its managers use it,
  /// also those that it makes outside of tasks.
  package static var ofApp: (any HostSessionProvider)? {
    get { ofAppStorage.withLock { $0 } }
    set { ofAppStorage.withLock { $0 = newValue } }
  }

  private static let ofAppStorage = Mutex<(any HostSessionProvider)?>(nil)

  /// A host in place of all others, such as a hub that no variable names, in tests.
  @TaskLocal package static var override: (any HostSessionProvider)?

  /// The answer of the environment to whether this program may use Bluetooth.
  private static var ownAuthorization: BluetoothAuthorization {
    .named(ProcessEnvironment.value(BluetoothAuthorization.variable))
  }

  /// Whether this program may use Bluetooth: the environment's answer, or that of the current host where the
  /// environment allows it.
  package static var authorization: BluetoothAuthorization {
    let own = ownAuthorization
    guard own == .allowed, let host = override ?? ofApp ?? (isShared ? hub : nil) else {
      return own
    }
    return authorization(by: host)
  }

  /// Whether a host lets this program use Bluetooth. A hub that was never connected to is asked, and waited for half
  /// a second at most; hosts in the process let every program.
  package static func authorization(by host: any HostSessionProvider) -> BluetoothAuthorization {
    (host as? HubSessionProvider)?.isDenied == true ? .denied : .allowed
  }
}

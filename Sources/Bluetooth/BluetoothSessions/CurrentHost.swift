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
  /// `HubChoice` selects, or else bluetoothd's, if `AMBIT_RADIO` names that or no radio and no controller may be opened
  /// alone, or else the process's own. The plug-ins of this build are installed before that is made.
  package static var provider: any HostSessionProvider {
    if let override { return override }
    #if BluetoothHost
      if BluetoothHost.current == nil, let provider = ofApp ?? shared { return provider }
      #if SecureConnections
        SecureConnections.install()
      #endif
      #if SimulatedRadio
        SimulatedRadio.install()
      #endif
      return BluetoothHost.current ?? BluetoothHost.shared
    #else
      return ofApp ?? shared ?? none
    #endif
  }

  /// The hub or bluetoothd, which have the radio for this process and others; nil if neither is used. A program that
  /// may not use Bluetooth has a host of its own, which reports that.
  private static let shared: (any HostSessionProvider)? =
    ownAuthorization == .allowed ? HubChoice.current.provider() ?? bluez() : nil

  /// The host over bluetoothd, with the trait `BlueZ`.
  private static func bluez() -> (any HostSessionProvider)? {
    #if BlueZ
      if let name = ProcessEnvironment.value("AMBIT_RADIO") {
        return BlueZSessionProvider(named: name)
      }
      guard !HubChoice.isTestProcess else { return nil }
      #if BluetoothHost
        guard let selection = try? RadioSelection.select(named: nil),
          case .fallback(let reason) = selection.origin
        else { return nil }
      #else
        let reason = "This program is built without a Bluetooth host of its own."
      #endif
      return BlueZSessionProvider(whereNoRadioIsNamed: reason)
    #else
      return nil
    #endif
  }

  #if BluetoothHost
    /// Whether the current host is the one of the whole process, and not one set for the task.
    package static var isShared: Bool {
      override == nil && BluetoothHost.current == nil && ofApp == nil
    }
  #else
    /// A radio that can't be used and has the reason: without the trait `BluetoothHost`, the process has no host of
    /// its own (docs/decisions/0204-the-host-in-the-process-is-a-trait.md).
    private static let none = HubChoice.onlyProvider(
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
    guard own == .allowed, let host = override ?? ofApp ?? (isShared ? shared : nil) else {
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

/// A central manager's link to a peer, with its phase, which is stored nowhere else. The manager
/// keeps it as long as the host may have a request for the link, even after the peripheral object
/// is gone. Guarded by the session's lock.
final class PeripheralLink {
  /// The phase of the link.
  enum Phase: Equatable {
    /// There is no link, and none was requested from the host.
    case none
    /// The link was requested from the host.
    case connecting
    /// It is established.
    case connected
    /// Its end was requested from the host. If `connect` was called since, the host makes it again.
    case disconnecting(connectsAgain: Bool)
    /// It ended with the radio, and the host would make it again when that is back. It is given up
    /// when the manager reports the radio's state.
    case lostWithRadio
  }

  /// The object for the peer. A class holds it, so that looking it up copies no weak reference.
  weak var peripheral: CBPeripheral?
  var phase = Phase.none {
    didSet { if phase != .connected { confirmationCount = 0 } }
  }
  /// How often the app has requested the link while it knew that it is established. The host answers each of
  /// these with a report, and also a request that its first report has overtaken, of which the app is not notified.
  var confirmationCount = 0

  /// Whether the host was asked for it, and has not reported its end.
  var isRequested: Bool { phase != .none }

  /// Whether it would stay, or come again, if the app did nothing more.
  var isWanted: Bool {
    switch phase {
    case .connecting, .connected, .disconnecting(connectsAgain: true), .lostWithRadio: true
    case .none, .disconnecting(connectsAgain: false): false
    }
  }

  /// What apps see.
  var state: CBPeripheralState {
    switch phase {
    case .none, .lostWithRadio: .disconnected
    case .connecting: .connecting
    case .connected: .connected
    case .disconnecting: .disconnecting
    }
  }
}

/// A central manager's link to a peer, or the lack of one: the one place that says how far it is. Its
/// manager keeps it as long as the host may still be asked for the link, also without the object.
/// Guarded by the session's lock.
final class PeripheralLink {
  /// How far it is.
  enum Phase: Equatable {
    /// There is none, and the host was not asked for one.
    case none
    /// The host was asked for one.
    case connecting
    /// It is established.
    case connected
    /// The host was asked to end it. If `connect` was called since, the host makes it again.
    case disconnecting(connectsAgain: Bool)
    /// It ended with the radio, and the host would make it again when that is back. It is given up
    /// when the manager reports the radio's state.
    case lostWithRadio
  }

  /// The object for the peer. A class holds it, so that looking it up copies no weak reference.
  weak var peripheral: CBPeripheral?
  var phase = Phase.none

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

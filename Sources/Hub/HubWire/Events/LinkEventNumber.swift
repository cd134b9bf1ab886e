import BluetoothInterface
import BluetoothWire

/// Events of links and pairings. A number never changes.
enum LinkEventNumber: UInt8, CaseIterable {
  case linkOpened = 0x10
  case linkUpdated = 0x11
  case linkClosed = 0x12
  case connected = 0x13
  case connectionFailed = 0x14
  case disconnected = 0x15
  case pairingPrompt = 0x20
  case pairingEnded = 0x21
  case bondNotKept = 0x22

  /// Writes or reads the fields of the event with this number.
  func coded<C: HubCoder>(
    _ event: HostEvent?, by coder: inout C
  ) throws(HubWireError) -> HostEvent {
    switch self {
    case .linkOpened:
      return try coder.fields(event, HostEvent.linkOpened) {
        if case .linkOpened(let link) = $0 { link } else { nil }
      }
    case .linkUpdated:
      return try coder.fields(event, HostEvent.linkUpdated) {
        if case .linkUpdated(let link) = $0 { link } else { nil }
      }
    case .linkClosed:
      return try coder.fields(event, HostEvent.linkClosed) {
        if case .linkClosed(let peer, let error) = $0 { (peer, error) } else { nil }
      }
    case .connected:
      return try coder.fields(event, HostEvent.connected) {
        if case .connected(let peer) = $0 { peer } else { nil }
      }
    case .connectionFailed:
      return try coder.fields(event, HostEvent.connectionFailed) {
        if case .connectionFailed(let peer, let error) = $0 { (peer, error) } else { nil }
      }
    case .disconnected:
      // The error last, since a later version may have others.
      return try coder.fields(
        event,
        { (peer: DeviceAddress, reconnecting: Bool, error: HostError?) in
          .disconnected(peer, error, reconnecting: reconnecting)
        }
      ) {
        if case .disconnected(let peer, let error, let reconnecting) = $0 {
          (peer, reconnecting, error)
        } else {
          nil
        }
      }
    case .pairingPrompt:
      return try coder.fields(event, HostEvent.prompt) {
        if case .pairingPrompt(let peer, let prompt, let id) = $0 {
          (peer, id, prompt)
        } else {
          nil
        }
      }
    case .pairingEnded:
      return try coder.fields(event, HostEvent.pairingEnded) {
        if case .pairingEnded(let peer, let failure) = $0 { (peer, failure) } else { nil }
      }
    case .bondNotKept:
      return try coder.fields(event, HostEvent.bondNotKept) {
        if case .bondNotKept(let peer, let reason) = $0 { (peer, reason) } else { nil }
      }
    }
  }
}

extension HostEvent {
  /// The prompt last, so that the others can be read also before one of a later version.
  fileprivate static func prompt(
    _ peer: DeviceAddress, _ id: PairingPromptID, _ prompt: PairingPrompt
  ) -> HostEvent {
    .pairingPrompt(peer, prompt, id)
  }
}

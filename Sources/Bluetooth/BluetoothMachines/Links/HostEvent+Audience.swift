import BluetoothInterface

extension HostEvent {
  /// Whether every client gets this event, interested or not.
  var isForAllClients: Bool {
    switch self {
    case .stateChanged, .linkOpened, .linkUpdated, .linkClosed, .pairingEnded, .bondNotKept: true
    case .completed, .discovered, .connected, .connectionFailed, .disconnected, .valueUpdated,
      .valuesDropped, .acknowledgementRequested, .servicesChanged, .serverRequest, .writesDropped,
      .requestsExpired, .subscribed, .unsubscribed, .channelOpened, .channelReceived,
      .channelClosed, .pairingPrompt:
      false
    }
  }
}

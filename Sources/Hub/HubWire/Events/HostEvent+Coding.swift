import BluetoothInterface

extension HostEvent: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let byte = try coder.byte(value?.number)
    if let number = AttributeEventNumber(rawValue: byte) {
      return try number.coded(value, by: &coder)
    }
    if let number = RadioEventNumber(rawValue: byte) {
      return try number.coded(value, by: &coder)
    }
    if let number = ChannelEventNumber(rawValue: byte) {
      return try number.coded(value, by: &coder)
    }
    if let number = LinkEventNumber(rawValue: byte) {
      return try number.coded(value, by: &coder)
    }
    guard byte & HubProtocol.mustUnderstand == 0 else {
      throw .notUnderstood(of: "HostEvent", number: byte)
    }
    throw .unknownNumber(of: "HostEvent", number: byte)
  }

  /// The number of this event.
  var number: UInt8 {
    switch self {
    case .stateChanged: RadioEventNumber.stateChanged.rawValue
    case .completed: RadioEventNumber.completed.rawValue
    case .discovered: RadioEventNumber.discovered.rawValue
    case .acknowledgementRequested: RadioEventNumber.acknowledgementRequested.rawValue
    case .linkOpened: LinkEventNumber.linkOpened.rawValue
    case .linkUpdated: LinkEventNumber.linkUpdated.rawValue
    case .linkClosed: LinkEventNumber.linkClosed.rawValue
    case .connected: LinkEventNumber.connected.rawValue
    case .connectionFailed: LinkEventNumber.connectionFailed.rawValue
    case .disconnected: LinkEventNumber.disconnected.rawValue
    case .pairingPrompt: LinkEventNumber.pairingPrompt.rawValue
    case .pairingEnded: LinkEventNumber.pairingEnded.rawValue
    case .bondNotKept: LinkEventNumber.bondNotKept.rawValue
    case .valueUpdated: AttributeEventNumber.valueUpdated.rawValue
    case .valuesDropped: AttributeEventNumber.valuesDropped.rawValue
    case .servicesChanged: AttributeEventNumber.servicesChanged.rawValue
    case .serverRequest: AttributeEventNumber.serverRequest.rawValue
    case .writesDropped: AttributeEventNumber.writesDropped.rawValue
    case .requestsExpired: AttributeEventNumber.requestsExpired.rawValue
    case .subscribed: AttributeEventNumber.subscribed.rawValue
    case .unsubscribed: AttributeEventNumber.unsubscribed.rawValue
    case .channelOpened: ChannelEventNumber.channelOpened.rawValue
    case .channelReceived: ChannelEventNumber.channelReceived.rawValue
    case .channelClosed: ChannelEventNumber.channelClosed.rawValue
    }
  }
}

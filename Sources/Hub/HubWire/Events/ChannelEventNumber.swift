import BluetoothInterface

/// Events of connection-oriented channels. A number never changes.
enum ChannelEventNumber: UInt8, CaseIterable {
  case channelOpened = 0x50
  case channelReceived = 0x51
  case channelClosed = 0x52

  /// Writes or reads the fields of the event with this number.
  func coded<C: HubCoder>(
    _ event: HostEvent?, by coder: inout C
  ) throws(HubWireError) -> HostEvent {
    switch self {
    case .channelOpened:
      return try coder.fields(event, HostEvent.channelOpened) {
        if case .channelOpened(let channel) = $0 { channel } else { nil }
      }
    case .channelReceived:
      return try coder.fields(event, HostEvent.channelReceived) {
        if case .channelReceived(let channel, let bytes) = $0 { (channel, bytes) } else { nil }
      }
    case .channelClosed:
      return try coder.fields(event, HostEvent.channelClosed) {
        if case .channelClosed(let channel, let error) = $0 { (channel, error) } else { nil }
      }
    }
  }
}

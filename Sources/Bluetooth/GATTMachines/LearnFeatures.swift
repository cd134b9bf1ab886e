import BluetoothWire

/// Writes this client's features to the peer's Client Supported Features, and reads its Server
/// Supported Features (Core 5.4, Vol 3, Part G, §7.2 and §7.4). One round trip for a peer that has
/// neither.
struct LearnFeatures: GATTProcedure {
  /// Enhanced bearers and Multiple Handle Value Notifications. This client doesn't enable robust
  /// caching: it compares the Database Hash.
  static let clientFeatures: UInt8 = 0b110

  private var isWritten = false

  mutating func start(mtu: Int) -> GATTStep {
    .request(.readByTypeRequest(start: 1, end: 0xFFFF, type: 0x2B29))
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    switch response {
    case .readByTypeResponse(let list) where !isWritten:
      isWritten = true
      // From a bonded server that this client told on an earlier link, they come back.
      guard let known = list.first(where: { $0.handle > 0 }), let features = known.value.first
      else { return .features(takesEnhancedBearers: false) }
      guard features & Self.clientFeatures != Self.clientFeatures else { return readServers() }
      var value = Array(known.value)
      value[0] = features | Self.clientFeatures
      return .request(.writeRequest(handle: known.handle, value: value[...]))
    case .writeResponse: return readServers()
    case .readByTypeResponse(let list):
      let features = list.first { _ in true }?.value.first ?? 0
      return .features(takesEnhancedBearers: features & 1 != 0)
    default: return .features(takesEnhancedBearers: false)
    }
  }

  private func readServers() -> GATTStep {
    .request(.readByTypeRequest(start: 1, end: 0xFFFF, type: 0x2B3A))
  }
}

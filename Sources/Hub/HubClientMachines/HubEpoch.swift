import BluetoothInterface

/// The identifiers of one connection, as clients see them.
///
/// A hub that is started again counts its channels, requests and prompts from the beginning. Clients may still
/// answer a request of the hub before it. So the identifiers that clients see have the number of the
/// connection in the upper 24 bits, and one of another connection is recognized.
struct HubEpoch: Hashable, Sendable {
  private static let bitCount = 40
  private static let max = UInt64(1) << 24 - 1

  private var number: UInt64 = 0

  /// The epoch of the next connection.
  var next: HubEpoch {
    var epoch = self
    epoch.number = (number + 1) & Self.max
    return epoch
  }

  private func visible(_ number: UInt64) throws(HubFailure) -> UInt64 {
    // A hub that makes a million identifiers a second gets there in twelve days, and an identifier counts
    // channels, requests of peers or prompts.
    guard number >> Self.bitCount == 0 else { throw .tooMany("identifiers") }
    return self.number << Self.bitCount | number
  }

  private func wire(_ number: UInt64) -> UInt64? {
    guard number >> Self.bitCount == self.number else { return nil }
    return number & (1 << Self.bitCount - 1)
  }

  func visible(_ id: ChannelID) throws(HubFailure) -> ChannelID {
    ChannelID(rawValue: try visible(id.rawValue))
  }

  func visible(_ id: ServerRequestID) throws(HubFailure) -> ServerRequestID {
    ServerRequestID(rawValue: try visible(id.rawValue))
  }

  func visible(_ id: PairingPromptID) throws(HubFailure) -> PairingPromptID {
    PairingPromptID(rawValue: try visible(id.rawValue))
  }

  /// The hub's identifier; nil for one of an earlier connection.
  func wire(_ id: ChannelID) -> ChannelID? { wire(id.rawValue).map(ChannelID.init) }
  func wire(_ id: ServerRequestID) -> ServerRequestID? {
    wire(id.rawValue).map(ServerRequestID.init)
  }
  func wire(_ id: PairingPromptID) -> PairingPromptID? {
    wire(id.rawValue).map(PairingPromptID.init)
  }
}

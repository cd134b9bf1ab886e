package import BluetoothInterface
import BluetoothWire
package import Essentials

/// Several channels at once, by enhanced requests (Core 5.4, Vol 3, Part A, §4.25 and §4.26).
extension L2CAPLink {
  /// The most that one request names.
  static let enhancedCountMax = 5

  /// Requests one to five channels from the peer, or fewer if a limit is reached. `channelOpened`
  /// or `channelRefused` follows for each of the returned CIDs.
  package mutating func openChannels(
    _ count: Int, psm: UInt16, parameters: L2CAPChannelParameters, now: Instant,
    into outputs: inout [Output]
  ) throws(HostError) -> [UInt16] {
    guard L2CAPLink.psms.contains(psm) else {
      throw .invalidArgument("An LE PSM lies in 1 ... 255; \(psm) does not.")
    }
    precondition(parameters.isValidEnhanced, "such a channel takes at least 64 bytes")
    var cids: [UInt16] = []
    while cids.count < min(count, Self.enhancedCountMax), let cid = freeCID(for: psm) {
      addChannel(cid, psm: psm, isIncoming: false, local: parameters)
      channels[channels.count - 1].isEnhanced = true
      cids.append(cid)
    }
    guard !cids.isEmpty else { throw .limitReached("channels on one link") }
    request(
      .enhancedConnectionRequest(
        L2CAPEnhancedConnectionRequest(
          spsm: psm, mtu: parameters.mtu, mps: parameters.mps,
          initialCredits: parameters.credits, sources: cids)),
      for: .openSeveral(cids), now: now, into: &outputs)
    return cids
  }

  /// The peer answered; what it gave no end was refused.
  mutating func opened(
    _ cids: [UInt16], _ response: L2CAPEnhancedConnectionResponse, now: Instant,
    into outputs: inout [Output]
  ) {
    let peer = L2CAPChannelParameters(
      mtu: response.mtu, mps: response.mps, credits: response.initialCredits)
    for (position, cid) in cids.enumerated() {
      guard let index = index(ofLocal: cid) else { continue }
      let destination =
        position < response.destinations.count ? response.destinations[position] : 0
      if destination != 0 {
        opened(
          index, at: destination, peer, isSensible: peer.isValidEnhanced, now: now,
          into: &outputs)
      } else {
        let error: HostError =
          response.result == .success ? .invalidResponse : .channelRefused(response.result.rawValue)
        endChannel(index, error, into: &outputs)
      }
    }
  }

  /// Sends of a channel that wait for credits.
  package func waitingSendCount(on channel: UInt16) -> Int {
    index(ofLocal: channel).map { channels[$0].sends.count } ?? 0
  }
}

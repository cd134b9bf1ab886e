import BluetoothInterface
import L2CAPMachines

/// Connection-oriented channels of all links: which client has which, and which client listens on
/// which PSM.
struct ChannelTable: Sendable {
  /// A channel, or one that is being opened.
  struct Channel: Sendable {
    let id: ChannelID
    let client: ClientID
    /// The link's handle and this end's CID on it.
    let link: UInt16
    let localCID: UInt16
    /// The request that waits for the peer to accept the channel; nil once it is open.
    fileprivate(set) var opening: Opening?
  }

  /// A client's request for a channel.
  struct Opening: Sendable {
    let psm: UInt16
    let token: RequestToken
    /// Whether the peer refused it for want of security before.
    var isRepeated = false
  }

  /// A request for a channel that the peer refused for want of security, until the link is protected.
  struct Refused: Sendable {
    let client: ClientID
    let link: UInt16
    let opening: Opening
    let error: HostError
  }

  /// A PSM that a client listens on.
  struct Listener: Sendable {
    let client: ClientID
    let psm: UInt16
    let requiresEncryption: Bool
  }

  private static let dynamicPSMs: ClosedRange<UInt16> = 0x0080...0x00FF

  private(set) var channels: [Channel] = []
  private(set) var listeners: [Listener] = []
  private(set) var refused: [Refused] = []
  private var lastChannel: UInt64 = 0

  // MARK: Listeners

  /// A client listens on a PSM, or on a free dynamic one if it names none.
  mutating func publish(
    _ psm: UInt16?, for client: ClientID, requiresEncryption: Bool
  ) -> Result<UInt16, HostError> {
    let isFree = { [listeners] (psm: UInt16) in !listeners.contains { $0.psm == psm } }
    let chosen: UInt16
    if let psm {
      guard (0x0001...0x00FF).contains(psm) else {
        return .failure(.invalidArgument("An LE PSM lies in 1 ... 255; \(psm) does not."))
      }
      guard psm != L2CAPLink.attributePSM else {
        return .failure(.invalidArgument("PSM \(psm) is the attribute protocol's."))
      }
      guard isFree(psm) else { return .failure(.invalidArgument("PSM \(psm) is in use.")) }
      chosen = psm
    } else {
      guard let free = Self.dynamicPSMs.first(where: isFree) else {
        return .failure(.limitReached("published channels"))
      }
      chosen = free
    }
    let listener = Listener(client: client, psm: chosen, requiresEncryption: requiresEncryption)
    listeners.append(listener)
    return .success(chosen)
  }

  mutating func unpublish(_ psm: UInt16, for client: ClientID) {
    listeners.removeAll { $0.client == client && $0.psm == psm }
  }

  mutating func unpublishAll(for client: ClientID) {
    listeners.removeAll { $0.client == client }
  }

  func listener(on psm: UInt16) -> Listener? { listeners.first { $0.psm == psm } }

  // MARK: Channels

  /// An open channel of a client.
  func channel(_ id: ChannelID, of client: ClientID) -> Channel? {
    channels.first { $0.id == id && $0.client == client && $0.opening == nil }
  }

  /// The channel with a CID on a link.
  func channel(_ localCID: UInt16, link handle: UInt16) -> Channel? {
    index(localCID, link: handle).map { channels[$0] }
  }

  private func index(_ localCID: UInt16, link handle: UInt16) -> Int? {
    channels.firstIndex { $0.link == handle && $0.localCID == localCID }
  }

  /// A client's channels on a link, also those that are being opened.
  func channels(of client: ClientID, link handle: UInt16) -> [Channel] {
    channels.filter { $0.client == client && $0.link == handle }
  }

  /// Adds a channel that a peer opened, or with `opening` one that a client asked for.
  @discardableResult
  mutating func add(
    _ localCID: UInt16, link handle: UInt16, for client: ClientID, opening: Opening? = nil
  ) -> ChannelID {
    assert(index(localCID, link: handle) == nil, "a CID names one channel of a link")
    lastChannel += 1
    let id = ChannelID(rawValue: lastChannel)
    channels.append(
      Channel(id: id, client: client, link: handle, localCID: localCID, opening: opening))
    return id
  }

  /// The peer accepted a channel that a client asked for. Returns the request to complete.
  mutating func opened(_ localCID: UInt16, link handle: UInt16) -> PendingRequest? {
    guard let index = index(localCID, link: handle) else { return nil }
    return channels[index].opening.take().map {
      PendingRequest(client: channels[index].client, token: $0.token)
    }
  }

  // MARK: Channels that wait for the link to be protected

  mutating func add(_ new: Refused) { refused.append(new) }

  /// Takes those of a link; with a client, only those of the client.
  mutating func takeRefused(link handle: UInt16, of client: ClientID? = nil) -> [Refused] {
    let isWanted = { (entry: Refused) in
      entry.link == handle && (client == nil || entry.client == client)
    }
    defer { refused.removeAll(where: isWanted) }
    return refused.filter(isWanted)
  }

  /// A channel ended, or did not come to be.
  mutating func remove(_ localCID: UInt16, link handle: UInt16) -> Channel? {
    index(localCID, link: handle).map { channels.remove(at: $0) }
  }

  /// The link is gone, and has reported the end of each of its channels.
  func hasChannels(link handle: UInt16) -> Bool {
    channels.contains { $0.link == handle } || refused.contains { $0.link == handle }
  }
}

extension ChannelTable {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    for (index, channel) in channels.prefix(limit).enumerated() {
      if channel.id.rawValue > lastChannel { found.append("a channel has a number of the future") }
      if self.index(channel.localCID, link: channel.link) != index {
        found.append("two channels of a link have one CID")
      }
    }
    for listener in listeners.prefix(limit) {
      if !(0x0001...0x00FF).contains(listener.psm) { found.append("a listener has no PSM of LE") }
      if listeners.count(where: { $0.psm == listener.psm }) > 1 {
        found.append("two clients listen on one PSM")
      }
    }
    return found
  }
}

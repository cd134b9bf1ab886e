import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Connection-oriented channels between clients, the table of channels and the links' L2CAP.

extension HostMachine {
  mutating func serveChannels(
    _ client: ClientID, _ request: HostRequest, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .publishChannel(let psm, let requiresEncryption, let token):
      let result = channels.publish(psm, for: client, requiresEncryption: requiresEncryption)
      let request = PendingRequest(client: client, token: token)
      complete(request, result.map { .psm($0) }, into: &actions)
    case .unpublishChannel(let psm):
      channels.unpublish(psm, for: client)
    case .openChannel(let peer, let psm, let token):
      let request = PendingRequest(client: client, token: token)
      guard let index = usableLink(client, peer) else {
        return complete(request, .failure(notConnectedError(peer)), into: &actions)
      }
      if !links.entries[index].gatt.isSetUp { startLinkSetup(index, now: now, into: &actions) }
      guard psm != L2CAPLink.attributePSM else {
        let error = HostError.invalidArgument("PSM \(psm) is the attribute protocol's.")
        return complete(request, .failure(error), into: &actions)
      }
      let opening = ChannelTable.Opening(psm: psm, token: token)
      guard !links.entries[index].security.isProvingBond else {
        // Asked for when the peer has proved that it is the one.
        guard hasRoomToWait(client, on: index) else {
          return complete(request, .failure(.limitReached("waiting channels")), into: &actions)
        }
        return channels.add(
          .init(
            client: client, link: links.handles[index], opening: opening,
            error: .refusedForAuthentication))
      }
      openChannel(opening, for: client, on: index, now: now, into: &actions)
    case .sendOnChannel(let id, let bytes, let token):
      let isSent = onChannel(id, client, now: now, into: &actions) { l2cap, cid, outputs in
        l2cap.send(bytes, on: cid, token: token, into: &outputs)
      }
      guard !isSent else { return }
      let request = PendingRequest(client: client, token: token)
      complete(request, .failure(.notConnected), into: &actions)
    case .consumedFromChannel(let id, let byteCount):
      guard byteCount > 0 else { return }
      onChannel(id, client, now: now, into: &actions) { l2cap, cid, outputs in
        l2cap.consumed(byteCount, from: cid, into: &outputs)
      }
    case .closeChannel(let id):
      onChannel(id, client, now: now, into: &actions) { l2cap, cid, outputs in
        l2cap.closeChannel(cid, now: now, into: &outputs)
      }
    default: preconditionFailure("\(request) is not about channels")
    }
  }

  /// Lets the L2CAP of a channel's link do something with the channel. Returns whether the client
  /// has such a channel.
  @discardableResult
  private mutating func onChannel(
    _ id: ChannelID, _ client: ClientID, now: Instant, into actions: inout [Action],
    _ body: (inout L2CAPLink, UInt16, inout [L2CAPLink.Output]) -> Void
  ) -> Bool {
    guard let channel = channels.channel(id, of: client) else { return false }
    guard let link = links.index(handle: channel.link) else {
      assertionFailure("a channel outlived its link")
      return false
    }
    withL2CAP(link, now: now, into: &actions) { l2cap, outputs in
      body(&l2cap, channel.localCID, &outputs)
    }
    return true
  }

  private mutating func openChannel(
    _ opening: ChannelTable.Opening, for client: ClientID, on index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    var result: Result<UInt16, HostError> = .failure(.notConnected)
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      do throws(HostError) {
        result = .success(try l2cap.openChannel(psm: opening.psm, now: now, into: &outputs))
      } catch {
        result = .failure(error)
      }
    }
    switch result {
    case .success(let cid): channels.add(cid, link: handle, for: client, opening: opening)
    case .failure(let error):
      let request = PendingRequest(client: client, token: opening.token)
      complete(request, .failure(error), into: &actions)
    }
  }

  // MARK: Channels that need a protected link

  /// Puts a request aside that the peer refused for want of security (Core 5.4, Vol 3, Part C,
  /// §10.3.2) and protects the link; false if it may not be repeated.
  private mutating func isRefusedForSecurity(
    _ cid: UInt16, _ error: HostError, link index: Int, now: Instant,
    into actions: inout [Action]
  ) -> Bool {
    let handle = links.handles[index]
    guard error.isWantOfSecurity, let opening = channels.channel(cid, link: handle)?.opening,
      !opening.isRepeated, let client = channels.channel(cid, link: handle)?.client,
      hasRoomToWait(client, on: index), let channel = channels.remove(cid, link: handle)
    else { return false }
    channels.add(
      .init(client: channel.client, link: handle, opening: opening, error: error))
    let requirement = requirement(
      after: error == .refusedForAuthentication
        ? .insufficientAuthentication : .insufficientEncryption, on: index)
    secure(
      index, requirement, for: requester(of: channel.client), now: now, into: &actions)
    return true
  }

  /// Whether another channel of a client's program may wait for the link's protection.
  private func hasRoomToWait(_ client: ClientID, on index: Int) -> Bool {
    let requester = requester(of: client)
    let own = channels.refused.count {
      $0.link == links.handles[index] && self.requester(of: $0.client) == requester
    }
    return own < LinkSecurity.Limits.requestsMax
  }

  /// The link is protected now, so that channels that waited for it are asked for again; or it won't
  /// be.
  mutating func channelsSecured(
    _ isSecured: Bool, link handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    for refused in channels.takeRefused(link: handle) {
      if isSecured, let index = links.index(handle: handle) {
        var opening = refused.opening
        opening.isRepeated = true
        openChannel(opening, for: refused.client, on: index, now: now, into: &actions)
      } else {
        end(refused, refused.error, into: &actions)
      }
    }
  }

  private func end(
    _ refused: ChannelTable.Refused, _ error: HostError, into actions: inout [Action]
  ) {
    let request = PendingRequest(client: refused.client, token: refused.opening.token)
    complete(request, .failure(error), into: &actions)
  }

  // MARK: Outputs of a link's L2CAP

  mutating func takeChannel(
    _ output: L2CAPLink.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .channelRequested(let request):
      answer(request, link: index, now: now, into: &actions)
    case .channelOpened(let info):
      channelOpened(info, link: links.handles[index], links.peers[index], into: &actions)
    case .channelRefused(let cid, let error)
    where isRefusedForSecurity(cid, error, link: index, now: now, into: &actions):
      break
    default:
      takeChannelEnd(output, link: links.handles[index], into: &actions)
    }
  }

  /// Takes an output that may also come when the link itself is gone.
  private mutating func takeChannelEnd(
    _ output: L2CAPLink.Output, link handle: UInt16, into actions: inout [Action]
  ) {
    switch output {
    case .channelReceived(let cid, let bytes):
      guard let channel = channels.channel(cid, link: handle) else { return }
      notify(channel.client, .channelReceived(channel.id, bytes), into: &actions)
    case .sendCompleted(let cid, let token, let error):
      guard let channel = channels.channel(cid, link: handle) else { return }
      let request = PendingRequest(client: channel.client, token: token)
      complete(request, error.map { .failure($0) } ?? .success(.done), into: &actions)
    case .channelRefused(let cid, let error):
      guard let channel = channels.remove(cid, link: handle), let opening = channel.opening else {
        return
      }
      let request = PendingRequest(client: channel.client, token: opening.token)
      complete(request, .failure(error), into: &actions)
    case .channelClosed(let cid, let error):
      guard let channel = channels.remove(cid, link: handle) else { return }
      notify(channel.client, .channelClosed(channel.id, error), into: &actions)
    case .sendFrame, .fixedChannel, .parameterUpdateRequested, .parameterUpdateAnswered,
      .channelRequested, .channelOpened, .channelReconfigured:
      break
    }
  }

  private mutating func answer(
    _ request: L2CAPChannelRequest, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    let listener = channels.listener(on: request.psm)
    let isEncrypted = links.entries[index].security.isEncrypted
    let isHidden =
      listener.map { hiddenLinks.contains(links.peers[index], from: $0.client) } ?? false
    if let listener, listener.requiresEncryption, !isEncrypted {
      needsProtection(listener.client, of: links.peers[index])
    }
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      guard let listener else {
        return l2cap.refuse(request, .spsmNotSupported, into: &outputs)
      }
      if isHidden { return l2cap.refuse(request, .noResources, into: &outputs) }
      if listener.requiresEncryption, !isEncrypted {
        l2cap.refuse(request, .insufficientAuthentication, into: &outputs)
      } else {
        l2cap.accept(request, into: &outputs)
      }
    }
  }

  private mutating func channelOpened(
    _ info: L2CAPChannelInfo, link handle: UInt16, _ peer: DeviceAddress,
    into actions: inout [Action]
  ) {
    if let known = channels.channel(info.localCID, link: handle) {
      guard let request = channels.opened(info.localCID, link: handle) else { return }
      let reply = ChannelInfo(id: known.id, peer: peer, psm: info.psm, peerMTU: info.peerMTU)
      return complete(request, .success(.channel(reply)), into: &actions)
    }
    guard let listener = channels.listener(on: info.psm) else {
      return assertionFailure("a channel was accepted that no client listens for")
    }
    let id = channels.add(info.localCID, link: handle, for: listener.client)
    let event = ChannelInfo(id: id, peer: peer, psm: info.psm, peerMTU: info.peerMTU)
    notify(listener.client, .channelOpened(event), into: &actions)
  }

  // MARK: Ends

  /// Ends all channels of a link that is gone.
  mutating func endChannels(
    of link: inout Link, _ error: HostError, into actions: inout [Action]
  ) {
    var produced: [L2CAPLink.Output] = []
    link.l2cap.close(error, into: &produced)
    for output in produced { takeChannelEnd(output, link: link.handle, into: &actions) }
    for refused in channels.takeRefused(link: link.handle) { end(refused, error, into: &actions) }
    assert(!channels.hasChannels(link: link.handle), "a channel outlived its link")
  }

  /// A client is gone: closes its channels and no longer listens for it.
  mutating func removeChannels(
    of client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    channels.unpublishAll(for: client)
    for handle in links.handles {
      closeChannels(of: client, link: handle, now: now, into: &actions)
    }
  }

  /// Closes a client's channels on a link, also those that are only being opened.
  mutating func closeChannels(
    of client: ClientID, link handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    for refused in channels.takeRefused(link: handle, of: client) {
      end(refused, .cancelled, into: &actions)
    }
    for channel in channels.channels(of: client, link: handle) {
      guard let link = links.index(handle: handle) else { return }
      withL2CAP(link, now: now, into: &actions) { l2cap, outputs in
        l2cap.closeChannel(channel.localCID, now: now, into: &outputs)
      }
    }
  }
}

extension HostError {
  /// The results of a channel request that a better protected link may change (Core 5.4, Vol 3,
  /// Part A, §4.23).
  fileprivate static let refusedForAuthentication = HostError.channelRefused(0x0005)
  fileprivate var isWantOfSecurity: Bool {
    self == .refusedForAuthentication || self == .channelRefused(0x0008)
  }
}

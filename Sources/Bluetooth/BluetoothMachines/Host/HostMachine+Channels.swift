import BluetoothWire
import Essentials

// Connection-oriented channels: which client has which, over which link.

/// A channel, or one that is being opened.
struct Channel: Sendable {
  let id: ChannelID
  let client: ClientID
  /// The link's handle and this end's CID on it.
  let link: UInt16
  let localCID: UInt16
  /// Until the peer has accepted it.
  var opening: RequestToken?
}

/// A PSM that a client listens on.
struct Listener: Sendable {
  let client: ClientID
  let psm: UInt16
  let requiresEncryption: Bool
}

extension HostMachine {
  private static var dynamicPSMs: ClosedRange<UInt16> { 0x0080...0x00FF }

  private func channelIndex(_ id: ChannelID, of client: ClientID) -> Int? {
    channels.firstIndex { $0.id == id && $0.client == client && $0.opening == nil }
  }

  private func channelIndex(_ localCID: UInt16, link handle: UInt16) -> Int? {
    channels.firstIndex { $0.link == handle && $0.localCID == localCID }
  }

  mutating func serveChannels(
    _ client: ClientID, _ request: HostRequest, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .publishChannel(let psm, let requiresEncryption, let token):
      let waiter = Waiter(client: client, token: token)
      complete(waiter, publish(psm, client, requiresEncryption), into: &actions)
    case .unpublishChannel(let psm):
      listeners.removeAll { $0.client == client && $0.psm == psm }
    case .openChannel(let peer, let psm, let token):
      openChannel(
        peer, psm, Waiter(client: client, token: token), now: now, into: &actions)
    case .sendOnChannel(let id, let bytes, let token):
      guard let index = channelIndex(id, of: client),
        let link = linkIndex(handle: channels[index].link)
      else {
        let waiter = Waiter(client: client, token: token)
        return complete(waiter, .failure(.notConnected), into: &actions)
      }
      let cid = channels[index].localCID
      withL2CAP(link, now: now, into: &actions) { l2cap, outputs in
        l2cap.send(bytes, on: cid, token: token, into: &outputs)
      }
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

  private mutating func onChannel(
    _ id: ChannelID, _ client: ClientID, now: Instant, into actions: inout [Action],
    _ body: (inout L2CAPLink, UInt16, inout [L2CAPLink.Output]) -> Void
  ) {
    guard let index = channelIndex(id, of: client),
      let link = linkIndex(handle: channels[index].link)
    else { return }
    let cid = channels[index].localCID
    withL2CAP(link, now: now, into: &actions) { l2cap, outputs in body(&l2cap, cid, &outputs) }
  }

  private mutating func publish(
    _ psm: UInt16?, _ client: ClientID, _ requiresEncryption: Bool
  ) -> Result<HostReply, HostError> {
    let isFree = { [listeners] (psm: UInt16) in !listeners.contains { $0.psm == psm } }
    let chosen: UInt16
    if let psm {
      guard (0x0001...0x00FF).contains(psm) else {
        return .failure(.invalidArgument("An LE PSM lies in 1 ... 255; \(psm) does not."))
      }
      guard isFree(psm) else {
        return .failure(.invalidArgument("PSM \(psm) is in use."))
      }
      chosen = psm
    } else {
      guard let free = Self.dynamicPSMs.first(where: isFree) else {
        return .failure(.limitReached("published channels"))
      }
      chosen = free
    }
    listeners.append(
      Listener(client: client, psm: chosen, requiresEncryption: requiresEncryption))
    return .success(.psm(chosen))
  }

  private mutating func openChannel(
    _ peer: DeviceAddress, _ psm: UInt16, _ waiter: Waiter, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = heldLink(waiter.client, peer), !links[index].isClosing else {
      return complete(waiter, .failure(absence), into: &actions)
    }
    let handle = linkHandles[index]
    var result: Result<UInt16, HostError> = .failure(.notConnected)
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      do throws(HostError) {
        result = .success(try l2cap.openChannel(psm: psm, now: now, into: &outputs))
      } catch {
        result = .failure(error)
      }
    }
    switch result {
    case .success(let cid): addChannel(cid, link: handle, waiter.client, opening: waiter.token)
    case .failure(let error): complete(waiter, .failure(error), into: &actions)
    }
  }

  @discardableResult
  private mutating func addChannel(
    _ cid: UInt16, link handle: UInt16, _ client: ClientID, opening: RequestToken?
  ) -> ChannelID {
    lastChannel += 1
    let id = ChannelID(rawValue: lastChannel)
    channels.append(
      Channel(id: id, client: client, link: handle, localCID: cid, opening: opening))
    return id
  }

  // MARK: What the link tells

  mutating func takeChannel(
    _ output: L2CAPLink.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    let handle = linkHandles[index]
    let peer = linkPeers[index]
    switch output {
    case .channelRequested(let request):
      answer(request, link: index, now: now, into: &actions)
    case .channelOpened(let info):
      channelOpened(info, link: handle, peer, into: &actions)
    default:
      takeChannelEnd(output, link: handle, into: &actions)
    }
  }

  /// What may still come when the link itself is gone.
  private mutating func takeChannelEnd(
    _ output: L2CAPLink.Output, link handle: UInt16, into actions: inout [Action]
  ) {
    switch output {
    case .channelReceived(let cid, let bytes):
      guard let index = channelIndex(cid, link: handle) else { return }
      let channel = channels[index]
      tell(channel.client, .channelReceived(channel.id, bytes), into: &actions)
    case .sendCompleted(let cid, let token, let error):
      guard let index = channelIndex(cid, link: handle) else { return }
      let waiter = Waiter(client: channels[index].client, token: token)
      complete(waiter, error.map { .failure($0) } ?? .success(.done), into: &actions)
    case .channelRefused(let cid, let error):
      guard let index = channelIndex(cid, link: handle) else { return }
      let channel = channels.remove(at: index)
      guard let token = channel.opening else { return }
      let waiter = Waiter(client: channel.client, token: token)
      complete(waiter, .failure(error), into: &actions)
    case .channelClosed(let cid, let error):
      guard let index = channelIndex(cid, link: handle) else { return }
      let channel = channels.remove(at: index)
      tell(channel.client, .channelClosed(channel.id, error), into: &actions)
    case .sendFrame, .fixedChannel, .parameterUpdateRequested, .parameterUpdateAnswered,
      .channelRequested, .channelOpened:
      break
    }
  }

  private mutating func answer(
    _ request: L2CAPChannelRequest, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    let listener = listeners.first { $0.psm == request.psm }
    let isEncrypted = links[index].info.isEncrypted
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      guard let listener else {
        return l2cap.refuse(request, .spsmNotSupported, into: &outputs)
      }
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
    if let index = channelIndex(info.localCID, link: handle) {
      guard let token = channels[index].opening else { return }
      channels[index].opening = nil
      let waiter = Waiter(client: channels[index].client, token: token)
      let reply = ChannelInfo(
        id: channels[index].id, peer: peer, psm: info.psm, peerMTU: info.peerMTU)
      return complete(waiter, .success(.channel(reply)), into: &actions)
    }
    // Accepted a moment ago, so the listener is still there.
    guard let listener = listeners.first(where: { $0.psm == info.psm }) else { return }
    let id = addChannel(info.localCID, link: handle, listener.client, opening: nil)
    let event = ChannelInfo(id: id, peer: peer, psm: info.psm, peerMTU: info.peerMTU)
    tell(listener.client, .channelOpened(event), into: &actions)
  }

  // MARK: The end

  /// Ends all channels of a link that is gone.
  mutating func closeChannels(
    of link: inout Link, _ error: HostError, into actions: inout [Action]
  ) {
    var outputs: [L2CAPLink.Output] = []
    link.l2cap.close(error, into: &outputs)
    for output in outputs { takeChannelEnd(output, link: link.handle, into: &actions) }
    channels.removeAll { $0.link == link.handle }
  }

  /// A client went: closes its channels and no longer listens for it.
  mutating func removeChannels(
    of client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    listeners.removeAll { $0.client == client }
    for handle in linkHandles { closeChannels(of: client, link: handle, now: now, into: &actions) }
  }

  /// Closes a client's channels on a link, also those that are only being opened.
  mutating func closeChannels(
    of client: ClientID, link handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    for channel in channels where channel.client == client && channel.link == handle {
      guard let link = linkIndex(handle: handle) else { return }
      withL2CAP(link, now: now, into: &actions) { l2cap, outputs in
        l2cap.closeChannel(channel.localCID, now: now, into: &outputs)
      }
    }
  }
}

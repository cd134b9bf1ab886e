import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Enhanced bearers of the attribute protocol, between L2CAP and both halves of GATT (Core 5.4, Vol 3,
// Part G, §5.3).

extension HostMachine {
  private var bearerParameters: L2CAPChannelParameters {
    let mtu = UInt16(clamping: max(configuration.mtuMax, L2CAPLimits.enhancedMTUMin))
    // A whole PDU with its length fits in one frame.
    return L2CAPChannelParameters(
      mtu: mtu, mps: min(mtu, 65_531) + 2, credits: EnhancedBearers.Limits.credits)
  }

  // MARK: Opening

  /// A client has more concurrent requests than bearers: requests more bearers from the peer.
  mutating func openBearers(on index: Int, now: Instant, into actions: inout [Action]) {
    let room = links.entries[index].bearers.room(configuration.enhancedBearerCountMax)
    guard room > 0, links.entries[index].bearers.mayAsk, links.entries[index].security.isEncrypted,
      !links.entries[index].isClosing
    else { return }
    let parameters = bearerParameters
    let handle = links.handles[index]
    var cids: [UInt16] = []
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      cids =
        (try? l2cap.openChannels(
          room, psm: L2CAPLink.attributePSM, parameters: parameters, now: now, into: &outputs))
        ?? []
    }
    guard let index = links.index(handle: handle), !cids.isEmpty else { return }
    links.entries[index].bearers.asked(for: cids.map { ATTBearer(rawValue: $0) })
  }

  /// Repeats the request, if those of both sides had collided.
  mutating func wakeBearers(_ index: Int, now: Instant, into actions: inout [Action]) {
    guard links.entries[index].bearers.isRetryDue(now: now) else { return }
    openBearers(on: index, now: now, into: &actions)
  }

  /// The peer requests bearers: accepted only over an encrypted link, and only by an enhanced
  /// request.
  mutating func answerBearers(
    _ request: L2CAPChannelRequest, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    links.entries[index].bearers.peerAsks()
    let room = links.entries[index].bearers.room(configuration.enhancedBearerCountMax)
    let isEncrypted = links.entries[index].security.isEncrypted
    let hasKey = security.usableBond(of: links.peers[index])?.peripheralKey != nil
    let isWanted = configuration.enhancedBearerCountMax > 0 && request.isEnhanced
    let parameters = bearerParameters
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      if !isWanted {
        l2cap.refuse(request, .spsmNotSupported, into: &outputs)
      } else if !isEncrypted {
        let result: L2CAPResult = hasKey ? .insufficientEncryption : .insufficientAuthentication
        l2cap.refuse(request, result, into: &outputs)
      } else {
        l2cap.accept(request, parameters: parameters, limit: room, into: &outputs)
      }
    }
  }

  // MARK: Output of L2CAP about bearers

  /// Handles an output of a link's L2CAP about a bearer; false if it is about something else.
  mutating func takeBearer(
    _ output: L2CAPLink.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) -> Bool {
    switch output {
    case .channelRequested(let request):
      guard request.psm == L2CAPLink.attributePSM else { return false }
      answerBearers(request, link: index, now: now, into: &actions)
    case .channelOpened(let info):
      guard info.psm == L2CAPLink.attributePSM else { return false }
      bearerOpened(info, link: index, now: now, into: &actions)
    case .channelRefused(let cid, let error):
      let bearer = ATTBearer(rawValue: cid)
      guard links.entries[index].bearers.opening.contains(bearer) else { return false }
      bearerRefused(bearer, error, link: index, now: now)
    case .channelReceived(let cid, let pdu):
      let bearer = ATTBearer(rawValue: cid)
      guard links.entries[index].bearers.contains(bearer) else { return false }
      received(pdu, over: bearer, link: index, now: now, into: &actions)
    case .channelReconfigured(let cid, let peerMTU):
      let bearer = ATTBearer(rawValue: cid)
      guard links.entries[index].bearers.contains(bearer) else { return false }
      let mtu = min(peerMTU, Int(bearerParameters.mtu))
      links.entries[index].gatt.setMTU(mtu, over: bearer)
      server.setMTU(mtu, links.peers[index], over: bearer)
    case .channelClosed(let cid, _):
      let bearer = ATTBearer(rawValue: cid)
      guard links.entries[index].bearers.contains(bearer) else { return false }
      bearerClosed(bearer, link: index, now: now, into: &actions)
    case .sendFrame, .fixedChannel, .parameterUpdateRequested, .parameterUpdateAnswered,
      .sendCompleted:
      return false
    }
    return true
  }

  private mutating func bearerOpened(
    _ info: L2CAPChannelInfo, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    let bearer = ATTBearer(rawValue: info.localCID)
    let mtu = min(info.peerMTU, Int(bearerParameters.mtu))
    links.entries[index].bearers.opened(bearer)
    server.bearerOpened(bearer, mtu: mtu, links.peers[index])
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.bearerOpened(bearer, mtu: mtu, now: now, into: &outputs)
    }
  }

  private mutating func bearerRefused(
    _ bearer: ATTBearer, _ error: HostError, link index: Int, now: Instant
  ) {
    // After a collision the central repeats its request at once, the peripheral after a delay
    // (§5.4).
    let info = links.entries[index].info
    let delay: TimeSpan =
      info.role == .central ? .zero : info.interval * Int64(2 * (Int(info.latency) + 1))
    links.entries[index].bearers.refused(
      bearer, forWantOfRoom: error == .channelRefused(L2CAPResult.noResources.rawValue),
      delay: delay, now: now)
    due(links.entries[index].bearers.retryAt)
  }

  private mutating func received(
    _ pdu: ArraySlice<UInt8>, over bearer: ATTBearer, link index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    // Taken at once: a request that waits for a client is one for each bearer.
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      l2cap.consumed(pdu.count, from: bearer.rawValue, into: &outputs)
    }
    guard let index = links.index(handle: handle) else { return }
    receiveAttributePDU(pdu, over: bearer, from: index, now: now, into: &actions)
  }

  private mutating func bearerClosed(
    _ bearer: ATTBearer, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    guard links.entries[index].bearers.closed(bearer) else { return }
    confirmations.remove(links.handles[index], over: bearer)
    server.bearerClosed(bearer, links.peers[index])
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.bearerClosed(bearer, now: now, into: &outputs)
    }
  }

  // MARK: Sending and closing

  /// Sends an attribute PDU over an enhanced bearer. A peer that doesn't take them loses the bearer.
  mutating func send(
    _ pdu: [UInt8], over bearer: ATTBearer, link index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    guard links.entries[index].bearers.open.contains(bearer) else { return }
    let cid = bearer.rawValue
    guard
      links.entries[index].l2cap.waitingSendCount(on: cid) < EnhancedBearers.Limits.waitingPDUsMax
    else { return closeBearer(bearer, link: index, now: now, into: &actions) }
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      l2cap.send(pdu, on: cid, token: RequestToken(rawValue: 0), into: &outputs)
    }
  }

  /// Closes a bearer that the peer answers nothing over; the link goes on without.
  mutating func closeBearer(
    _ bearer: ATTBearer, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    links.entries[index].bearers.giveUp()
    bearerClosed(bearer, link: index, now: now, into: &actions)
    guard let index = links.index(handle: handle) else { return }
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      l2cap.closeChannel(bearer.rawValue, now: now, into: &outputs)
    }
  }
}

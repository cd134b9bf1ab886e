package import BluetoothInterface
package import BluetoothWire
package import Essentials

/// Credit-based channels, as their owner uses them (Core 5.4, Vol 3, Part A, §10.1).
extension L2CAPLink {
  /// Requests a channel from the peer. `channelOpened` or `channelRefused` follows for the returned
  /// CID.
  package mutating func openChannel(
    psm: UInt16, parameters: L2CAPChannelParameters = .default, now: Instant,
    into outputs: inout [Output]
  ) throws(HostError) -> UInt16 {
    guard L2CAPLink.psms.contains(psm) else {
      throw .invalidArgument("An LE PSM lies in 1 ... 255; \(psm) does not.")
    }
    precondition(parameters.isValid, "a channel takes at least 23 bytes")
    guard let cid = freeCID(for: psm) else { throw .limitReached("channels on one link") }
    addChannel(cid, psm: psm, isIncoming: false, local: parameters)
    request(
      .creditBasedConnectionRequest(
        L2CAPCreditBasedConnectionRequest(
          spsm: psm, source: cid, mtu: parameters.mtu, mps: parameters.mps,
          initialCredits: parameters.credits)),
      for: .open(cid), now: now, into: &outputs)
    return cid
  }

  /// Accepts the peer's request, for at most `limit` channels. `channelOpened` follows for each
  /// channel, unless its CID was taken or a limit was reached since the request.
  package mutating func accept(
    _ request: L2CAPChannelRequest, parameters: L2CAPChannelParameters = .default,
    limit: Int = .max, into outputs: inout [Output]
  ) {
    precondition(parameters.isValid, "a channel takes at least 23 bytes")
    if request.isEnhanced, !parameters.isValidEnhanced {
      return refuse(request, .unacceptableParameters, into: &outputs)
    }
    var result = L2CAPResult.success
    let room = channels.count + min(limit, L2CAPLimits.channels)
    let ends = request.peerCIDs.map { peerCID in
      addIncoming(peerCID, request, parameters, room: room, result: &result)
    }
    guard ends.contains(where: { $0 != 0 }) else {
      return refuse(request, result, into: &outputs)
    }
    send(
      response(to: request, parameters, result: result, ends: ends),
      identifier: request.identifier, into: &outputs)
    for end in ends {
      guard let index = index(ofLocal: end) else { continue }
      outputs.append(.channelOpened(channels[index].info))
    }
  }

  /// Adds one channel that a peer asked for. Its CID; or zero, with the reason in `result`.
  private mutating func addIncoming(
    _ peerCID: UInt16, _ request: L2CAPChannelRequest, _ parameters: L2CAPChannelParameters,
    room: Int, result: inout L2CAPResult
  ) -> UInt16 {
    if !L2CAPChannelIdentifier.dynamic.contains(peerCID) {
      result = .invalidSourceCID
    } else if index(ofPeer: peerCID) != nil {
      result = .sourceCIDAlreadyAllocated
    } else if channels.count < room, let cid = freeCID(for: request.psm) {
      addChannel(cid, psm: request.psm, isIncoming: true, local: parameters)
      channels[channels.count - 1].isEnhanced = request.isEnhanced
      channels[channels.count - 1].opened(peerCID: peerCID, peer: request.peer)
      return cid
    } else {
      result = .noResources
    }
    return 0
  }

  private func response(
    to request: L2CAPChannelRequest, _ local: L2CAPChannelParameters, result: L2CAPResult,
    ends: [UInt16]
  ) -> L2CAPSignal {
    if request.isEnhanced {
      .enhancedConnectionResponse(
        L2CAPEnhancedConnectionResponse(
          mtu: local.mtu, mps: local.mps, initialCredits: local.credits, result: result,
          destinations: ends))
    } else {
      .creditBasedConnectionResponse(
        L2CAPCreditBasedConnectionResponse(
          destination: ends.first ?? 0, mtu: local.mtu, mps: local.mps,
          initialCredits: local.credits, result: result))
    }
  }

  /// Refuses the peer's request for a channel: with `.spsmNotSupported` if no client listens, with
  /// `.insufficientAuthentication` if the link must be encrypted and there is no key.
  package mutating func refuse(
    _ request: L2CAPChannelRequest, _ result: L2CAPResult, into outputs: inout [Output]
  ) {
    let nothing = L2CAPChannelParameters(mtu: 0, mps: 0, credits: 0)
    send(
      response(
        to: request, nothing, result: result, ends: request.peerCIDs.map { _ in 0 }),
      identifier: request.identifier, into: &outputs)
  }

  /// Sends bytes, in SDUs of at most the peer's MTU. `sendCompleted` always follows for the token.
  package mutating func send(
    _ bytes: [UInt8], on channel: UInt16, token: RequestToken, into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: channel), channels[index].isOpen else {
      outputs.append(.sendCompleted(channel, token, .notConnected))
      return
    }
    let waiting = channels[index].waitingBytes
    guard
      waiting == 0 || waiting + bytes.count <= L2CAPLimits.waitingSendBytes,
      channels[index].sends.count < L2CAPLimits.waitingSends
    else {
      outputs.append(.sendCompleted(channel, token, .limitReached("bytes waiting on a channel")))
      return
    }
    guard !bytes.isEmpty else {
      outputs.append(.sendCompleted(channel, token, nil))
      return
    }
    channels[index].waitingBytes += bytes.count
    channels[index].sends.append(CreditBasedChannel.Send(bytes: bytes, token: token))
    pump(index, into: &outputs)
  }

  /// Called when the scheduler has handed over a frame. Returns false if the tag doesn't belong to
  /// this link but to its owner, whose tags must have the top bit zero.
  @discardableResult
  package mutating func handedOver(_ tag: SendTag, into outputs: inout [Output]) -> Bool {
    guard tag.rawValue >> 63 == 1 else { return false }
    let cid = UInt16(truncatingIfNeeded: tag.rawValue)
    let generation = UInt32(truncatingIfNeeded: tag.rawValue >> 17)
    guard let index = index(ofLocal: cid), channels[index].generation == generation,
      channels[index].isOpen
    else { return true }
    channels[index].framesAhead -= 1
    if tag.rawValue >> 16 & 1 == 1, let token = channels[index].nearlySent.popFirst() {
      outputs.append(.sendCompleted(cid, token, nil))
    }
    pump(index, into: &outputs)
    return true
  }

  /// Called when the client has consumed received bytes, so that the peer may send more.
  package mutating func consumed(
    _ byteCount: Int, from channel: UInt16, into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: channel) else { return }
    channels[index].consumed(byteCount)
    grantCredits(index, into: &outputs)
  }

  /// Closes a channel. Pending sends fail with `.cancelled`; `channelClosed` follows when the peer
  /// has agreed, or after 30 s. A channel that is not open yet is refused at once.
  package mutating func closeChannel(
    _ channel: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: channel) else { return }
    if case .connecting = channels[index].state {
      channels[index].state = .abandoned
      outputs.append(.channelRefused(channel, .cancelled))
    }
    guard channels[index].isOpen else { return }
    failSends(index, .cancelled, into: &outputs)
    disconnect(index, isReported: false, now: now, into: &outputs)
  }

  static let psms: ClosedRange<UInt16> = 0x0001...0x00FF
  /// The attribute protocol's, for enhanced bearers (Core 5.4, Vol 3, Part G, §5.3.1).
  package static let attributePSM: UInt16 = 0x0027
}

/// Credit-based channels, inside.
extension L2CAPLink {
  func index(ofLocal cid: UInt16) -> Int? { channels.firstIndex { $0.localCID == cid } }

  func index(ofPeer cid: UInt16) -> Int? {
    channels.firstIndex { $0.hasPeer && $0.peerCID == cid }
  }

  /// A CID for a channel to this service; nil if there are too many of its kind.
  func freeCID(for psm: UInt16) -> UInt16? {
    let isBearer = psm == L2CAPLink.attributePSM
    let count = channels.count { ($0.psm == L2CAPLink.attributePSM) == isBearer }
    guard count < (isBearer ? L2CAPLimits.bearers : L2CAPLimits.channels) else { return nil }
    return L2CAPChannelIdentifier.dynamic.first { index(ofLocal: $0) == nil }
  }

  mutating func addChannel(
    _ cid: UInt16, psm: UInt16, isIncoming: Bool, local: L2CAPChannelParameters
  ) {
    channelGeneration &+= 1
    channels.append(
      CreditBasedChannel(
        localCID: cid, psm: psm, isIncoming: isIncoming, generation: channelGeneration,
        local: local, granted: Int(local.credits)))
  }

  mutating func receiveChannelFrame(
    _ payload: ArraySlice<UInt8>, on cid: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: cid), channels[index].isOpen else {
      dropped.unknownChannelFrames &+= 1
      return
    }
    switch channels[index].receive(payload) {
    case .partial:
      break
    case .unit(let unit):
      channels[index].hold(unit.count)
      if !unit.isEmpty { outputs.append(.channelReceived(cid, unit)) }
    case .violation:
      return breakChannel(index, now: now, into: &outputs)
    }
    grantCredits(index, into: &outputs)
  }

  mutating func grantCredits(_ index: Int, into outputs: inout [Output]) {
    guard channels[index].isOpen, let credits = channels[index].creditsToGrant() else { return }
    let signal = L2CAPSignal.flowControlCredit(
      source: channels[index].localCID, credits: credits)
    send(signal, identifier: nextIdentifier(), into: &outputs)
  }

  /// Sends frames while there are credits and not too many wait already.
  mutating func pump(_ index: Int, into outputs: inout [Output]) {
    while let frame = channels[index].nextFrame() { outputs.append(.sendFrame(frame)) }
  }

  /// The peer broke the channel's rules: notifies the client and closes the channel.
  mutating func breakChannel(_ index: Int, now: Instant, into outputs: inout [Output]) {
    guard channels[index].isOpen else { return }
    failSends(index, .invalidResponse, into: &outputs)
    outputs.append(.channelClosed(channels[index].localCID, .invalidResponse))
    disconnect(index, isReported: true, now: now, into: &outputs)
  }

  mutating func disconnect(
    _ index: Int, isReported: Bool, now: Instant, into outputs: inout [Output]
  ) {
    channels[index].state = .disconnecting(isReported: isReported)
    channels[index].unit = []
    channels[index].unitLength = nil
    let cid = channels[index].localCID
    request(
      .disconnectionRequest(destination: channels[index].peerCID, source: cid),
      for: .close(cid), now: now, into: &outputs)
  }

  mutating func failSends(_ index: Int, _ error: HostError, into outputs: inout [Output]) {
    let cid = channels[index].localCID
    while let token = channels[index].nearlySent.popFirst() {
      outputs.append(.sendCompleted(cid, token, error))
    }
    while let send = channels[index].sends.popFirst() {
      outputs.append(.sendCompleted(cid, send.token, error))
    }
    channels[index].waitingBytes = 0
  }

  /// Removes a channel and reports its end, unless it was reported before.
  mutating func endChannel(_ index: Int, _ error: HostError?, into outputs: inout [Output]) {
    failSends(index, error ?? .cancelled, into: &outputs)
    let channel = channels.remove(at: index)
    pending.removeAll {
      $0.purpose == .open(channel.localCID) || $0.purpose == .close(channel.localCID)
    }
    switch channel.state {
    case .connecting:
      outputs.append(.channelRefused(channel.localCID, error ?? .cancelled))
    case .open:
      outputs.append(.channelClosed(channel.localCID, error))
    case .disconnecting(isReported: false):
      outputs.append(.channelClosed(channel.localCID, nil))
    case .abandoned, .disconnecting(isReported: true):
      break
    }
  }
}

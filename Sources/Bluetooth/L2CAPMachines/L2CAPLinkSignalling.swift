package import BluetoothInterface
import BluetoothWire
package import Essentials

/// Connection parameter updates, requested by the peripheral (Core 5.4, Vol 3, Part A, §4.20).
extension L2CAPLink {
  /// As the peripheral, requests parameters from the central. `parameterUpdateAnswered` follows.
  package mutating func requestParameterUpdate(
    _ parameters: ConnectionParameters, now: Instant, into outputs: inout [Output]
  ) throws(HostError) {
    guard role == .peripheral else {
      throw .invalidArgument("A central updates connection parameters without a request.")
    }
    let wire = L2CAPConnectionParameters(
      intervalMinUnits: parameters.intervalUnits.lowerBound,
      intervalMaxUnits: parameters.intervalUnits.upperBound,
      latency: parameters.latency, timeoutUnits: parameters.timeoutUnits)
    guard wire.isValid else {
      throw .invalidArgument("This interval, latency and timeout are invalid.")
    }
    guard !pending.contains(where: { $0.purpose == .parameterUpdate }) else {
      throw .limitReached("parameter updates at a time")
    }
    request(
      .connectionParameterUpdateRequest(wire), for: .parameterUpdate, now: now, into: &outputs)
  }

  /// As the central, answers the peripheral's request for other parameters.
  package mutating func answerParameterUpdate(
    identifier: UInt8, accepted: Bool, into outputs: inout [Output]
  ) {
    send(
      .connectionParameterUpdateResponse(accepted: accepted), identifier: identifier,
      into: &outputs)
  }
}

/// Commands on the signalling channel (Core 5.4, Vol 3, Part A, §4).
extension L2CAPLink {
  mutating func send(
    _ signal: L2CAPSignal, identifier: UInt8, into outputs: inout [Output]
  ) {
    let payload = L2CAPSignalPDU(identifier: identifier, signal: signal).bytes
    outputs.append(
      .sendFrame(OutgoingFrame(channel: L2CAPChannelIdentifier.signalling, payload: payload)))
  }

  mutating func request(
    _ signal: L2CAPSignal, for purpose: Purpose, now: Instant, into outputs: inout [Output]
  ) {
    let identifier = nextIdentifier()
    pending.append(
      Pending(
        identifier: identifier, purpose: purpose,
        deadline: now + .seconds(L2CAPLimits.responseSeconds)))
    send(signal, identifier: identifier, into: &outputs)
  }

  /// The next identifier that no request waits with. There always is one: every channel waits for
  /// one answer at most, and the link itself for one.
  mutating func nextIdentifier() -> UInt8 {
    repeat {
      lastIdentifier = lastIdentifier == .max ? 1 : lastIdentifier + 1
    } while pending.contains { $0.identifier == lastIdentifier }
    return lastIdentifier
  }

  mutating func rejectOversizedSignal(
    _ beginning: ArraySlice<UInt8>, into outputs: inout [Output]
  ) {
    reject(beginning, .signallingMTUExceeded(UInt16(L2CAPLimits.signallingMTU)), into: &outputs)
  }

  /// Rejects a command, unless it is one that must not be answered.
  private mutating func reject(
    _ payload: ArraySlice<UInt8>, _ reason: L2CAPRejectReason, into outputs: inout [Output]
  ) {
    dropped.pointlessSignals &+= 1
    guard let code = payload.first, let identifier = payload.dropFirst().first,
      identifier != 0, !L2CAPSignal.isUnanswered(code: code)
    else { return }
    send(.commandReject(reason), identifier: identifier, into: &outputs)
  }

  mutating func receiveSignal(
    _ payload: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    let pdu: L2CAPSignalPDU
    do {
      pdu = try L2CAPSignalPDU(decoding: payload)
    } catch {
      return reject(payload, .commandNotUnderstood, into: &outputs)
    }
    let identifier = pdu.identifier
    switch pdu.signal {
    case .connectionParameterUpdateRequest(let parameters) where role == .central:
      receive(parameters, identifier: identifier, into: &outputs)
    case .creditBasedConnectionRequest(let request):
      receive(request, identifier: identifier, into: &outputs)
    case .disconnectionRequest(let destination, let source):
      receiveDisconnection(
        local: destination, remote: source, identifier: identifier, into: &outputs)
    case .flowControlCredit(let source, let credits):
      receiveCredits(Int(credits), peerCID: source, now: now, into: &outputs)
    case .enhancedConnectionRequest(let request) where !request.sources.isEmpty:
      receive(request, identifier: identifier, into: &outputs)
    case .reconfigureRequest(let mtu, let mps, let peerCIDs):
      let result = reconfigure(peerCIDs, mtu: Int(mtu), mps: Int(mps), into: &outputs)
      send(.reconfigureResponse(result), identifier: identifier, into: &outputs)
    case .commandReject, .connectionParameterUpdateResponse, .creditBasedConnectionResponse,
      .enhancedConnectionResponse, .disconnectionResponse:
      receiveAnswer(pdu, now: now, into: &outputs)
    case .connectionParameterUpdateRequest, .enhancedConnectionRequest, .reconfigureResponse,
      .unknown:
      reject(payload, .commandNotUnderstood, into: &outputs)
    }
  }

  private mutating func receive(
    _ parameters: L2CAPConnectionParameters, identifier: UInt8, into outputs: inout [Output]
  ) {
    guard parameters.isValid else {
      return answerParameterUpdate(identifier: identifier, accepted: false, into: &outputs)
    }
    let wanted = ConnectionParameters(
      intervalUnits: parameters.intervalMinUnits...parameters.intervalMaxUnits,
      latency: parameters.latency, timeoutUnits: parameters.timeoutUnits)
    outputs.append(.parameterUpdateRequested(wanted, identifier: identifier))
  }

  private mutating func receive(
    _ wire: L2CAPCreditBasedConnectionRequest, identifier: UInt8, into outputs: inout [Output]
  ) {
    let request = L2CAPChannelRequest(
      psm: wire.spsm, identifier: identifier, peerCIDs: [wire.source],
      peer: L2CAPChannelParameters(
        mtu: wire.mtu, mps: wire.mps, credits: wire.initialCredits),
      isEnhanced: false)
    if !L2CAPLink.psms.contains(wire.spsm) {
      refuse(request, .spsmNotSupported, into: &outputs)
    } else if !L2CAPChannelIdentifier.dynamic.contains(wire.source) {
      refuse(request, .invalidSourceCID, into: &outputs)
    } else if index(ofPeer: wire.source) != nil {
      refuse(request, .sourceCIDAlreadyAllocated, into: &outputs)
    } else if !request.peer.isValid {
      refuse(request, .unacceptableParameters, into: &outputs)
    } else if freeCID(for: wire.spsm) == nil {
      refuse(request, .noResources, into: &outputs)
    } else {
      outputs.append(.channelRequested(request))
    }
  }

  private mutating func receive(
    _ wire: L2CAPEnhancedConnectionRequest, identifier: UInt8, into outputs: inout [Output]
  ) {
    let request = L2CAPChannelRequest(
      psm: wire.spsm, identifier: identifier, peerCIDs: wire.sources,
      peer: L2CAPChannelParameters(
        mtu: wire.mtu, mps: wire.mps, credits: wire.initialCredits),
      isEnhanced: true)
    if !L2CAPLink.psms.contains(wire.spsm) {
      refuse(request, .spsmNotSupported, into: &outputs)
    } else if !request.peer.isValidEnhanced {
      refuse(request, .unacceptableParameters, into: &outputs)
    } else {
      outputs.append(.channelRequested(request))
    }
  }

  /// Changes what the peer takes on channels that it names by its own ends (§4.27): all or none.
  private mutating func reconfigure(
    _ peerCIDs: [UInt16], mtu: Int, mps: Int, into outputs: inout [Output]
  ) -> L2CAPReconfigureResult {
    let places = peerCIDs.compactMap { index(ofPeer: $0) }
    guard !places.isEmpty, places.count == peerCIDs.count,
      places.allSatisfy({ channels[$0].isOpen && channels[$0].isEnhanced })
    else { return .invalidDestinationCID }
    guard places.allSatisfy({ mtu >= channels[$0].peerMTU }) else { return .mtuReduced }
    guard places.count == 1 || places.allSatisfy({ mps >= channels[$0].peerMPS }) else {
      return .mpsReduced
    }
    guard mtu >= L2CAPLimits.enhancedMTUMin, (L2CAPLimits.enhancedMTUMin...65533).contains(mps)
    else { return .unacceptableParameters }
    for place in places {
      channels[place].peerMTU = mtu
      channels[place].peerMPS = mps
      outputs.append(.channelReconfigured(channels[place].localCID, peerMTU: mtu))
    }
    return .success
  }

  private mutating func receiveDisconnection(
    local: UInt16, remote: UInt16, identifier: UInt8, into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: local), channels[index].hasPeer else {
      dropped.pointlessSignals &+= 1
      send(
        .commandReject(.invalidCID(local: local, remote: remote)), identifier: identifier,
        into: &outputs)
      return
    }
    guard channels[index].peerCID == remote else {
      dropped.pointlessSignals &+= 1
      return
    }
    send(
      .disconnectionResponse(destination: local, source: remote), identifier: identifier,
      into: &outputs)
    endChannel(index, L2CAPLink.closedByPeer, into: &outputs)
  }

  private mutating func receiveCredits(
    _ credits: Int, peerCID: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    guard credits > 0, let index = index(ofPeer: peerCID), channels[index].isOpen else {
      dropped.pointlessSignals &+= 1
      return
    }
    guard channels[index].credits + credits <= L2CAPLimits.credits else {
      return breakChannel(index, now: now, into: &outputs)
    }
    channels[index].credits += credits
    pump(index, into: &outputs)
  }

  /// The error of a channel that the peer closed: remote user terminated.
  static let closedByPeer = HostError.disconnected(HCIStatus(rawValue: 0x13))
}

/// Answers to what this end asked for.
extension L2CAPLink {
  private mutating func receiveAnswer(
    _ pdu: L2CAPSignalPDU, now: Instant, into outputs: inout [Output]
  ) {
    guard let place = pending.firstIndex(where: { $0.identifier == pdu.identifier }) else {
      dropped.pointlessSignals &+= 1
      return
    }
    let purpose = pending[place].purpose
    switch (purpose, pdu.signal) {
    case (.parameterUpdate, .connectionParameterUpdateResponse(let accepted)):
      pending.remove(at: place)
      outputs.append(.parameterUpdateAnswered(accepted: accepted))
    case (.open(let cid), .creditBasedConnectionResponse(let response)):
      pending.remove(at: place)
      opened(cid, response, now: now, into: &outputs)
    case (.openSeveral(let cids), .enhancedConnectionResponse(let response)):
      pending.remove(at: place)
      opened(cids, response, now: now, into: &outputs)
    case (.close(let cid), .disconnectionResponse(let destination, let source)):
      // CIDs that don't match: discarded (§4.7), and the time runs on.
      guard source == cid, let index = index(ofLocal: cid),
        channels[index].peerCID == destination
      else {
        dropped.pointlessSignals &+= 1
        return
      }
      endChannel(index, nil, into: &outputs)
    case (_, .commandReject):
      pending.remove(at: place)
      failed(purpose, .unsupported("The peer does not know this L2CAP command."), into: &outputs)
    default:
      dropped.pointlessSignals &+= 1
    }
  }

  private mutating func opened(
    _ cid: UInt16, _ response: L2CAPCreditBasedConnectionResponse, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let index = index(ofLocal: cid) else { return }
    guard response.result == .success else {
      return endChannel(index, .channelRefused(response.result.rawValue), into: &outputs)
    }
    let peer = L2CAPChannelParameters(
      mtu: response.mtu, mps: response.mps, credits: response.initialCredits)
    opened(
      index, at: response.destination, peer, isSensible: peer.isValid, now: now, into: &outputs)
  }

  /// The peer accepted a channel, at this end of its own.
  mutating func opened(
    _ index: Int, at destination: UInt16, _ peer: L2CAPChannelParameters, isSensible: Bool,
    now: Instant, into outputs: inout [Output]
  ) {
    let cid = channels[index].localCID
    let isSensible =
      isSensible && L2CAPChannelIdentifier.dynamic.contains(destination)
      && self.index(ofPeer: destination) == nil
    let isWanted = if case .connecting = channels[index].state { true } else { false }
    channels[index].opened(peerCID: destination, peer: peer)
    guard isSensible, isWanted else {
      // Open at the peer's end, but of no use.
      if isWanted { outputs.append(.channelRefused(cid, .invalidResponse)) }
      return disconnect(index, isReported: true, now: now, into: &outputs)
    }
    outputs.append(.channelOpened(channels[index].info))
  }

  /// The peer rejected a request, or never answered it.
  mutating func failed(_ purpose: Purpose, _ error: HostError, into outputs: inout [Output]) {
    switch purpose {
    case .parameterUpdate:
      outputs.append(.parameterUpdateAnswered(accepted: false))
    case .open(let cid), .close(let cid):
      if let index = index(ofLocal: cid) { endChannel(index, error, into: &outputs) }
    case .openSeveral(let cids):
      for cid in cids {
        if let index = index(ofLocal: cid) { endChannel(index, error, into: &outputs) }
      }
    }
  }
}

import BluetoothWire
import Essentials

/// A control PDU of the link layer (Core 5.4, Vol 6, Part B, §2.4.2).
enum LinkControl {
  case featureRequest(LEFeatures)
  case featureResponse(LEFeatures)
  case version(UInt8, company: UInt16, subversion: UInt16)
  case lengthRequest(LEMaximumDataLength)
  case lengthResponse(LEMaximumDataLength)
  case phyRequest(PHYPreference)
  case phyResponse(PHYPreference)
  case phyUpdate(centralToPeripheral: PHY, peripheralToCentral: PHY)
  case connectionParameterRequest(ConnectionTimingRequest)
  case connectionUpdate(ConnectionTiming)
  case channelMap(ChannelMap)
  case subrateRequest(SubrateRequest)
  case subrateIndication(Subrate)
  case encryptionRequest(EncryptionRequest)
  case encryptionResponse(LinkCipher.SessionHalf)
  case startEncryptionRequest
  case startEncryptionResponse
  case pauseEncryptionRequest
  case pauseEncryptionResponse
  case reject(Opcode, HCIStatus)
  case terminate(HCIStatus)

  /// How long the real packet is, opcode included.
  var byteCount: Int {
    switch self {
    case .featureRequest, .featureResponse, .lengthRequest, .lengthResponse: 9
    case .version: 6
    case .phyRequest, .phyResponse: 3
    case .phyUpdate: 5
    case .connectionParameterRequest: 24
    case .connectionUpdate: 12
    case .channelMap: 8
    case .subrateRequest, .subrateIndication: 11
    case .encryptionRequest: 23
    case .encryptionResponse: 13
    case .startEncryptionRequest, .startEncryptionResponse, .pauseEncryptionRequest,
      .pauseEncryptionResponse:
      1
    case .reject: 3
    case .terminate: 2
    }
  }

  /// Whether both start the same procedure.
  func isSameKind(as other: LinkControl) -> Bool {
    switch (self, other) {
    case (.featureRequest, .featureRequest), (.version, .version),
      (.lengthRequest, .lengthRequest), (.phyRequest, .phyRequest),
      (.connectionParameterRequest, .connectionParameterRequest),
      (.connectionUpdate, .connectionUpdate), (.subrateRequest, .subrateRequest),
      (.subrateIndication, .subrateIndication), (.encryptionRequest, .encryptionRequest):
      true
    default: false
    }
  }
}

/// Requests encryption (Core 5.4, Vol 6, Part B, §2.4.2.4).
struct EncryptionRequest {
  /// What the peripheral's host finds the key by.
  var random: UInt64
  var diversifier: UInt16
  /// What the central drew for the session.
  var half: LinkCipher.SessionHalf
}

extension Endpoint {
  /// Handles a control PDU of the peer's link layer.
  func handle(_ pdu: LinkControl) {
    switch pdu {
    case .featureRequest:
      enqueue(.featureResponse(controller.features))
    case .featureResponse(let features):
      finishProcedure()
      controller.send(LEReadRemoteFeaturesComplete(handle: handle, features: features))
    case .version(let version, let company, let subversion):
      heardVersion((version, company, subversion))
    case .lengthRequest(let length):
      agree(length)
      enqueue(.lengthResponse(ownLength))
    case .lengthResponse(let length):
      agree(length)
      finishProcedure()
    case .phyRequest(let preference), .phyResponse(let preference):
      if role == .central {
        decidePHY(peripheral: preference)
      } else {
        enqueue(.phyResponse(phyPreference))
      }
    case .phyUpdate(let centralToPeripheral, let peripheralToCentral):
      link.plan(.phys(centralToPeripheral, peripheralToCentral))
    case .connectionParameterRequest(let request):
      heardParameterRequest(request)
    case .connectionUpdate(let timing):
      link.plan(.timing(timing))
    case .channelMap(let channels):
      link.plan(.channels(channels))
    case .subrateRequest(let request):
      heardSubrateRequest(request)
    case .subrateIndication(let subrate):
      link.plan(.subrate(subrate))
    case .encryptionRequest(let request):
      heardEncryptionRequest(request)
    case .encryptionResponse(let half):
      heardEncryptionResponse(half)
    case .startEncryptionRequest:
      heardStartRequest()
    case .startEncryptionResponse:
      heardStartResponse()
    case .pauseEncryptionRequest:
      heardPauseRequest()
    case .pauseEncryptionResponse:
      heardPauseResponse()
    case .reject(_, let status):
      heardReject(status)
    case .terminate(let reason):
      let peer = peerEndpoint
      end(reason)
      peer.end(.localHostTerminatedConnection)
    }
  }

  // Versions are exchanged once in the life of a link (Core 5.4, Vol 6, Part B, §5.1.5).
  func readVersion() {
    if remoteVersion != nil { return sendVersion() }
    let capabilities = controller.capabilities
    startProcedure(
      .version(
        capabilities.version, company: capabilities.company,
        subversion: capabilities.subversion))
  }

  private func heardVersion(_ version: (version: UInt8, company: UInt16, subversion: UInt16)) {
    remoteVersion = version
    if !hasSentVersion {
      hasSentVersion = true
      let own = controller.capabilities
      enqueue(.version(own.version, company: own.company, subversion: own.subversion))
    }
    guard case .version = procedure else { return }
    finishProcedure()
    sendVersion()
  }

  private func sendVersion() {
    guard let remoteVersion else { return }
    controller.send(
      ReadRemoteVersionInformationComplete(
        handle: handle, version: remoteVersion.version, company: remoteVersion.company,
        subversion: remoteVersion.subversion))
  }

  /// The smaller of what one sends and the other receives (Core 5.4, Vol 6, Part B, §4.5.10).
  private func agree(_ remote: LEMaximumDataLength) {
    let agreed = LEMaximumDataLength(
      txOctets: min(ownLength.txOctets, remote.rxOctets),
      txTimeMicroseconds: min(ownLength.txTimeMicroseconds, remote.rxTimeMicroseconds),
      rxOctets: min(ownLength.rxOctets, remote.txOctets),
      rxTimeMicroseconds: min(ownLength.rxTimeMicroseconds, remote.txTimeMicroseconds))
    guard agreed != effectiveLength else { return }
    effectiveLength = agreed
    controller.send(LEDataLengthChange(handle: handle, length: agreed))
  }

  /// The fastest PHY that both want, for each direction; else it stays.
  private func decidePHY(peripheral: PHYPreference) {
    let peer = peerEndpoint
    let all = controller.capabilities.phys
    func choose(_ a: PHYSet?, _ b: PHYSet?, else current: PHY) -> PHY {
      let both = (a ?? all).intersection(b ?? peer.controller.capabilities.phys)
      if a == nil, b == nil { return current }
      if both.contains(.le2M) { return .le2M }
      if both.contains(.le1M) { return .le1M }
      return both.contains(.leCoded) ? .leCoded : current
    }
    enqueue(
      .phyUpdate(
        centralToPeripheral: choose(
          phyPreference.transmit, peripheral.receive, else: transmitPHY),
        peripheralToCentral: choose(
          phyPreference.receive, peripheral.transmit, else: peer.transmitPHY)))
  }

  private func heardParameterRequest(_ request: ConnectionTimingRequest) {
    guard controller.isUnmasked(LERemoteConnectionParameterRequest.code) else {
      return enqueue(.reject(.connectionParameterRequest, .unsupportedRemoteFeature))
    }
    awaitsParameterReply = true
    controller.send(
      LERemoteConnectionParameterRequest(
        handle: handle, intervalMinUnits1250us: request.intervalMinUnits1250us,
        intervalMaxUnits1250us: request.intervalMaxUnits1250us, latency: request.latency,
        timeoutUnits10ms: request.timeoutUnits10ms))
  }

  private func heardReject(_ status: HCIStatus) {
    let rejected = procedure
    if case .encryptionRequest = rejected { link.isDataPaused = false }
    finishProcedure()
    switch rejected {
    case .encryptionRequest:
      controller.send(
        EncryptionChange(status: status, handle: handle, encryption: isEncrypted ? .on : .off))
    case .connectionParameterRequest:
      controller.send(
        LEConnectionUpdateComplete(status: status, handle: handle, timing: link.timing))
    case .subrateRequest:
      controller.send(LESubrateChange(status: status, handle: handle, subrate: link.subrate))
    case .featureRequest:
      controller.send(
        LEReadRemoteFeaturesComplete(status: status, handle: handle, features: []))
    default:
      break
    }
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

// An event of every number, with every reply, error, prompt, failure, state, role and reason. An event without a number doesn't compile, nor a number without a sample.
extension Sampler {
  mutating func events() -> [HostEvent] {
    var events: [HostEvent] = []
    for number in RadioEventNumber.allCases { events.append(event(number)) }
    for number in LinkEventNumber.allCases { events.append(event(number)) }
    for number in AttributeEventNumber.allCases { events.append(event(number)) }
    for number in ChannelEventNumber.allCases { events.append(event(number)) }
    for number in HostReply.Number.allCases {
      events.append(.completed(token(), .success(reply(number))))
    }
    for number in HostError.Number.allCases {
      events.append(.completed(token(), .failure(error(number))))
    }
    for number in PairingPrompt.Number.allCases {
      events.append(.pairingPrompt(address(), prompt(number), promptID()))
    }
    for number in SecurityFailure.Number.allCases {
      events.append(.pairingEnded(address(), failure(number)))
    }
    for state in RadioState.allCases { events.append(.stateChanged(state)) }
    for role in LinkInfo.Role.allCases { events.append(.linkOpened(link(role))) }
    for reason in BondRejection.allCases { events.append(.bondNotKept(address(), reason)) }
    return events
  }

  mutating func event(_ number: RadioEventNumber) -> HostEvent {
    switch number {
    case .stateChanged: return .stateChanged(element(of: RadioState.allCases))
    case .completed: return .completed(token(), .success(.done))
    case .discovered: return .discovered(report())
    case .acknowledgementRequested: return .acknowledgementRequested
    }
  }

  mutating func event(_ number: LinkEventNumber) -> HostEvent {
    switch number {
    case .linkOpened: return .linkOpened(link())
    case .linkUpdated: return .linkUpdated(link())
    case .linkClosed: return .linkClosed(address(), error())
    case .connected: return .connected(address())
    case .connectionFailed: return .connectionFailed(address(), error())
    case .disconnected:
      return .disconnected(address(), optional { $0.error() }, reconnecting: bool())
    case .pairingPrompt:
      return .pairingPrompt(
        address(), prompt(element(of: PairingPrompt.Number.allCases)), promptID())
    case .pairingEnded:
      let failure = optional { $0.failure($0.element(of: SecurityFailure.Number.allCases)) }
      return .pairingEnded(address(), failure)
    case .bondNotKept: return .bondNotKept(address(), element(of: BondRejection.allCases))
    }
  }

  mutating func event(_ number: AttributeEventNumber) -> HostEvent {
    switch number {
    case .valueUpdated: return .valueUpdated(address(), handle: self.number(), slice())
    case .valuesDropped:
      return .valuesDropped(address(), handle: self.number(), count: count())
    case .servicesChanged: return .servicesChanged(address(), range())
    case .serverRequest: return .serverRequest(serverRequest())
    case .writesDropped:
      return .writesDropped(address(), handle: self.number(), count: count())
    case .requestsExpired:
      return .requestsExpired(address(), handle: self.number(), count: count())
    case .subscribed: return .subscribed(address(), handle: self.number())
    case .unsubscribed: return .unsubscribed(address(), handle: self.number())
    }
  }

  mutating func event(_ number: ChannelEventNumber) -> HostEvent {
    switch number {
    case .channelOpened: return .channelOpened(channel())
    case .channelReceived: return .channelReceived(channelID(), slice())
    case .channelClosed: return .channelClosed(channelID(), optional { $0.error() })
    }
  }

  // MARK: Parts

  mutating func reply(_ number: HostReply.Number) -> HostReply {
    switch number {
    case .done: return .done
    case .services:
      return .services(
        list { RemoteService(uuid: $0.uuid(), range: $0.range(), isPrimary: $0.bool()) })
    case .characteristics:
      return .characteristics(
        list {
          RemoteCharacteristic(
            uuid: $0.uuid(), declarationHandle: $0.number(), valueHandle: $0.number(),
            endHandle: $0.number(), properties: CharacteristicProperties(rawValue: $0.number()))
        })
    case .descriptors:
      return .descriptors(list { RemoteDescriptor(uuid: $0.uuid(), handle: $0.number()) })
    case .value: return .value(bytes())
    case .values: return .values(list { $0.attributeValue() })
    case .rssi: return .rssi(self.number())
    case .published:
      let characteristics = list { sampler in
        PublishedCharacteristic(
          valueHandle: sampler.number(), configurationHandle: sampler.optional { $0.number() })
      }
      return .published(PublishedService(range: range(), characteristics: characteristics))
    case .psm: return .psm(self.number())
    case .channel: return .channel(channel())
    case .outOfBandData:
      return .outOfBandData(outOfBandData(element(of: OutOfBandData.Number.allCases)))
    }
  }

  mutating func error() -> HostError { error(element(of: HostError.Number.allCases)) }

  mutating func error(_ number: HostError.Number) -> HostError {
    switch number {
    case .radioNotReady: return .radioNotReady
    case .controller: return .controller(status())
    case .unsupported: return .unsupported(text())
    case .invalidArgument: return .invalidArgument(text())
    case .limitReached: return .limitReached(text())
    case .notConnected: return .notConnected
    case .connectionFailed: return .connectionFailed(status())
    case .disconnected: return .disconnected(status())
    case .cancelled: return .cancelled
    case .att: return .att(ATTErrorCode(rawValue: self.number()), handle: self.number())
    case .attTimeout: return .attTimeout
    case .invalidResponse: return .invalidResponse
    case .channelRefused: return .channelRefused(self.number())
    case .security:
      return .security(failure(element(of: SecurityFailure.Number.allCases)))
    case .transport: return .transport(text())
    case .unauthorized: return .unauthorized(text())
    case .tooManyNotifications: return .tooManyNotifications
    }
  }

  mutating func failure(_ number: SecurityFailure.Number) -> SecurityFailure {
    switch number {
    case .pairingFailed: return .pairingFailed(SMPFailureReason(rawValue: self.number()))
    case .peerFailed: return .peerFailed(SMPFailureReason(rawValue: self.number()))
    case .timeout: return .timeout
    case .keyMissing: return .keyMissing
    case .encryptionFailed: return .encryptionFailed(status())
    case .disconnected: return .disconnected
    }
  }

  mutating func prompt(_ number: PairingPrompt.Number) -> PairingPrompt {
    switch number {
    case .consent: return .consent
    case .displayPasskey: return .displayPasskey(self.number())
    case .enterPasskey: return .enterPasskey
    case .compareNumber: return .compareNumber(self.number())
    case .replaceBond: return .replaceBond(address())
    }
  }

  mutating func serverRequest() -> ServerRequest {
    let kind: ServerRequest.Kind
    switch element(of: ServerRequest.Kind.Number.allCases) {
    case .read: kind = .read(handle: number(), offset: count())
    case .write:
      kind = .write(
        list {
          ServerRequest.Write(handle: $0.number(), offset: $0.count(), value: $0.bytes())
        })
    }
    return ServerRequest(
      id: serverRequestID(), peer: address(), kind: kind, needsResponse: bool())
  }
}

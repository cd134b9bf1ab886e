/// A command on the LE signalling channel (Core 5.4, Vol 3, Part A, §4).
///
/// Each has an identifier, which matches a response with its request and is never zero.
package enum L2CAPSignal: Hashable, Sendable {
  /// The request with the same identifier was rejected.
  case commandReject(L2CAPRejectReason)
  /// Closes a channel; `destination` is the CID of the receiver of this command.
  case disconnectionRequest(destination: UInt16, source: UInt16)
  /// The channel is closed; the same CIDs as in the request.
  case disconnectionResponse(destination: UInt16, source: UInt16)
  /// A peripheral requests other connection parameters.
  case connectionParameterUpdateRequest(L2CAPConnectionParameters)
  /// Whether the central will change the timing.
  case connectionParameterUpdateResponse(accepted: Bool)
  /// Opens a channel.
  case creditBasedConnectionRequest(L2CAPCreditBasedConnectionRequest)
  /// Answers the request to open a channel.
  case creditBasedConnectionResponse(L2CAPCreditBasedConnectionResponse)
  /// Grants the receiver `credits` more frames on the channel that the sender calls `source`.
  case flowControlCredit(source: UInt16, credits: UInt16)
  /// Opens up to five channels at once.
  case enhancedConnectionRequest(L2CAPEnhancedConnectionRequest)
  /// Answers the request to open several channels.
  case enhancedConnectionResponse(L2CAPEnhancedConnectionResponse)
  /// Changes what the sender takes on channels that were opened at once. The CIDs are the sender's,
  /// though the specification calls the field Destination CID: so all stacks read it.
  case reconfigureRequest(mtu: UInt16, mps: UInt16, sources: [UInt16])
  /// Answers the request to change sizes.
  case reconfigureResponse(L2CAPReconfigureResult)
  /// A command that LE does not have.
  case unknown(code: UInt8)

  /// The command code on the wire.
  package var code: UInt8 {
    switch self {
    case .commandReject: 0x01
    case .disconnectionRequest: 0x06
    case .disconnectionResponse: 0x07
    case .connectionParameterUpdateRequest: 0x12
    case .connectionParameterUpdateResponse: 0x13
    case .creditBasedConnectionRequest: 0x14
    case .creditBasedConnectionResponse: 0x15
    case .flowControlCredit: 0x16
    case .enhancedConnectionRequest: 0x17
    case .enhancedConnectionResponse: 0x18
    case .reconfigureRequest: 0x19
    case .reconfigureResponse: 0x1A
    case .unknown(let code): code
    }
  }

  /// Whether a command with this code must never be answered with a reject, because it is a
  /// response or needs none.
  package static func isUnanswered(code: UInt8) -> Bool {
    switch code {
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x13, 0x15, 0x16, 0x18, 0x1A: true
    default: false
    }
  }
}

/// The parameters that a peripheral requests (Core 5.4, Vol 3, Part A, §4.20). Any values.
package struct L2CAPConnectionParameters: Hashable, Sendable {
  /// Shortest interval in units of 1.25 ms.
  package var intervalMinUnits: UInt16
  /// Longest interval in units of 1.25 ms.
  package var intervalMaxUnits: UInt16
  /// Connection events that the peripheral may skip.
  package var latency: UInt16
  /// Supervision timeout in units of 10 ms.
  package var timeoutUnits: UInt16

  /// Parameters as they go over the wire.
  package init(
    intervalMinUnits: UInt16, intervalMaxUnits: UInt16, latency: UInt16, timeoutUnits: UInt16
  ) {
    self.intervalMinUnits = intervalMinUnits
    self.intervalMaxUnits = intervalMaxUnits
    self.latency = latency
    self.timeoutUnits = timeoutUnits
  }

  /// Whether a link can have this timing: every field in its range, and a timeout longer than two
  /// intervals of silence that the latency allows.
  package var isValid: Bool {
    (6...3200).contains(intervalMinUnits) && (6...3200).contains(intervalMaxUnits)
      && intervalMinUnits <= intervalMaxUnits && latency <= 499
      && (10...3200).contains(timeoutUnits)
      && Int(timeoutUnits) * 4 > (1 + Int(latency)) * Int(intervalMaxUnits)
  }
}

/// Requests a credit-based channel (Core 5.4, Vol 3, Part A, §4.22).
package struct L2CAPCreditBasedConnectionRequest: Hashable, Sendable {
  /// The simplified protocol/service multiplexer: which service.
  package var spsm: UInt16
  /// The sender's end.
  package var source: UInt16
  /// The largest service data unit that the sender takes.
  package var mtu: UInt16
  /// The largest frame payload that the sender takes.
  package var mps: UInt16
  /// The initial credits: the number of frames that the receiver may send at first.
  package var initialCredits: UInt16

  /// A request to open a channel.
  package init(spsm: UInt16, source: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16) {
    self.spsm = spsm
    self.source = source
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
  }
}

/// Answers a request for a credit-based channel (Core 5.4, Vol 3, Part A, §4.23).
package struct L2CAPCreditBasedConnectionResponse: Hashable, Sendable {
  /// The sender's end; zero if refused, as all that follows.
  package var destination: UInt16
  /// The largest service data unit that the sender takes.
  package var mtu: UInt16
  /// The largest frame payload that the sender takes.
  package var mps: UInt16
  /// The initial credits: the number of frames that the receiver may send at first.
  package var initialCredits: UInt16
  /// Whether and why not.
  package var result: L2CAPResult

  /// An answer to a request to open a channel.
  package init(
    destination: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16, result: L2CAPResult
  ) {
    self.destination = destination
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.result = result
  }

  /// A refusal.
  package static func refusal(_ result: L2CAPResult) -> L2CAPCreditBasedConnectionResponse {
    L2CAPCreditBasedConnectionResponse(
      destination: 0, mtu: 0, mps: 0, initialCredits: 0, result: result)
  }
}

/// Requests one to five channels at once (Core 5.4, Vol 3, Part A, §4.25).
package struct L2CAPEnhancedConnectionRequest: Hashable, Sendable {
  /// The simplified protocol/service multiplexer: which service.
  package var spsm: UInt16
  /// The largest service data unit that the sender takes, on each channel.
  package var mtu: UInt16
  /// The largest frame payload that the sender takes, on each channel.
  package var mps: UInt16
  /// The initial credits of each channel: the number of frames that the receiver may send at first.
  package var initialCredits: UInt16
  /// The sender's ends.
  package var sources: [UInt16]

  /// A request to open several channels.
  package init(spsm: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16, sources: [UInt16]) {
    self.spsm = spsm
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.sources = sources
  }
}

/// Answers a request for several channels (Core 5.4, Vol 3, Part A, §4.26).
package struct L2CAPEnhancedConnectionResponse: Hashable, Sendable {
  /// The largest service data unit that the sender takes, on each channel.
  package var mtu: UInt16
  /// The largest frame payload that the sender takes, on each channel.
  package var mps: UInt16
  /// The initial credits of each channel: the number of frames that the receiver may send at first.
  package var initialCredits: UInt16
  /// Whether all, or why not.
  package var result: L2CAPResult
  /// The sender's ends in the order of the request; zero for a channel that was refused.
  package var destinations: [UInt16]

  /// An answer to a request to open several channels.
  package init(
    mtu: UInt16, mps: UInt16, initialCredits: UInt16, result: L2CAPResult, destinations: [UInt16]
  ) {
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.result = result
    self.destinations = destinations
  }
}

/// A command on the LE signalling channel (Core 5.4, Vol 3, Part A, §4).
///
/// Each has an identifier, which matches a response with its request and is never zero.
public enum L2CAPSignal: Hashable, Sendable {
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
  public var code: UInt8 {
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
  public static func isUnanswered(code: UInt8) -> Bool {
    switch code {
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x13, 0x15, 0x16, 0x18, 0x1A: true
    default: false
    }
  }
}

/// The parameters that a peripheral requests (Core 5.4, Vol 3, Part A, §4.20). Any values.
public struct L2CAPConnectionParameters: Hashable, Sendable {
  /// Shortest interval in units of 1.25 ms.
  public var intervalMinUnits: UInt16
  /// Longest interval in units of 1.25 ms.
  public var intervalMaxUnits: UInt16
  /// Connection events that the peripheral may skip.
  public var latency: UInt16
  /// Supervision timeout in units of 10 ms.
  public var timeoutUnits: UInt16

  /// Parameters as they go over the wire.
  public init(
    intervalMinUnits: UInt16, intervalMaxUnits: UInt16, latency: UInt16, timeoutUnits: UInt16
  ) {
    self.intervalMinUnits = intervalMinUnits
    self.intervalMaxUnits = intervalMaxUnits
    self.latency = latency
    self.timeoutUnits = timeoutUnits
  }

  /// Whether a link can have this timing: every field in its range, and a timeout longer than two
  /// intervals of silence that the latency allows.
  public var isValid: Bool {
    (6...3200).contains(intervalMinUnits) && (6...3200).contains(intervalMaxUnits)
      && intervalMinUnits <= intervalMaxUnits && latency <= 499
      && (10...3200).contains(timeoutUnits)
      && Int(timeoutUnits) * 4 > (1 + Int(latency)) * Int(intervalMaxUnits)
  }
}

/// Requests a credit-based channel (Core 5.4, Vol 3, Part A, §4.22).
public struct L2CAPCreditBasedConnectionRequest: Hashable, Sendable {
  /// The simplified protocol/service multiplexer: which service.
  public var spsm: UInt16
  /// The sender's end.
  public var source: UInt16
  /// The largest service data unit that the sender takes.
  public var mtu: UInt16
  /// The largest frame payload that the sender takes.
  public var mps: UInt16
  /// The initial credits: the number of frames that the receiver may send at first.
  public var initialCredits: UInt16

  /// A request to open a channel.
  public init(spsm: UInt16, source: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16) {
    self.spsm = spsm
    self.source = source
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
  }
}

/// Answers a request for a credit-based channel (Core 5.4, Vol 3, Part A, §4.23).
public struct L2CAPCreditBasedConnectionResponse: Hashable, Sendable {
  /// The sender's end; zero if refused, as all that follows.
  public var destination: UInt16
  /// The largest service data unit that the sender takes.
  public var mtu: UInt16
  /// The largest frame payload that the sender takes.
  public var mps: UInt16
  /// The initial credits: the number of frames that the receiver may send at first.
  public var initialCredits: UInt16
  /// Whether and why not.
  public var result: L2CAPResult

  /// An answer to a request to open a channel.
  public init(
    destination: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16, result: L2CAPResult
  ) {
    self.destination = destination
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.result = result
  }

  /// A refusal.
  public static func refusal(_ result: L2CAPResult) -> L2CAPCreditBasedConnectionResponse {
    L2CAPCreditBasedConnectionResponse(
      destination: 0, mtu: 0, mps: 0, initialCredits: 0, result: result)
  }
}

/// Requests one to five channels at once (Core 5.4, Vol 3, Part A, §4.25).
public struct L2CAPEnhancedConnectionRequest: Hashable, Sendable {
  /// The simplified protocol/service multiplexer: which service.
  public var spsm: UInt16
  /// The largest service data unit that the sender takes, on each channel.
  public var mtu: UInt16
  /// The largest frame payload that the sender takes, on each channel.
  public var mps: UInt16
  /// The initial credits of each channel: the number of frames that the receiver may send at first.
  public var initialCredits: UInt16
  /// The sender's ends.
  public var sources: [UInt16]

  /// A request to open several channels.
  public init(spsm: UInt16, mtu: UInt16, mps: UInt16, initialCredits: UInt16, sources: [UInt16]) {
    self.spsm = spsm
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.sources = sources
  }
}

/// Answers a request for several channels (Core 5.4, Vol 3, Part A, §4.26).
public struct L2CAPEnhancedConnectionResponse: Hashable, Sendable {
  /// The largest service data unit that the sender takes, on each channel.
  public var mtu: UInt16
  /// The largest frame payload that the sender takes, on each channel.
  public var mps: UInt16
  /// The initial credits of each channel: the number of frames that the receiver may send at first.
  public var initialCredits: UInt16
  /// Whether all, or why not.
  public var result: L2CAPResult
  /// The sender's ends in the order of the request; zero for a channel that was refused.
  public var destinations: [UInt16]

  /// An answer to a request to open several channels.
  public init(
    mtu: UInt16, mps: UInt16, initialCredits: UInt16, result: L2CAPResult, destinations: [UInt16]
  ) {
    self.mtu = mtu
    self.mps = mps
    self.initialCredits = initialCredits
    self.result = result
    self.destinations = destinations
  }
}

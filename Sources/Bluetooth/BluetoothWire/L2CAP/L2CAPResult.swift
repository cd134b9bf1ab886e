/// The result of a request for credit-based channels (Core 5.4, Vol 3, Part A, §4.23 and §4.26).
@frozen
public struct L2CAPResult: RawRepresentable, Hashable, Sendable {
  /// The code on the wire.
  public let rawValue: UInt16

  /// A result from its code; every code is valid, known or not.
  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// All requested channels are open.
  public static let success = L2CAPResult(rawValue: 0x0000)
  /// No listener on this SPSM.
  public static let spsmNotSupported = L2CAPResult(rawValue: 0x0002)
  /// No resources are available for another channel.
  public static let noResources = L2CAPResult(rawValue: 0x0004)
  /// The link must be paired first: there is no key to encrypt it.
  public static let insufficientAuthentication = L2CAPResult(rawValue: 0x0005)
  /// The peer may not use this service.
  public static let insufficientAuthorization = L2CAPResult(rawValue: 0x0006)
  /// The key is too short for this service.
  public static let encryptionKeyTooShort = L2CAPResult(rawValue: 0x0007)
  /// There is a key, but the link is not encrypted with it.
  public static let insufficientEncryption = L2CAPResult(rawValue: 0x0008)
  /// The requester's CID is not a dynamic one.
  public static let invalidSourceCID = L2CAPResult(rawValue: 0x0009)
  /// The requester's CID names another channel already.
  public static let sourceCIDAlreadyAllocated = L2CAPResult(rawValue: 0x000A)
  /// The parameters cannot be accepted.
  public static let unacceptableParameters = L2CAPResult(rawValue: 0x000B)
}

/// The result of a request to change open channels (Core 5.4, Vol 3, Part A, §4.28).
@frozen
public struct L2CAPReconfigureResult: RawRepresentable, Hashable, Sendable {
  /// The code on the wire.
  public let rawValue: UInt16

  /// A result from its code; every code is valid, known or not.
  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The channels use the new sizes.
  public static let success = L2CAPReconfigureResult(rawValue: 0x0000)
  /// An MTU may not shrink.
  public static let mtuReduced = L2CAPReconfigureResult(rawValue: 0x0001)
  /// An MPS may not shrink where several channels are changed.
  public static let mpsReduced = L2CAPReconfigureResult(rawValue: 0x0002)
  /// A CID names no channel that can be changed.
  public static let invalidDestinationCID = L2CAPReconfigureResult(rawValue: 0x0003)
  /// Any other parameter cannot be accepted.
  public static let unacceptableParameters = L2CAPReconfigureResult(rawValue: 0x0004)
}

/// The reason why a signalling command was rejected (Core 5.4, Vol 3, Part A, §4.1).
package enum L2CAPRejectReason: Hashable, Sendable {
  /// The code is unknown, or not valid in this direction or with this length.
  case commandNotUnderstood
  /// The frame was longer than the receiver's signalling MTU, given here.
  case signallingMTUExceeded(UInt16)
  /// A CID in the request names no channel; as the rejecting device numbers the ends.
  case invalidCID(local: UInt16, remote: UInt16)
  /// A reason that is not in the specification.
  case other(UInt16)
}

import Essentials

/// 16 bytes: a key, a random number or a check value, most significant byte first.
///
/// Its description doesn't contain the bytes, so that no key is logged by accident. They are
/// overwritten in memory when the last copy is released.
public struct SMPValue: Sendable, CustomStringConvertible, CustomReflectable {
  private let storage: SecretStorage

  /// A value of 16 bytes, most significant first; nil for another number of bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.init(number: bytes.reduce(0) { $0 << 8 | UInt128($1) })
  }

  /// A number of up to 128 bits, such as a passkey.
  public init(number: UInt128) { storage = SecretStorage(low: number) }

  /// The bytes, most significant first; a copy that isn't overwritten.
  public var bytes: [UInt8] { storage.low.mostSignificantFirst }

  /// The number that the bytes are, most significant first.
  public var number: UInt128 { storage.low }

  /// Whether two secrets are equal, in a time that doesn't depend on where they differ.
  public func isEqual(toSecret other: SMPValue) -> Bool { number ^ other.number == 0 }

  /// The key with only its `count` least significant bytes, the others zero (Core 5.4, Vol 3,
  /// Part H, §2.4.2).
  public func shortened(toByteCount count: Int) -> SMPValue {
    guard (0..<16).contains(count) else { return self }
    return SMPValue(number: number & (1 << UInt128(8 * count) - 1))
  }

  init(decoding reader: inout ByteReader) throws(WireError) {
    do {
      self.init(number: try reader.slice(16).reversed().reduce(0) { $0 << 8 | UInt128($1) })
    } catch {
      throw WireError(error)
    }
  }

  func encode(into writer: inout ByteWriter) { writer.append(bytes.reversed()) }

  /// That it is a value, not which.
  public var description: String { "16 bytes" }

  /// Shows nothing of the bytes.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SMPValue: Hashable {
  /// Whether all bytes are equal.
  public static func == (left: SMPValue, right: SMPValue) -> Bool { left.isEqual(toSecret: right) }

  /// Feeds the bytes to a hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A coordinate of a point on the curve P-256: 32 bytes, most significant first.
///
/// The Diffie-Hellman key is one, so its description doesn't contain the bytes either, and they are
/// overwritten, too.
package struct SMPCoordinate: Sendable, CustomStringConvertible, CustomReflectable {
  private let storage: SecretStorage

  /// A coordinate of 32 bytes, most significant first; nil for another number of bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    storage = SecretStorage(
      high: bytes.prefix(16).reduce(0) { $0 << 8 | UInt128($1) },
      low: bytes.suffix(16).reduce(0) { $0 << 8 | UInt128($1) })
  }

  /// A coordinate from its halves.
  package init(high: UInt128, low: UInt128) { storage = SecretStorage(high: high, low: low) }

  /// The bytes, most significant first; a copy that isn't overwritten.
  package var bytes: [UInt8] {
    storage.high.mostSignificantFirst + storage.low.mostSignificantFirst
  }

  init(decoding reader: inout ByteReader) throws(WireError) {
    let bytes: ArraySlice<UInt8>
    do { bytes = try reader.slice(32) } catch { throw WireError(error) }
    guard let value = SMPCoordinate(Array(bytes.reversed())) else { throw .invalidLength(32) }
    self = value
  }

  func encode(into writer: inout ByteWriter) { writer.append(bytes.reversed()) }

  /// That it is a coordinate, not which.
  package var description: String { "32 bytes" }

  /// Shows nothing of the bytes.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SMPCoordinate: Hashable {
  /// Whether all bytes are equal, in a time that doesn't depend on where they differ.
  package static func == (left: SMPCoordinate, right: SMPCoordinate) -> Bool {
    (left.storage.high ^ right.storage.high) | (left.storage.low ^ right.storage.low) == 0
  }

  /// Feeds the bytes to a hasher.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(storage.high)
    hasher.combine(storage.low)
  }
}

extension UInt128 {
  /// Its 16 bytes.
  var mostSignificantFirst: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: self >> (120 - 8 * $0)) }
  }
}

/// The pairing features of a device (Core 5.4, Vol 3, Part H, §3.5.1).
package struct SMPPairingFeatures: Hashable, Sendable {
  /// The device's input and output capabilities.
  package var ioCapability: SMPIOCapability
  /// Whether it has data of the peer that came out of band.
  package var hasOutOfBandData: Bool
  /// The requested kind of pairing.
  package var authenticationRequirements: SMPAuthenticationRequirements
  /// The longest encryption key it takes, 7 to 16 bytes.
  package var maximumEncryptionKeyByteCount: Int
  /// The keys that the initiator distributes.
  package var initiatorKeys: SMPKeyDistribution
  /// The keys that the responder distributes.
  package var responderKeys: SMPKeyDistribution

  /// Features from their fields.
  package init(
    ioCapability: SMPIOCapability, hasOutOfBandData: Bool = false,
    authenticationRequirements: SMPAuthenticationRequirements,
    maximumEncryptionKeyByteCount: Int = 16, initiatorKeys: SMPKeyDistribution,
    responderKeys: SMPKeyDistribution
  ) {
    self.ioCapability = ioCapability
    self.hasOutOfBandData = hasOutOfBandData
    self.authenticationRequirements = authenticationRequirements
    self.maximumEncryptionKeyByteCount = maximumEncryptionKeyByteCount
    self.initiatorKeys = initiatorKeys
    self.responderKeys = responderKeys
  }

  init(decoding reader: inout ByteReader) throws(WireError) {
    let bytes: [UInt8]
    do { bytes = Array(try reader.slice(6)) } catch { throw WireError(error) }
    guard let ioCapability = SMPIOCapability(rawValue: bytes[0]) else {
      throw .invalidValue(field: "IO capability", value: Int(bytes[0]))
    }
    guard bytes[1] <= 1 else { throw .invalidValue(field: "OOB data flag", value: Int(bytes[1])) }
    guard (7...16).contains(bytes[3]) else {
      throw .invalidValue(field: "maximum encryption key size", value: Int(bytes[3]))
    }
    self.init(
      ioCapability: ioCapability, hasOutOfBandData: bytes[1] == 1,
      authenticationRequirements: SMPAuthenticationRequirements(rawValue: bytes[2]),
      maximumEncryptionKeyByteCount: Int(bytes[3]),
      initiatorKeys: SMPKeyDistribution(rawValue: bytes[4]),
      responderKeys: SMPKeyDistribution(rawValue: bytes[5]))
  }

  func encode(into writer: inout ByteWriter) {
    writer.uint8(ioCapability.rawValue)
    writer.uint8(hasOutOfBandData ? 1 : 0)
    writer.uint8(authenticationRequirements.rawValue)
    writer.uint8(UInt8(clamping: maximumEncryptionKeyByteCount))
    writer.uint8(initiatorKeys.rawValue)
    writer.uint8(responderKeys.rawValue)
  }
}

/// Input and output capabilities of a device (Core 5.4, Vol 3, Part H, §3.5.1, table 3.4).
public enum SMPIOCapability: UInt8, Hashable, Sendable, CaseIterable {
  /// The device can display a number.
  case displayOnly = 0
  /// The device can display a number, and accept a yes or no.
  case displayYesNo = 1
  /// The device can accept a number from a keyboard.
  case keyboardOnly = 2
  /// The device can neither display nor accept a number.
  case noInputNoOutput = 3
  /// The device can display and accept a number.
  case keyboardDisplay = 4
}

/// The requested kind of pairing: AuthReq (Core 5.4, Vol 3, Part H, §3.5.1, figure 3.3).
package struct SMPAuthenticationRequirements: OptionSet, Hashable, Sendable {
  /// The byte on the wire.
  package let rawValue: UInt8
  /// Creates requirements from their byte; reserved bits are preserved.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Bonding: the keys are stored. The field has two bits, of which the higher is reserved.
  package static let bonding = SMPAuthenticationRequirements(rawValue: 1 << 0)
  /// Protection against a man in the middle.
  package static let mitmProtection = SMPAuthenticationRequirements(rawValue: 1 << 2)
  /// LE Secure Connections.
  package static let secureConnections = SMPAuthenticationRequirements(rawValue: 1 << 3)
  /// Keypresses are notified while a passkey is typed.
  package static let keypressNotifications = SMPAuthenticationRequirements(rawValue: 1 << 4)
  /// The function h7 is supported, for keys of another transport.
  package static let ct2 = SMPAuthenticationRequirements(rawValue: 1 << 5)
}

/// The keys that a device distributes (Core 5.4, Vol 3, Part H, §3.6.1).
package struct SMPKeyDistribution: OptionSet, Hashable, Sendable {
  /// The byte on the wire.
  package let rawValue: UInt8
  /// Creates a set of keys from its byte; reserved bits are preserved.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The long term key, of legacy pairing.
  package static let encryptionKey = SMPKeyDistribution(rawValue: 1 << 0)
  /// The identity resolving key and the identity address.
  package static let identityKey = SMPKeyDistribution(rawValue: 1 << 1)
  /// The connection signature resolving key.
  package static let signingKey = SMPKeyDistribution(rawValue: 1 << 2)
  /// A link key for BR/EDR is derived.
  package static let linkKey = SMPKeyDistribution(rawValue: 1 << 3)
}

/// A keypress during the entry of a passkey (Core 5.4, Vol 3, Part H, §3.5.8).
package enum SMPKeypress: UInt8, Hashable, Sendable, CaseIterable {
  /// Typing began.
  case entryStarted = 0
  /// A digit was typed.
  case digitEntered = 1
  /// A digit was erased.
  case digitErased = 2
  /// All digits were erased.
  case cleared = 3
  /// Typing is complete.
  case entryCompleted = 4

  init(decoding reader: inout ByteReader) throws(WireError) {
    let type = try reader.byte()
    guard let keypress = SMPKeypress(rawValue: type) else {
      throw .invalidValue(field: "notification type", value: Int(type))
    }
    self = keypress
  }
}

/// The reason why pairing failed (Core 5.4, Vol 3, Part H, §3.5.5, table 3.7). Any byte is a
/// reason, known or not.
public struct SMPFailureReason: RawRepresentable, Hashable, Sendable, Error {
  /// The byte on the wire.
  public let rawValue: UInt8
  /// A reason from its byte.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The passkey was not entered.
  public static let passkeyEntryFailed = SMPFailureReason(rawValue: 0x01)
  /// There is no out-of-band data.
  public static let outOfBandNotAvailable = SMPFailureReason(rawValue: 0x02)
  /// The devices can't meet the authentication requirements.
  public static let authenticationRequirements = SMPFailureReason(rawValue: 0x03)
  /// The confirm value does not match.
  public static let confirmValueFailed = SMPFailureReason(rawValue: 0x04)
  /// The device does not pair.
  public static let pairingNotSupported = SMPFailureReason(rawValue: 0x05)
  /// The key would be too short.
  public static let encryptionKeySize = SMPFailureReason(rawValue: 0x06)
  /// The command is unknown.
  public static let commandNotSupported = SMPFailureReason(rawValue: 0x07)
  /// Any other reason.
  public static let unspecifiedReason = SMPFailureReason(rawValue: 0x08)
  /// Too many attempts in too short a time.
  public static let repeatedAttempts = SMPFailureReason(rawValue: 0x09)
  /// A command has a wrong length or a value that is not allowed.
  public static let invalidParameters = SMPFailureReason(rawValue: 0x0A)
  /// The check values show that the keys differ.
  public static let dhKeyCheckFailed = SMPFailureReason(rawValue: 0x0B)
  /// The numbers that were compared differ.
  public static let numericComparisonFailed = SMPFailureReason(rawValue: 0x0C)
  /// Pairing over BR/EDR is in progress.
  public static let brEDRPairingInProgress = SMPFailureReason(rawValue: 0x0D)
  /// Keys must not be derived for the other transport.
  public static let crossTransportKeyNotAllowed = SMPFailureReason(rawValue: 0x0E)
  /// The device takes no new keys.
  public static let keyRejected = SMPFailureReason(rawValue: 0x0F)
  /// The device is busy.
  public static let busy = SMPFailureReason(rawValue: 0x10)
}

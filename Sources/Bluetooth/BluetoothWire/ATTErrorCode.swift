/// An error code of the attribute protocol (Core 5.4, Vol 3, Part F, §3.4.1.1).
@frozen
public struct ATTErrorCode: RawRepresentable, Hashable, Sendable, Error {
  /// The code on the wire; 0x80–0x9F belong to applications, 0xE0–0xFF to common profiles.
  public let rawValue: UInt8

  /// Creates an error from its code. Every code is allowed.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The handle does not exist on the server.
  public static let invalidHandle = ATTErrorCode(rawValue: 0x01)
  /// The attribute cannot be read.
  public static let readNotPermitted = ATTErrorCode(rawValue: 0x02)
  /// The attribute cannot be written.
  public static let writeNotPermitted = ATTErrorCode(rawValue: 0x03)
  /// The PDU is invalid.
  public static let invalidPDU = ATTErrorCode(rawValue: 0x04)
  /// The link must be authenticated first.
  public static let insufficientAuthentication = ATTErrorCode(rawValue: 0x05)
  /// The server doesn't support the request.
  public static let requestNotSupported = ATTErrorCode(rawValue: 0x06)
  /// The offset is beyond the end of the value.
  public static let invalidOffset = ATTErrorCode(rawValue: 0x07)
  /// The client is not authorized.
  public static let insufficientAuthorization = ATTErrorCode(rawValue: 0x08)
  /// Too many prepared writes are queued.
  public static let prepareQueueFull = ATTErrorCode(rawValue: 0x09)
  /// No attribute was found in the handle range.
  public static let attributeNotFound = ATTErrorCode(rawValue: 0x0A)
  /// The attribute can't be read with a blob request.
  public static let attributeNotLong = ATTErrorCode(rawValue: 0x0B)
  /// The encryption key size is too short.
  public static let encryptionKeySizeTooShort = ATTErrorCode(rawValue: 0x0C)
  /// The length of the value is not valid for the attribute.
  public static let invalidAttributeValueLength = ATTErrorCode(rawValue: 0x0D)
  /// An unlikely error occurred.
  public static let unlikelyError = ATTErrorCode(rawValue: 0x0E)
  /// The link must be encrypted first.
  public static let insufficientEncryption = ATTErrorCode(rawValue: 0x0F)
  /// The attribute type is not a grouping attribute.
  public static let unsupportedGroupType = ATTErrorCode(rawValue: 0x10)
  /// The server has insufficient resources.
  public static let insufficientResources = ATTErrorCode(rawValue: 0x11)
  /// The server's database has changed; the client must discover it again.
  public static let databaseOutOfSync = ATTErrorCode(rawValue: 0x12)
  /// The value is not allowed.
  public static let valueNotAllowed = ATTErrorCode(rawValue: 0x13)
  /// The write was refused by the application's profile.
  public static let writeRequestRejected = ATTErrorCode(rawValue: 0xFC)
  /// The client characteristic configuration does not fit the characteristic.
  public static let cccdImproperlyConfigured = ATTErrorCode(rawValue: 0xFD)
  /// The procedure is already in progress.
  public static let procedureAlreadyInProgress = ATTErrorCode(rawValue: 0xFE)
  /// The value is out of range.
  public static let outOfRange = ATTErrorCode(rawValue: 0xFF)
}

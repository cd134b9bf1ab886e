/// An error of the Attribute Protocol (ATT): received from a peer, or sent to one.
///
/// A code without a case of its own (0x12 and above, which includes application errors) is
/// `Code.other`. As on Apple's systems, `Code(rawValue: 0x80)` creates one to answer with.
public struct CBATTError: CustomNSError, Hashable, @unchecked Sendable {
  // Unchecked: `userInfo` may hold anything, but is never changed and in practice holds strings.

  /// The error codes of the Attribute Protocol (Core 5.4, Vol 3, Part F, §3.4.1.1).
  public enum Code: RawRepresentable, Hashable, Sendable {
    /// No error; the result of a successful request.
    case success
    /// The handle does not exist.
    case invalidHandle
    /// The attribute cannot be read.
    case readNotPermitted
    /// The attribute cannot be written.
    case writeNotPermitted
    /// The PDU is invalid.
    case invalidPdu
    /// The link must be authenticated first.
    case insufficientAuthentication
    /// The peer doesn't support the request.
    case requestNotSupported
    /// The offset is beyond the end of the value.
    case invalidOffset
    /// The client is not authorized.
    case insufficientAuthorization
    /// Too many prepared writes are queued.
    case prepareQueueFull
    /// No attribute was found in the handle range.
    case attributeNotFound
    /// The attribute can't be read with a blob request.
    case attributeNotLong
    /// The encryption key size is too short.
    case insufficientEncryptionKeySize
    /// The length of the value is not valid for the attribute.
    case invalidAttributeValueLength
    /// An unlikely error occurred.
    case unlikelyError
    /// The link must be encrypted first.
    case insufficientEncryption
    /// The attribute type is not a grouping attribute.
    case unsupportedGroupType
    /// The peer has insufficient resources.
    case insufficientResources
    /// Another code: 0x80–0x9F are application errors, 0xE0–0xFF common profile errors.
    ///
    /// Apple's enumeration has no case for these, but accepts the same raw values.
    case other(Int)

    /// Creates the code with this number; nil if it doesn't fit in a byte.
    public init?(rawValue: Int) {
      guard 0...0xFF ~= rawValue else { return nil }
      self = rawValue < Self.named.count ? Self.named[rawValue] : .other(rawValue)
    }

    /// The number on the wire.
    public var rawValue: Int {
      switch self {
      case .success: 0x00
      case .invalidHandle: 0x01
      case .readNotPermitted: 0x02
      case .writeNotPermitted: 0x03
      case .invalidPdu: 0x04
      case .insufficientAuthentication: 0x05
      case .requestNotSupported: 0x06
      case .invalidOffset: 0x07
      case .insufficientAuthorization: 0x08
      case .prepareQueueFull: 0x09
      case .attributeNotFound: 0x0A
      case .attributeNotLong: 0x0B
      case .insufficientEncryptionKeySize: 0x0C
      case .invalidAttributeValueLength: 0x0D
      case .unlikelyError: 0x0E
      case .insufficientEncryption: 0x0F
      case .unsupportedGroupType: 0x10
      case .insufficientResources: 0x11
      case .other(let number): number
      }
    }

    /// Makes `catch CBATTError.readNotPermitted` work.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CBATTError)?.code == code
    }
  }

  /// The error code.
  public let code: Code
  /// Additional information; at least a description.
  public let userInfo: [String: Any]

  /// Creates an error with this code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  /// Creates the error with an `NSError`'s code and user information, as Swift does for imported
  /// errors. The domain is not checked.
  public init(_nsError error: NSError) {
    self.init(Code(rawValue: error.code) ?? .unlikelyError, userInfo: error.userInfo)
  }

  /// `CBATTErrorDomain`.
  public static var errorDomain: String { CBATTErrorDomain }
  /// The code's number.
  public var errorCode: Int { code.rawValue }
  /// `userInfo`, with a description in any case.
  public var errorUserInfo: [String: Any] {
    userInfo.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
  }
  /// The description of the error for users.
  public var localizedDescription: String {
    userInfo[NSLocalizedDescriptionKey] as? String ?? code.text
  }

  /// Two errors are equal if their codes are.
  public static func == (a: CBATTError, b: CBATTError) -> Bool { a.code == b.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBATTError {
  /// `Code.success`.
  public static var success: Code { .success }
  /// `Code.invalidHandle`.
  public static var invalidHandle: Code { .invalidHandle }
  /// `Code.readNotPermitted`.
  public static var readNotPermitted: Code { .readNotPermitted }
  /// `Code.writeNotPermitted`.
  public static var writeNotPermitted: Code { .writeNotPermitted }
  /// `Code.invalidPdu`.
  public static var invalidPdu: Code { .invalidPdu }
  /// `Code.insufficientAuthentication`.
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  /// `Code.requestNotSupported`.
  public static var requestNotSupported: Code { .requestNotSupported }
  /// `Code.invalidOffset`.
  public static var invalidOffset: Code { .invalidOffset }
  /// `Code.insufficientAuthorization`.
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  /// `Code.prepareQueueFull`.
  public static var prepareQueueFull: Code { .prepareQueueFull }
  /// `Code.attributeNotFound`.
  public static var attributeNotFound: Code { .attributeNotFound }
  /// `Code.attributeNotLong`.
  public static var attributeNotLong: Code { .attributeNotLong }
  /// `Code.insufficientEncryptionKeySize`.
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  /// `Code.invalidAttributeValueLength`.
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  /// `Code.unlikelyError`.
  public static var unlikelyError: Code { .unlikelyError }
  /// `Code.insufficientEncryption`.
  public static var insufficientEncryption: Code { .insufficientEncryption }
  /// `Code.unsupportedGroupType`.
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
  /// `Code.insufficientResources`.
  public static var insufficientResources: Code { .insufficientResources }
}

extension CBATTError.Code {
  /// The codes with names, each at its number.
  private static let named: [Self] = [
    .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu,
    .insufficientAuthentication, .requestNotSupported, .invalidOffset, .insufficientAuthorization,
    .prepareQueueFull, .attributeNotFound, .attributeNotLong, .insufficientEncryptionKeySize,
    .invalidAttributeValueLength, .unlikelyError, .insufficientEncryption, .unsupportedGroupType,
    .insufficientResources,
  ]

  /// One sentence for people.
  var text: String {
    switch self {
    case .success: "The operation succeeded."
    case .invalidHandle: "The handle is invalid."
    case .readNotPermitted: "Reading is not permitted."
    case .writeNotPermitted: "Writing is not permitted."
    case .invalidPdu: "The command is invalid."
    case .insufficientAuthentication: "Authentication is insufficient."
    case .requestNotSupported: "The request is not supported."
    case .invalidOffset: "The offset is invalid."
    case .insufficientAuthorization: "Authorization is insufficient."
    case .prepareQueueFull: "The prepare queue is full."
    case .attributeNotFound: "The attribute could not be found."
    case .attributeNotLong: "The attribute is not long."
    case .insufficientEncryptionKeySize: "The encryption key size is insufficient."
    case .invalidAttributeValueLength: "The value's length is invalid."
    case .unlikelyError: "Unlikely error."
    case .insufficientEncryption: "Encryption is insufficient."
    case .unsupportedGroupType: "The group type is not supported."
    case .insufficientResources: "Resources are insufficient."
    case .other(let number): "The peer answered with error \(number)."
    }
  }
}

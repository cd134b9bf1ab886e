/// An error that a peer's attribute protocol answered with, or that this host answers a peer with.
///
/// A peer's code without a case of its own (0x12 and above, applications' own codes among them) is
/// `Code.other`; as on Apple's systems, `Code(rawValue: 0x80)` makes one to answer with.
public struct CBATTError: CustomNSError, Hashable, @unchecked Sendable {
  // Unchecked: `userInfo` may hold anything, but is never changed and in practice holds strings.

  /// The codes of the attribute protocol (Core 5.4, Vol 3, Part F, §3.4.1.1).
  public enum Code: RawRepresentable, Hashable, Sendable {
    /// No error; the answer to a request that was done.
    case success
    /// The handle does not exist.
    case invalidHandle
    /// The attribute cannot be read.
    case readNotPermitted
    /// The attribute cannot be written.
    case writeNotPermitted
    /// The PDU made no sense.
    case invalidPdu
    /// The link must be authenticated first.
    case insufficientAuthentication
    /// The peer does not do this request.
    case requestNotSupported
    /// The offset lies past the end of the value.
    case invalidOffset
    /// The client is not authorized.
    case insufficientAuthorization
    /// Too many prepared writes.
    case prepareQueueFull
    /// There is no such attribute.
    case attributeNotFound
    /// The attribute cannot be read in parts.
    case attributeNotLong
    /// The encryption key is too short.
    case insufficientEncryptionKeySize
    /// The value has a length that the attribute does not take.
    case invalidAttributeValueLength
    /// Something else went wrong.
    case unlikelyError
    /// The link must be encrypted first.
    case insufficientEncryption
    /// The attribute type cannot group others.
    case unsupportedGroupType
    /// The peer ran out of something.
    case insufficientResources
    /// Another code: 0x80–0x9F belong to applications, 0xE0–0xFF to common profiles.
    ///
    /// Apple's code has no name for these, but the same raw value.
    case other(Int)

    /// The code with this number; nil if it is not a byte.
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

    /// Lets `catch CBATTError.readNotPermitted` match.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CBATTError)?.code == code
    }
  }

  /// What went wrong.
  public let code: Code
  /// More about it; at least a description.
  public let userInfo: [String: Any]

  /// An error of this code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  /// The error with an `NSError`'s number and user information, as Swift's imported errors have it;
  /// the domain is not looked at.
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
  /// The description for people.
  public var localizedDescription: String {
    userInfo[NSLocalizedDescriptionKey] as? String ?? code.text
  }

  /// Errors are equal if their codes are.
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

public import BluetoothInterface

extension PeripheralFile {
  /// The protection of a link, from none to the strongest.
  public enum Protection: Int, Hashable, Sendable, Comparable {
    /// The link is not encrypted.
    case none
    /// The link is encrypted.
    case encryption
    /// The link is encrypted with a key whose pairing was protected against a man in the middle.
    case authentication

    /// The protection by a link's encryption; nil if it is not encrypted.
    public init(_ encryption: EncryptionInfo?) {
      self = encryption.map { $0.isAuthenticated ? .authentication : .encryption } ?? .none
    }

    /// Orders by strength.
    public static func < (a: Protection, b: Protection) -> Bool { a.rawValue < b.rawValue }
  }

  /// A way in which a peer uses a characteristic.
  public enum Access: Hashable, Sendable {
    /// It reads the value.
    case read
    /// It writes the value.
    case write
    /// It subscribes to the value.
    case notify
  }
}

extension PeripheralFile.Characteristic {
  /// Sets what one way of access needs.
  mutating func require(
    _ protection: PeripheralFile.Protection, for access: PeripheralFile.Access
  ) {
    let needsEncryption = protection >= .encryption
    let needsAuthentication = protection >= .authentication
    switch access {
    case .read:
      (readNeedsEncryption, readNeedsAuthentication) = (needsEncryption, needsAuthentication)
    case .write:
      (writeNeedsEncryption, writeNeedsAuthentication) = (needsEncryption, needsAuthentication)
    case .notify:
      (notifyNeedsEncryption, notifyNeedsAuthentication) = (needsEncryption, needsAuthentication)
    }
  }
}

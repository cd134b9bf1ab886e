public import BluetoothWire

/// A point on the curve P-256 (Core 5.4, Vol 3, Part H, §2.2.6).
public struct PublicKey: Sendable, Hashable {
  /// The x coordinate.
  public var x: SMPCoordinate
  /// The y coordinate.
  public var y: SMPCoordinate

  /// A point; it is validated when it is used.
  public init(x: SMPCoordinate, y: SMPCoordinate) {
    self.x = x
    self.y = y
  }
}

/// A computation on the curve P-256 that the driver performs for the machine (Core 5.4, Vol 3, Part
/// H, §2.3.5.6.1).
public struct KeyAgreementRequest: Sendable, Hashable {
  /// What to compute.
  public enum Operation: Sendable, Hashable {
    /// The public key of this private key.
    case publicKey(privateKey: SMPCoordinate)
    /// The Diffie-Hellman key. The peer's point must be validated.
    case sharedSecret(privateKey: SMPCoordinate, peer: PublicKey)
  }

  /// Identifies the request in its result.
  public var id: UInt64
  /// What to compute.
  public var operation: Operation

  /// A request.
  public init(id: UInt64, operation: Operation) {
    self.id = id
    self.operation = operation
  }
}

/// The result of a `KeyAgreementRequest`.
public enum KeyAgreementResult: Sendable, Hashable {
  /// The public key.
  case publicKey(PublicKey)
  /// The x coordinate of the shared point.
  case sharedSecret(SMPCoordinate)
  /// The private key is invalid, or the peer's point is not on the curve.
  case invalidKey
}

/// Computes on the curve P-256 for the drivers of machines. From any thread.
public protocol KeyAgreement: Sendable {
  /// Performs an operation; takes well under a millisecond.
  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult
}

package import BluetoothWire

/// A point on the curve P-256 (Core 5.4, Vol 3, Part H, §2.2.6).
package struct PublicKey: Sendable, Hashable {
  /// The x coordinate.
  package var x: SMPCoordinate
  /// The y coordinate.
  package var y: SMPCoordinate

  /// Creates a point; it is validated when it is used.
  package init(x: SMPCoordinate, y: SMPCoordinate) {
    self.x = x
    self.y = y
  }

  /// Whether the private key is the published one for debugging (§2.3.5.6.1), or its negative, whose
  /// public key is the other point with this x coordinate.
  var isForDebugging: Bool { x == Self.debugX }

  private static let debugX = SMPCoordinate(
    high: 0x20B0_03D2_F297_BE2C_5E2C_83A7_E9F9_A5B9,
    low: 0xEFF4_9111_ACF4_FDDB_CC03_0148_0E35_9DE6)
}

/// A P-256 computation that the driver performs for the machine (Core 5.4, Vol 3, Part H,
/// §2.3.5.6.1).
package struct KeyAgreementRequest: Sendable, Hashable {
  /// The computation.
  package enum Operation: Sendable, Hashable {
    /// Compute the public key of this private key.
    case publicKey(privateKey: SMPCoordinate)
    /// Compute the Diffie-Hellman key. The peer's point must be validated.
    case sharedSecret(privateKey: SMPCoordinate, peer: PublicKey)
  }

  /// Identifies the request in its result.
  package var id: UInt64
  /// The computation.
  package var operation: Operation

  /// Creates a request.
  package init(id: UInt64, operation: Operation) {
    self.id = id
    self.operation = operation
  }
}

/// The result of a `KeyAgreementRequest`.
package enum KeyAgreementResult: Sendable, Hashable {
  /// The public key.
  case publicKey(PublicKey)
  /// The x coordinate of the shared point.
  case sharedSecret(SMPCoordinate)
  /// The private key is invalid, or the peer's point is not on the curve.
  case invalidKey
}

/// P-256 computations for the drivers of machines. May be called from any thread.
package protocol KeyAgreement: Sendable {
  /// Performs a computation; takes well under a millisecond.
  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult
}

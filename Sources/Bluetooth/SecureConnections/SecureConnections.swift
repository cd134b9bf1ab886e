// Without the trait this module is empty, and libcrypto isn't linked.
#if SecureConnections
  import BluetoothHost
  import BluetoothMachines
  import BluetoothWire

  /// LE Secure Connections for hosts of this program: pairing with P-256 Diffie-Hellman key
  /// agreement, implemented by OpenSSL's libcrypto.
  public enum SecureConnections {
    /// Makes LE Secure Connections available to hosts that are created from now on. `CoreBluetooth`
    /// does this automatically, unless its package is used without the trait `SecureConnections`;
    /// programs that use `BluetoothHost` directly must call it before they create a host. May be
    /// called from any thread, and repeatedly.
    public static func install() { _ = isInstalled }

    private static let isInstalled: Bool = {
      KeyAgreementPlugIn.install(P256KeyAgreement())
      return true
    }()
  }

  /// The functions of Core 5.4, Vol 3, Part H, §2.2.6 and §2.3.5.6.1, by libcrypto.
  struct P256KeyAgreement: KeyAgreement {
    func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult {
      switch operation {
      case .publicKey(let privateKey): publicKey(of: privateKey)
      case .sharedSecret(let privateKey, let peer): sharedSecret(privateKey, peer)
      }
    }

    private func publicKey(of privateKey: SMPCoordinate) -> KeyAgreementResult {
      guard let key = P256.multiply(privateKey, nil) else { return .invalidKey }
      return .publicKey(key)
    }

    /// The peer's point is validated as it is read: both coordinates are below the field's order, and the
    /// point is on the curve, whose points other than infinity are all of the group's order.
    private func sharedSecret(
      _ privateKey: SMPCoordinate, _ peer: PublicKey
    ) -> KeyAgreementResult {
      guard let product = P256.multiply(privateKey, peer) else { return .invalidKey }
      return .sharedSecret(product.x)
    }
  }
#endif

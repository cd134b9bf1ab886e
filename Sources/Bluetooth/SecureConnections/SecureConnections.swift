// Without the trait there is nothing in this module, and no swift-crypto to import.
#if SecureConnections
  import BluetoothHost
  import BluetoothMachines
  import BluetoothWire
  import Crypto

  /// LE Secure Connections for hosts of this program: pairing with P-256 Diffie-Hellman key
  /// agreement, implemented by swift-crypto.
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

  /// The functions of Core 5.4, Vol 3, Part H, §2.2.6 and §2.3.5.6.1, by swift-crypto.
  struct P256KeyAgreement: KeyAgreement {
    func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult {
      switch operation {
      case .publicKey(let privateKey): publicKey(of: privateKey)
      case .sharedSecret(let privateKey, let peer): sharedSecret(privateKey, peer)
      }
    }

    private func publicKey(of privateKey: SMPCoordinate) -> KeyAgreementResult {
      var secret = privateKey.bytes
      defer { overwrite(&secret) }
      guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: secret) else {
        return .invalidKey
      }
      let bytes = Array(key.publicKey.rawRepresentation)
      guard let x = SMPCoordinate(bytes.prefix(32)), let y = SMPCoordinate(bytes.dropFirst(32))
      else {
        return .invalidKey
      }
      return .publicKey(PublicKey(x: x, y: y))
    }

    /// The peer's point is validated as it is read: both coordinates are below the field's order, and the
    /// point is on the curve, whose points other than infinity are all of the group's order.
    private func sharedSecret(
      _ privateKey: SMPCoordinate, _ peer: PublicKey
    ) -> KeyAgreementResult {
      var bytes = privateKey.bytes
      defer { overwrite(&bytes) }
      guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes),
        let point = try? P256.KeyAgreement.PublicKey(
          rawRepresentation: peer.x.bytes + peer.y.bytes),
        let secret = try? key.sharedSecretFromKeyAgreement(with: point),
        let x = SMPCoordinate(unsafe secret.withUnsafeBytes { unsafe Array($0) })
      else { return .invalidKey }
      return .sharedSecret(x)
    }
  }
#endif

package import BluetoothMachines
import BluetoothWire

/// What a host needs of the outside for pairing.
package struct SecurityServices: Sendable {
  /// Keeps bonds for later runs; nil: they end with the host.
  package var bonds: BondStore?
  /// Computes on P-256; nil: legacy pairing only.
  package var keyAgreement: (any KeyAgreement)?
  /// What keys are made from; nil in simulations, whose keys are predictable.
  package var entropy: [UInt8]?

  /// None of a store and of entropy; P-256 where the program has it.
  package static var simulated: SecurityServices {
    SecurityServices(keyAgreement: KeyAgreementPlugIn.current)
  }

  /// Those of a host in real time.
  static func real(bonds: BondStore?) -> SecurityServices {
    var system = SystemRandomNumberGenerator()
    let entropy = (0..<SecretGenerator.entropyByteCount).map { _ in
      UInt8.random(in: 0...255, using: &system)
    }
    return SecurityServices(
      bonds: bonds, keyAgreement: KeyAgreementPlugIn.current, entropy: entropy)
  }
}

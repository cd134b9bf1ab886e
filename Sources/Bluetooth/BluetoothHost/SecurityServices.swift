package import BluetoothMachines
import BluetoothWire

/// External services that a host needs for pairing.
package struct SecurityServices: Sendable {
  /// The store of bonds for later runs. If nil, bonds end with the host.
  package var bonds: BondStore?
  /// The P-256 key agreement. If nil, only legacy pairing is supported.
  package var keyAgreement: (any KeyAgreement)?
  /// The entropy that keys are generated from; nil in simulations, whose keys are predictable.
  package var entropy: [UInt8]?

  /// The services of a simulation: no store and no entropy, but P-256 if the program has it.
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

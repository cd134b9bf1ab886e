import BluetoothInterface
package import BluetoothWire

/// The out-of-band data that is available when a pairing begins.
struct KnownOutOfBandData: Sendable {
  /// This host's own data, if it has created any for the peer.
  var own: OwnOutOfBandData?
  /// The data received from the peer.
  var peers: OutOfBandData?
}

/// Out-of-band data of this host, with its private key.
package struct OwnOutOfBandData: Sendable {
  let privateKey: SMPCoordinate
  let random: SMPValue

  /// Creates the data of a new key pair.
  package init(privateKey: SMPCoordinate, random: SMPValue) {
    self.privateKey = privateKey
    self.random = random
  }

  /// The data to be passed to the peer.
  func data(_ key: PublicKey) -> OutOfBandData {
    .secureConnections(
      confirm: PairingFunctions.confirmValue(
        own: key.x, other: key.x, random: random, passkeyBit: 0),
      random: random)
  }
}

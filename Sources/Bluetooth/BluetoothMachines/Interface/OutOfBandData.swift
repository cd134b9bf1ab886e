public import BluetoothWire

/// Data that two devices exchange outside of Bluetooth, such as by NFC or a printed code, so that a
/// pairing is protected against a man in the middle (Core 5.4, Vol 3, Part H, §2.3.5.1). A third
/// party that reads it can impersonate the device that it was meant for.
///
/// Its description contains no secrets.
public enum OutOfBandData: Sendable, Hashable {
  /// For LE Secure Connections: the commitment to the device's public key, and the number that it
  /// is made with (§2.3.5.6.4). Created by `HostRequest.createOutOfBandData`, for one pairing.
  case secureConnections(confirm: SMPValue, random: SMPValue)
  /// For LE legacy pairing: the temporary key that both sides need, 128 random bits (§2.3.5.4).
  case legacy(temporaryKey: SMPValue)
}

/// The out-of-band data that is available when a pairing begins.
struct KnownOutOfBandData: Sendable {
  /// This host's own data, if it has created any for the peer.
  var own: OwnOutOfBandData?
  /// The data received from the peer.
  var peers: OutOfBandData?
}

/// Out-of-band data of this host, with its private key.
struct OwnOutOfBandData: Sendable {
  let privateKey: SMPCoordinate
  let random: SMPValue

  /// The data to be passed to the peer.
  func data(_ key: PublicKey) -> OutOfBandData {
    .secureConnections(
      confirm: PairingFunctions.confirmValue(
        own: key.x, other: key.x, random: random, passkeyBit: 0),
      random: random)
  }
}

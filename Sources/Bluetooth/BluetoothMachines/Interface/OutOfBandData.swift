public import BluetoothWire

/// What one device tells another over something else than Bluetooth, such as NFC or a printed code, so
/// that a pairing is protected against a man in the middle (Core 5.4, Vol 3, Part H, §2.3.5.1). Who
/// reads it can be taken for the device that it was meant for.
///
/// Its description shows no secret.
public enum OutOfBandData: Sendable, Hashable {
  /// For LE Secure Connections: the commitment to the device's public key, and the number that it is
  /// made with (§2.3.5.6.4). Made by `HostRequest.createOutOfBandData`, for one pairing.
  case secureConnections(confirm: SMPValue, random: SMPValue)
  /// For LE legacy pairing: the key that both sides have to be told, 128 random bits (§2.3.5.4).
  case legacy(temporaryKey: SMPValue)
}

/// What this host knows of out-of-band data when a pairing begins.
struct KnownOutOfBandData: Sendable {
  /// What the peer was told, if anybody was told anything.
  var own: OwnOutOfBandData?
  /// What this host was told about the peer.
  var peers: OutOfBandData?
}

/// Out-of-band data of this host, with what it was made of.
struct OwnOutOfBandData: Sendable {
  let privateKey: SMPCoordinate
  let random: SMPValue

  /// What the peer is to be told.
  func data(_ key: PublicKey) -> OutOfBandData {
    .secureConnections(
      confirm: PairingFunctions.confirmValue(
        own: key.x, other: key.x, random: random, passkeyBit: 0),
      random: random)
  }
}

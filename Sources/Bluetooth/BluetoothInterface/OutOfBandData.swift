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

import BluetoothWire

/// Security of one link. It takes what the Security Manager of the peer sends and what the
/// controller reports of encryption, and puts out what is to be done.
///
/// This host does not pair: it refuses pairing and has no keys.
struct LinkSecurity: Sendable {
  enum Output: Sendable {
    /// Send a Security Manager PDU to the peer.
    case sendPDU([UInt8])
    /// Send a command to the controller.
    case sendCommand(HCIPacket)
    /// The link is encrypted now, or no longer.
    case encryptionChanged(Bool)
  }

  private(set) var isEncrypted = false

  /// Takes a Security Manager PDU (Core 5.4, Vol 3, Part H, §3): refuses a central that asks to pair
  /// and a peripheral that asks this host to. Commands of a pairing that never began are ignored, as
  /// are those with codes of later versions (§3.3).
  mutating func receive(_ pdu: ArraySlice<UInt8>, into outputs: inout [Output]) {
    let reason: SMPFailureReason
    do throws(WireError) {
      switch try SMPPDU(decoding: pdu) {
      case .pairingRequest, .securityRequest: reason = .pairingNotSupported
      default: return
      }
    } catch {
      // Of what can't be read only a Pairing Request waits for an answer.
      guard pdu.first == 0x01 else { return }
      reason = .invalidParameters
    }
    outputs.append(.sendPDU(SMPPDU.pairingFailed(reason).bytes))
  }

  /// The peer encrypts the link with a key from an earlier pairing (Core 5.4, Vol 4, Part E,
  /// §7.7.65.5).
  mutating func longTermKeyRequested(handle: UInt16, into outputs: inout [Output]) {
    outputs.append(.sendCommand(LELongTermKeyRequestNegativeReply(handle: handle).packet))
  }

  /// The controller reports that encryption was switched on or off.
  mutating func encryptionChanged(_ event: EncryptionChange, into outputs: inout [Output]) {
    guard event.status == .success else { return }
    isEncrypted = event.encryption != .off
    outputs.append(.encryptionChanged(isEncrypted))
  }
}

import Essentials

/// The signature of a Signed Write Command, which authenticates the writer over an unencrypted link
/// (Core 5.4, Vol 3, Part C, §10.4.1; Part H, §2.4.5).
package struct ATTSignature: Hashable, Sendable {
  /// The size in bytes at the end of the PDU.
  package static let byteCount = 12

  /// The signer's counter, which differs in each signature.
  package var counter: UInt32
  /// The more significant half of the message authentication code.
  package var code: UInt64

  /// Signs a write.
  ///
  /// - Parameters:
  ///   - handle: The handle of the attribute.
  ///   - value: The value to write.
  ///   - counter: A counter that was not used with this key before.
  ///   - key: The signer's connection signature resolving key.
  package init(
    signing handle: UInt16, _ value: some Collection<UInt8>, counter: UInt32, key: SMPValue
  ) {
    var message = ByteWriter(capacity: 7 + value.count)
    message.uint8(ATTOpcode.signedWriteCommand.rawValue)
    message.uint16(handle)
    message.append(value)
    message.uint32(counter)
    // Most significant byte first, the other way round than it is sent.
    let code: UInt128 = AES128(key: key.number).cmac(message.bytes.reversed())
    self.counter = counter
    self.code = UInt64(truncatingIfNeeded: code >> 64)
  }

  /// Decodes a signature; nil for a wrong number of bytes.
  package init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    let start = bytes.startIndex
    counter = bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    code = bytes[(start + 4)...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The encoded signature.
  package var bytes: [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * $0)) }
      + (0..<8).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) }
  }

  /// Verifies the signature of a write. Takes constant time, independent of the number of correct
  /// bytes.
  package func isRight(
    for handle: UInt16, _ value: some Collection<UInt8>, key: SMPValue
  ) -> Bool {
    ATTSignature(signing: handle, value, counter: counter, key: key).code ^ code == 0
  }
}

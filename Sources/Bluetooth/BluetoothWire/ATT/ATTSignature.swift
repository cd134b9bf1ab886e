import Essentials

/// The signature of a Signed Write Command, which authenticates the writer over an unencrypted link
/// (Core 5.4, Vol 3, Part C, §10.4.1; Part H, §2.4.5).
public struct ATTSignature: Hashable, Sendable {
  /// How many bytes it takes at the end of the PDU.
  public static let byteCount = 12

  /// The signer's counter, another one in each signature.
  public var counter: UInt32
  /// The more significant half of the message authentication code.
  public var code: UInt64

  /// Signs a write.
  ///
  /// - Parameters:
  ///   - handle: The attribute that is written.
  ///   - value: The value that it is to have.
  ///   - counter: A number that was in no signature with this key.
  ///   - key: The signer's connection signature resolving key.
  public init(
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

  /// Reads a signature; nil for another number of bytes.
  public init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    let start = bytes.startIndex
    counter = bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    code = bytes[(start + 4)...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The signature as it goes over the wire.
  public var bytes: [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * $0)) }
      + (0..<8).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) }
  }

  /// Whether the holder of a key signed this write, in a time that doesn't depend on how much is right.
  public func isRight(
    for handle: UInt16, _ value: some Collection<UInt8>, key: SMPValue
  ) -> Bool {
    ATTSignature(signing: handle, value, counter: counter, key: key).code ^ code == 0
  }
}

import BluetoothWire
import Essentials
import Testing

@Suite("Signatures of writes")
struct ATTSignatureTests {
  private static let key: UInt128 = 0x8B39_58C1_58ED_6446_7BD2_7BC9_0D3C_F54D

  /// Made with Python's cryptography, in the byte order that BlueZ (src/shared/crypto.c) and the
  /// specification (Core 5.4, Vol 3, Part C, §10.4.1) have.
  private static let samples: [(handle: UInt16, value: [UInt8], counter: UInt32, bytes: String)] = [
    (0x0003, [0x01], 0, "000000003c390d8e98611b2a"),
    (0x002A, Array(0..<20), 1, "010000005a09721b0611c1bc"),
    (0xFFFF, [], .max, "ffffffff2cfbc5d0167d4510"),
    (0x1234, Array(0..<40), 0x0102_0304, "040302016c83ebf922128f03"),
  ]

  @Test("signatures equal those of another implementation, written and read")
  func samples() throws {
    let key = SMPValue(number: Self.key)
    for sample in Self.samples {
      let signature = ATTSignature(
        signing: sample.handle, sample.value, counter: sample.counter, key: key)
      #expect(Hexadecimal.string(signature.bytes) == sample.bytes)
      let read = try #require(ATTSignature(signature.bytes[...]))
      #expect(read == signature && read.isRight(for: sample.handle, sample.value, key: key))
    }
  }

  @Test("a signature is wrong if the handle, value, counter, key or a bit of the code differs")
  func wrong() throws {
    let key = SMPValue(number: Self.key)
    let signature = ATTSignature(signing: 7, [1, 2, 3], counter: 9, key: key)
    #expect(!signature.isRight(for: 8, [1, 2, 3], key: key))
    #expect(!signature.isRight(for: 7, [1, 2], key: key))
    #expect(!signature.isRight(for: 7, [1, 2, 3], key: SMPValue(number: Self.key ^ 1)))
    for bit in 0..<96 {
      var bytes = signature.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let altered = try #require(ATTSignature(bytes[...]))
      #expect(!altered.isRight(for: 7, [1, 2, 3], key: key), "bit \(bit)")
    }
    for count in (0...20) where count != 12 {
      #expect(ATTSignature([UInt8](repeating: 1, count: count)[...]) == nil)
    }
  }
}

import BluetoothWire
import Essentials
import Testing

@Suite("AES-128")
struct AES128Tests {
  private func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(text)) }

  @Test("AES-128 encrypts the example of FIPS 197, appendix B")
  func exampleVector() throws {
    let cipher = AES128(key: try bytes("2b7e151628aed2a6abf7158809cf4f3c"))
    let block = cipher.encrypt(try bytes("3243f6a8885a308d313198a2e0370734"))
    #expect(Hexadecimal.string(block) == "3925841d02dc09fbdc118597196a0b32")
  }

  @Test("AES-128 encrypts the example of FIPS 197, appendix C.1")
  func secondVector() throws {
    let cipher = AES128(key: try bytes("000102030405060708090a0b0c0d0e0f"))
    let block = cipher.encrypt(try bytes("00112233445566778899aabbccddeeff"))
    #expect(Hexadecimal.string(block) == "69c4e0d86a7b0430d8cdb78070b4c55a")
  }

  @Test(
    "AES-CMAC authenticates the messages of RFC 4493, §4",
    arguments: [
      (0, "bb1d6929e95937287fa37d129b756746"), (16, "070a16b46b4d4144f79bdd9dd04a287c"),
      (40, "dfa66747de9ae63030ca32611497c827"), (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ])
  func authentication(count: Int, expected: String) throws {
    let cipher = AES128(key: try bytes("2b7e151628aed2a6abf7158809cf4f3c"))
    let message = try bytes(
      "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
    #expect(Hexadecimal.string(cipher.cmac(Array(message.prefix(count)))) == expected)
  }

  @Test("a random address is hashed as in Core 5.4, Vol 3, Part H, appendix D.7")
  func addressHash() throws {
    let key = try bytes("ec0234a357c8ad05341010a60a397d9b")
    #expect(AES128(key: key).addressHash(of: 0x70_8194) == 0x0D_FBAA)
  }
}

import BluetoothWire
import Essentials
import Testing

@Suite("Captures without keys")
struct HCIPacketKeyTests {
  private let key: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10

  private func expectHidden(_ packet: HCIPacket, keyByteCount: Int = 16) {
    let hidden = Array(packet.withoutKeys.bytes)
    let plain = Array(packet.bytes)
    #expect(hidden.count == plain.count)
    let changed = plain.indices.filter { plain[$0] != hidden[$0] }
    #expect(changed.count == keyByteCount && changed.allSatisfy { hidden[$0] == 0 })
    #expect(changed.last.map { $0 - (changed.first ?? 0) } == keyByteCount - 1)
  }

  @Test("commands keep everything but the keys")
  func commands() {
    expectHidden(
      LEEnableEncryption(handle: 0x40, random: .max, diversifier: .max, longTermKey: key).packet)
    expectHidden(LELongTermKeyRequestReply(handle: 0x40, longTermKey: key).packet)
    expectHidden(
      LEAddDeviceToResolvingList(
        peerIdentity: DeviceAddress(bits: 0x1111_1111_1111, kind: .public), peerKey: key,
        localKey: key
      ).packet, keyByteCount: 32)
    let other = LELongTermKeyRequestNegativeReply(handle: 0x40).packet
    #expect(other.withoutKeys.bytes == other.bytes)
  }

  @Test("distributed keys are hidden, other Security Manager PDUs and data are not")
  func distribution() throws {
    let value = SMPValue(number: key)
    func packet(_ pdu: [UInt8], channel: UInt8 = 6) -> HCIPacket {
      let frame = [UInt8(pdu.count), 0, channel, 0] + pdu
      return ACLHeader.packet(handle: 0x40, boundary: .firstFlushable, payload: frame[...])
    }
    for pdu in [
      SMPPDU.encryptionInformation(longTermKey: value),
      .identityInformation(identityResolvingKey: value),
      .signingInformation(signatureResolvingKey: value),
    ] {
      expectHidden(packet(pdu.bytes))
      let data = packet(pdu.bytes, channel: 4)
      #expect(data.withoutKeys.bytes == data.bytes)
      for count in 0..<packet(pdu.bytes).bytes.count {
        // Cut short: nothing to read past the end of.
        let cut = HCIPacket(kind: .acl, bytes: packet(pdu.bytes).bytes.prefix(count))
        #expect(cut.withoutKeys.bytes.count == count)
      }
    }
    let confirm = packet(SMPPDU.pairingConfirm(value).bytes)
    #expect(confirm.withoutKeys.bytes == confirm.bytes)
  }
}

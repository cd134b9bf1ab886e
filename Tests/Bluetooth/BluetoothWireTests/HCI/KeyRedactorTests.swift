import BluetoothWire
import Essentials
import Testing

@Suite("Captures without keys")
struct KeyRedactorTests {
  private let key: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10

  private func expectHidden(_ packet: HCIPacket, keyByteCount: Int = 16) {
    var redactor = KeyRedactor()
    let hidden = Array(redactor.redacted(packet, isFromHost: true).bytes)
    let plain = Array(packet.bytes)
    #expect(hidden.count == plain.count)
    let changed = plain.indices.filter { plain[$0] != hidden[$0] }
    #expect(changed.count == keyByteCount && changed.allSatisfy { hidden[$0] == 0 })
    #expect(changed.last.map { $0 - (changed.first ?? 0) } == keyByteCount - 1)
  }

  private func expectSame(_ packet: HCIPacket) {
    var redactor = KeyRedactor()
    #expect(redactor.redacted(packet, isFromHost: false).bytes == packet.bytes)
  }

  private func fragment(_ payload: some Collection<UInt8>, first: Bool = true) -> HCIPacket {
    ACLHeader.packet(
      handle: 0x40, boundary: first ? .firstFlushable : .continuing, payload: Array(payload))
  }

  private func frame(_ pdu: [UInt8], channel: UInt8 = 6) -> [UInt8] {
    [UInt8(pdu.count), 0, channel, 0] + pdu
  }

  private var pdusWithKeys: [SMPPDU] {
    let value = SMPValue(number: key)
    return [
      .encryptionInformation(longTermKey: value), .identityInformation(identityResolvingKey: value),
      .signingInformation(signatureResolvingKey: value),
    ]
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
    expectHidden(LEEncrypt(key: key, plaintext: key).packet)
    expectSame(LELongTermKeyRequestNegativeReply(handle: 0x40).packet)
    // One that is cut shows nothing either.
    let whole = LELongTermKeyRequestReply(handle: 0x40, longTermKey: key).packet
    for count in 0..<whole.bytes.count {
      var redactor = KeyRedactor()
      let cut = HCIPacket(kind: .command, bytes: whole.bytes.prefix(count))
      let hidden = redactor.redacted(cut, isFromHost: true).bytes
      #expect(hidden.count == count && hidden.dropFirst(5).allSatisfy { $0 == 0 })
    }
  }

  @Test("distributed keys are hidden, other Security Manager PDUs and data are not")
  func distribution() throws {
    for pdu in pdusWithKeys {
      expectHidden(fragment(frame(pdu.bytes)))
      expectSame(fragment(frame(pdu.bytes, channel: 4)))
      let packet = fragment(frame(pdu.bytes))
      for count in 0..<packet.bytes.count {
        // Cut short: no ACL packet, and nothing to read past the end of.
        expectSame(HCIPacket(kind: .acl, bytes: packet.bytes.prefix(count)))
      }
    }
    expectSame(fragment(frame(SMPPDU.pairingConfirm(SMPValue(number: key)).bytes)))
  }

  @Test("a key is hidden wherever its PDU is split, also between other packets")
  func split() {
    for pdu in pdusWithKeys {
      let whole = frame(pdu.bytes)
      for first in 0...whole.count {
        for second in first...whole.count {
          let parts = [whole[..<first], whole[first..<second], whole[second...]]
          var redactor = KeyRedactor()
          var hidden: [UInt8] = []
          for (index, part) in parts.enumerated() {
            let packet = fragment(part, first: index == 0)
            hidden += redactor.redacted(packet, isFromHost: false).bytes.dropFirst(4)
            // What the other side, and another link, send meanwhile is not part of it.
            let others = fragment(frame([0x0B, 1]))
            #expect(redactor.redacted(others, isFromHost: true).bytes == others.bytes)
            let data = ACLHeader.packet(
              handle: 0x41, boundary: .continuing, payload: [1, 2, 3, 4, 5, 6, 7])
            #expect(redactor.redacted(data, isFromHost: false).bytes == data.bytes)
          }
          #expect(hidden == whole[..<5] + [UInt8](repeating: 0, count: 16))
        }
      }
    }
  }

  @Test("after the key, and after a frame that was broken off, nothing is hidden")
  func followers() {
    var redactor = KeyRedactor()
    let whole = frame(pdusWithKeys[0].bytes)
    _ = redactor.redacted(fragment(whole[..<10]), isFromHost: false)
    let data = fragment(frame([UInt8](repeating: 7, count: 20), channel: 4))
    #expect(redactor.redacted(data, isFromHost: false).bytes == data.bytes)
    let rest = fragment(whole[10...], first: false)
    #expect(redactor.redacted(rest, isFromHost: false).bytes == rest.bytes)
    _ = redactor.redacted(fragment(whole), isFromHost: false)
    let more = fragment([UInt8](repeating: 9, count: 20), first: false)
    #expect(redactor.redacted(more, isFromHost: false).bytes == more.bytes)
  }
}

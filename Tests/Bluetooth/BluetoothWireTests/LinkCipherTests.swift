import BluetoothWire
import Essentials
import Testing

@Suite("Link cipher")
struct LinkCipherTests {
  /// Core 5.4, Vol 6, Part C, §1.
  private static let sample = LinkCipher(
    longTermKey: 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF,
    central: .init(keyDiversifier: 0xACBD_CEDF_E0F1_0213, initializationVector: 0xBADC_AB24),
    peripheral: .init(keyDiversifier: 0x0213_2435_4657_6879, initializationVector: 0xDEAF_BABE))

  /// A packet with what it is on the air.
  struct Vector: Sendable {
    var header: UInt8
    var counter: UInt64
    var direction: LinkCipher.Direction
    var payload: String
    var encrypted: String
  }

  /// LL_START_ENC_RSP1, LL_START_ENC_RSP2, LL_DATA1 and LL_DATA2 of Core 5.4, Vol 6, Part C, §1.
  private static let samples = [
    Vector(
      header: 0x0F, counter: 0, direction: .toPeripheral, payload: "06", encrypted: "9fcda7f448"),
    Vector(
      header: 0x07, counter: 0, direction: .toCentral, payload: "06", encrypted: "a34c13a415"),
    Vector(
      header: 0x0E, counter: 1, direction: .toPeripheral,
      payload: "1700636465666768696a6b6c6d6e6f707131323334353637383930",
      encrypted: "7a70d66415226df26b17839a060405596bd6564f796b5b9ce6ff32f75a6d33"),
    Vector(
      header: 0x06, counter: 1, direction: .toCentral,
      payload: "170037363534333231304142434445464748494a4b4c4d4e4f5051",
      encrypted: "f38881e7bd94c9c369b9a66846dd4786aa8c39ce540d0dae3adcdf89b96088"),
  ]

  private func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(text)) }

  @Test("the session key is that of Core 5.4, Vol 6, Part C, §1")
  func sessionKey() {
    let key = AES128(key: 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF)
    #expect(
      key.encrypt(0x0213_2435_4657_6879_ACBD_CEDF_E0F1_0213 as UInt128)
        == 0x99AD_1B52_26A3_7E3E_058E_3B8E_27C2_C666)
  }

  @Test("packets are encrypted as in Core 5.4, Vol 6, Part C, §1, and back", arguments: samples)
  func sampleData(_ vector: Vector) throws {
    let fromKey = LinkCipher(
      sessionKey: 0x99AD_1B52_26A3_7E3E_058E_3B8E_27C2_C666,
      initializationVector: 0xDEAF_BABE_BADC_AB24)
    for cipher in [Self.sample, fromKey] {
      var packet = try bytes(vector.payload)
      cipher.encrypt(
        &packet, from: 0, header: vector.header, counter: vector.counter,
        direction: vector.direction)
      #expect(Hexadecimal.string(packet) == vector.encrypted)
      try cipher.decrypt(
        &packet, from: 0, header: vector.header, counter: vector.counter,
        direction: vector.direction)
      #expect(Hexadecimal.string(packet) == vector.payload)
    }
  }

  /// Random sessions, each with one packet whose octet i is 7 · i + its count.
  struct Session: Sendable {
    var longTermKey: UInt128
    var central: LinkCipher.SessionHalf
    var peripheral: LinkCipher.SessionHalf
    var header: UInt8
    var counter: UInt64
    var direction: LinkCipher.Direction
    var count: Int
    var encrypted: String

    init(
      _ longTermKey: UInt128, _ diversifiers: (UInt64, UInt64), _ vectors: (UInt32, UInt32),
      header: UInt8, counter: UInt64, _ direction: LinkCipher.Direction, count: Int,
      _ encrypted: String
    ) {
      self.longTermKey = longTermKey
      central = .init(keyDiversifier: diversifiers.0, initializationVector: vectors.0)
      peripheral = .init(keyDiversifier: diversifiers.1, initializationVector: vectors.1)
      self.header = header
      self.counter = counter
      self.direction = direction
      self.count = count
      self.encrypted = encrypted
    }
  }

  /// Computed by AESCCM of Python's `cryptography` 50.0.2 (OpenSSL).
  private static let sessions = [
    Session(
      0xEF28_43FF_74CF_F6A6_B6DC_0914_FAA3_0751,
      (0xB24C_01BE_B806_5BE4, 0xD179_8F84_BC21_8121), (0x3703_CBA3, 0xB067_E045),
      header: 0x13, counter: 5, .toPeripheral, count: 0, "3c77a70e"),
    Session(
      0xA782_0E12_1F36_1DCD_BD38_7424_9A4D_6177,
      (0x760F_1708_61D9_9AC1, 0x568F_B4DB_E3C3_9070), (0xDF45_3DC9, 0xACDF_FCFC),
      header: 0x1E, counter: 0x7F_FFFF_FFFF, .toCentral, count: 1, "3f68f0a8a7"),
    Session(
      0x954F_ED61_38F4_D8E2_21D3_6294_150D_48F0,
      (0xF912_91C3_D3FD_C77E, 0x0B47_75DA_0654_57E8), (0x39A5_9521, 0xF638_3291),
      header: 0x1B, counter: 0x01_2345_6789, .toPeripheral, count: 15,
      "925e084d1d0c3be307fcd5dd83446d7d00602b"),
    Session(
      0x4B2E_4211_85FF_2E1C_9B70_DE1F_20AC_E668,
      (0xBEF1_27D4_2EF5_61CB, 0xDC66_4E50_68D1_4742), (0xBBB2_0FED, 0x94AC_2F25),
      header: 0xB9, counter: 0x01_0000_0000, .toPeripheral, count: 16,
      "9c3a6eae189ef343979e5045bffcac3f02f9df4a"),
    Session(
      0xA841_9E36_C940_21D8_3A00_D0A6_6A3F_E72B,
      (0xC577_E678_928F_DA2E, 0x9E19_053A_D3B3_A91A), (0x3FB6_B8FC, 0x1608_C0C3),
      header: 0x5E, counter: 255, .toCentral, count: 17,
      "efbdba4c9615a4f70ef259585aaef99a8cd0d843bb"),
    Session(
      0xB17E_7E06_F226_1A61_37F2_7C4A_9490_D59E,
      (0x8289_0B9B_9E4B_868D, 0xD35F_4A74_7986_1A37), (0x403E_CC82, 0xB644_2E6A),
      header: 0x48, counter: 0x1_0000, .toPeripheral, count: 27,
      "72a271331512f4e330c17def80ebe64032345075515c859909e320f1a6aa5e"),
    Session(
      0x873B_2D72_FC82_6259_C1FD_2F60_373D_CBF9,
      (0xCDA6_742C_E2F7_4191, 0x75A9_F345_E502_0483), (0x8750_4A9F, 0x316F_A8F0),
      header: 0xB5, counter: 0x40_0000_0000, .toPeripheral, count: 251,
      """
      746b5204b57371f9ca0da103aed3071b0430badf852ecca726e757a78aeed3cdd3a523721db53c724cb3f258e0\
      4c76f2c5a685a7ffd40484849ff6eced104a36842d92e2f34b3512921251e73071482bdccf1b39d7368f3fc4a4\
      7d3b789176819e8eb4dc3deceb1824a33b6c47e119b99007f658443642c93b7c3b87deedd1ab6a8e5dbab938c4\
      2d64b6f1a192ffb2583f08a7f357d123a45576cae3b0c2120e1981c1d42546b347b40ea4a6698163af45663940\
      8b1cad89d483967abd860edcd6504784db3650d7d2e2b50a6161f8a62ec67984d2c60b11a59caef65a0f03888c\
      72b002218130673689c8a532044627e99571f690598fea7c9fe08c493e54
      """),
  ]

  @Test("sessions are those of another implementation", arguments: sessions)
  func independent(_ session: Session) throws {
    let cipher = LinkCipher(
      longTermKey: session.longTermKey, central: session.central,
      peripheral: session.peripheral)
    let payload = (0..<session.count).map { UInt8(truncatingIfNeeded: 7 * $0 + session.count) }
    // Behind something that stays as it is.
    var packet: [UInt8] = [1, 2, 3] + payload
    cipher.encrypt(
      &packet, from: 3, header: session.header, counter: session.counter,
      direction: session.direction)
    #expect(Array(packet.prefix(3)) == [1, 2, 3])
    #expect(Hexadecimal.string(Array(packet.dropFirst(3))) == session.encrypted)
    try cipher.decrypt(
      &packet, from: 3, header: session.header, counter: session.counter,
      direction: session.direction)
    #expect(packet == [1, 2, 3] + payload)
  }

  /// What `sample` makes of a packet whose MIC is looked at as another.
  private func opens(
    _ packet: [UInt8], header: UInt8 = 0x02, counter: UInt64 = 7,
    direction: LinkCipher.Direction = .toCentral, with cipher: LinkCipher = sample
  ) -> [UInt8]? {
    var packet = packet
    do throws(MICFailure) {
      try cipher.decrypt(&packet, from: 0, header: header, counter: counter, direction: direction)
      return packet
    } catch {
      #expect(packet.isEmpty, "nothing is left of what fails")
      return nil
    }
  }

  @Test("each altered bit, a packet cut short, and another key, number or direction fail")
  func failures() {
    let payload = Array(UInt8(0)..<40)
    var packet = payload
    Self.sample.encrypt(&packet, from: 0, header: 0x02, counter: 7, direction: .toCentral)
    #expect(opens(packet) == payload)
    for bit in 0..<(8 * packet.count) {
      var altered = packet
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(opens(altered) == nil, "bit \(bit)")
    }
    for count in 0..<packet.count {
      #expect(opens(Array(packet.prefix(count))) == nil, "\(count) octets")
    }
    #expect(opens(packet + [0]) == nil)
    #expect(opens(packet, counter: 6) == nil)
    #expect(opens(packet, counter: LinkCipher.packetCounterMax) == nil)
    #expect(opens(packet, direction: .toPeripheral) == nil)
    let other = LinkCipher(sessionKey: 1, initializationVector: 0xDEAF_BABE_BADC_AB24)
    #expect(opens(packet, with: other) == nil)
  }

  @Test("the header is authenticated but for the bits that change when a packet is sent again")
  func header() {
    var packet: [UInt8] = [1, 2, 3]
    Self.sample.encrypt(&packet, from: 0, header: 0x02, counter: 7, direction: .toCentral)
    for bit in 0..<8 {
      let isMasked = (2...4).contains(bit)
      #expect((opens(packet, header: 0x02 ^ 1 << bit) != nil) == isMasked, "bit \(bit)")
    }
  }

  @Test("a number above 39 bits is a programmer's mistake")
  func counterTooHigh() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var packet: [UInt8] = [1]
      LinkCipher(sessionKey: 1, initializationVector: 2).encrypt(
        &packet, from: 0, header: 2, counter: LinkCipher.packetCounterMax + 1,
        direction: .toCentral)
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("a packet counter has 39 bits"))
  }
}

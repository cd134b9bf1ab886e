import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Encrypted links")
struct EncryptionTests {
  private static let key: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF

  /// On the indoor floor, and without pacing.
  private static let radios = [RadioModel(), .ideal]

  private static let secret = Array("the door opens at seven".utf8)
  private static let answer = Array("it is open now, come in".utf8)

  private func exchange(_ pair: ConnectedPair) {
    pair.central.sendData(Self.secret, on: pair.centralHandle)
    pair.peripheral.sendData(Self.answer, on: pair.peripheralHandle)
    pair.world.run(for: .seconds(1))
  }

  @Test(
    "an eavesdropper hears what a plain link carries, and nothing of it once it is encrypted",
    arguments: radios)
  func eavesdropping(_ radio: RadioModel) throws {
    let pair = try #require(ConnectedPair(seed: 1, radio: radio))
    let eavesdropper = Eavesdropper(pair.world)
    exchange(pair)
    #expect(eavesdropper.heard(Self.secret))
    #expect(eavesdropper.heard(Self.answer))

    #expect(pair.encrypt(Self.key))
    eavesdropper.forget()
    exchange(pair)
    #expect(pair.received.peripheral == Self.secret + Self.secret)
    #expect(pair.received.central == Self.answer + Self.answer)
    // In no piece of it.
    for text in [Self.secret, Self.answer] {
      for start in 0...(text.count - 4) {
        #expect(!eavesdropper.heard(Array(text[start..<(start + 4)])), "\(start)")
      }
    }
    #expect(eavesdropper.packets.contains { $0.bytes.count == 2 + Self.secret.count + 4 })
  }

  @Test("the key and a recording give the payload, even of a lossy link", arguments: radios)
  func recording(_ radio: RadioModel) throws {
    let pair = try #require(ConnectedPair(seed: 2, radio: radio, interval: 8, timeout: 400))
    pair.world.radio.packetLoss = 0.3
    let eavesdropper = Eavesdropper(pair.world)
    #expect(pair.encrypt(Self.key))
    #expect(eavesdropper.plainOpcodes == [0x03, 0x04, 0x05])
    for number in UInt8(0)..<30 {
      pair.central.sendData([number, 1], on: pair.centralHandle)
      pair.peripheral.sendData([number], on: pair.peripheralHandle)
    }
    pair.world.run(for: .seconds(5))
    let recording = Recording(eavesdropper.packets)
    let payloads = try #require(recording.payloads([Self.key]))
    #expect(payloads[.toPeripheral] == (0..<30).map { [UInt8($0), 1] })
    #expect(payloads[.toCentral] == (0..<30).map { [UInt8($0)] })
    #expect(recording.payloads([Self.key ^ 1]) == nil)
    #expect(pair.peripheral.data.count == 30)
    #expect(pair.central.data.count == 30)
  }

  @Test("one seed draws the same session in each run, another seed another")
  func seeds() throws {
    func run(_ seed: UInt64) throws -> (air: [AirPacket], transcript: [UInt8]) {
      let pair = try #require(ConnectedPair(seed: seed))
      let eavesdropper = Eavesdropper(pair.world)
      #expect(pair.encrypt(Self.key))
      exchange(pair)
      return (eavesdropper.packets, pair.central.transcript + pair.peripheral.transcript)
    }
    let first = try run(3)
    let second = try run(3)
    #expect(first == second)
    let requests = try [first, run(4)].map { run in
      try #require(run.air.first { $0.bytes.count == 25 && $0.bytes[2] == 0x03 }).bytes
    }
    #expect(requests[0][13...] != requests[1][13...])
  }

  @Test("listening changes nothing of what hosts see", arguments: radios)
  func listening(_ radio: RadioModel) throws {
    let transcripts = try [false, true].map { listens in
      let pair = try #require(ConnectedPair(seed: 5, radio: radio))
      let eavesdropper = listens ? Eavesdropper(pair.world) : nil
      exchange(pair)
      #expect(pair.encrypt(Self.key))
      exchange(pair)
      #expect(eavesdropper?.packets.isEmpty != true)
      return pair.central.transcript + pair.peripheral.transcript
    }
    #expect(transcripts[0] == transcripts[1])
  }

  @Test(
    "with a wrong key on either side both controllers report a MIC failure",
    arguments: radios, [true, false])
  func wrongKey(_ radio: RadioModel, _ isCentralWrong: Bool) throws {
    let pair = try #require(ConnectedPair(seed: 6, radio: radio))
    #expect(pair.requestEncryption(isCentralWrong ? 1 : Self.key))
    pair.central.sendData(Self.secret, on: pair.centralHandle)
    pair.peripheral.perform(
      LELongTermKeyRequestReply(
        handle: pair.peripheralHandle, longTermKey: isCentralWrong ? Self.key : 1))
    #expect(pair.central.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.data.isEmpty)
  }

  @Test(
    "a new key pauses the link and makes a new session; data goes on after it",
    arguments: radios)
  func refresh(_ radio: RadioModel) throws {
    let pair = try #require(ConnectedPair(seed: 7, radio: radio))
    let eavesdropper = Eavesdropper(pair.world)
    let keys: [UInt128] = [Self.key, 2, 3]
    for key in keys {
      // Some of it is under way when the link pauses; the controller has room for all.
      for number in UInt8(0)..<8 {
        pair.central.sendData([number, 1, 2, 3], on: pair.centralHandle)
        pair.peripheral.sendData([number, 4, 5, 6], on: pair.peripheralHandle)
      }
      #expect(pair.encrypt(key))
    }
    pair.world.run(for: .seconds(3))
    let all = keys.flatMap { _ in UInt8(0)..<8 }
    #expect(pair.peripheral.data.map { Array($0.payload) } == all.map { [$0, 1, 2, 3] })
    #expect(pair.central.data.map { Array($0.payload) } == all.map { [$0, 4, 5, 6] })
    // Pauses are asked for and answered under the old key, and the central's answer is plain.
    #expect(
      eavesdropper.plainOpcodes
        == [0x03, 0x04, 0x05, 0x0B, 0x03, 0x04, 0x05, 0x0B, 0x03, 0x04, 0x05])
    let recording = Recording(eavesdropper.packets)
    let payloads = try #require(recording.payloads(keys))
    #expect(payloads[.toPeripheral] == all.map { [$0, 1, 2, 3] })
    #expect(payloads[.toCentral] == all.map { [$0, 4, 5, 6] })
    #expect(recording.payloads([Self.key, 9, 3]) == nil)
  }

  @Test("a refresh with different keys is a MIC failure")
  func refreshMismatch() throws {
    let pair = try #require(ConnectedPair(seed: 8))
    #expect(pair.encrypt(Self.key))
    #expect(pair.requestEncryption(2))
    pair.peripheral.perform(
      LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: 3))
    #expect(pair.central.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.waitForDisconnection() == .micFailure)
  }

  @Test(
    "an encrypted link whose new key is missing ends: it must not go on in the clear",
    arguments: radios)
  func refreshWithoutKey(_ radio: RadioModel) throws {
    let pair = try #require(ConnectedPair(seed: 9, radio: radio))
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    #expect(pair.requestEncryption(2))
    pair.central.sendData(Self.secret, on: pair.centralHandle)
    pair.peripheral.perform(LELongTermKeyRequestNegativeReply(handle: pair.peripheralHandle))
    #expect(pair.central.waitForDisconnection() == .pinOrKeyMissing)
    #expect(pair.peripheral.waitForDisconnection() == .localHostTerminatedConnection)
    #expect(!eavesdropper.heard(Self.secret))
  }

  /// A link that loses packets once it is there.
  private func lossyPair(_ radio: RadioModel, seed: UInt64) throws -> ConnectedPair {
    var radio = radio
    radio.advertisementLoss = 0
    radio.packetLoss = 0
    let pair = try #require(
      ConnectedPair(seed: seed, radio: radio, interval: 8, timeout: 600), "seed \(seed)")
    pair.world.radio.packetLoss = 0.3
    return pair
  }

  @Test("keys change on a lossy link under load, and nothing is missing, doubled or plain")
  func lossyRefreshes() throws {
    for seed in UInt64(20)..<40 {
      let pair = try lossyPair(RadioModel(), seed: seed)
      #expect(pair.encrypt(1), "seed \(seed)")
      let eavesdropper = Eavesdropper(pair.world)
      for round in UInt8(0)..<4 {
        pair.central.sendData(Self.secret + [round], on: pair.centralHandle)
        pair.peripheral.sendData(Self.answer + [round], on: pair.peripheralHandle)
        #expect(pair.encrypt(UInt128(round) + 2), "seed \(seed)")
      }
      pair.world.run(for: .seconds(5))
      #expect(
        pair.peripheral.data.map { Array($0.payload) } == (0..<4).map { Self.secret + [$0] },
        "seed \(seed)")
      #expect(
        pair.central.data.map { Array($0.payload) } == (0..<4).map { Self.answer + [$0] },
        "seed \(seed)")
      #expect(!eavesdropper.heard(Array(Self.secret.prefix(8))), "seed \(seed)")
      #expect(!eavesdropper.heard(Array(Self.answer.prefix(8))), "seed \(seed)")
    }
  }

  @Test(
    "either side may end the link while its encryption starts, pauses or goes on",
    arguments: radios)
  func ending(_ radio: RadioModel) throws {
    for seed in UInt64(50)..<70 {
      let pair = try lossyPair(radio, seed: seed)
      if seed.isMultiple(of: 2) { #expect(pair.encrypt(1), "seed \(seed)") }
      #expect(pair.requestEncryption(2), "seed \(seed)")
      pair.peripheral.send(
        LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: 2))
      pair.world.run(for: .milliseconds(Int64(seed % 10) * 5))
      let isCentral = seed % 4 < 2
      let (ends, hears) =
        isCentral ? (pair.central, pair.peripheral) : (pair.peripheral, pair.central)
      ends.send(
        Disconnect(
          handle: isCentral ? pair.centralHandle : pair.peripheralHandle,
          reason: .remoteUserTerminatedConnection))
      #expect(ends.waitForDisconnection() == .localHostTerminatedConnection, "seed \(seed)")
      #expect(hears.waitForDisconnection() == .remoteUserTerminatedConnection, "seed \(seed)")
    }
  }

  @Test("control PDUs are encrypted, too, and other procedures wait for the key")
  func control() throws {
    let pair = try #require(ConnectedPair(seed: 10))
    let eavesdropper = Eavesdropper(pair.world)
    #expect(pair.requestEncryption(Self.key))
    pair.peripheral.perform(LEReadRemoteFeatures(handle: pair.peripheralHandle))
    pair.world.run(for: .seconds(1))
    func features() -> LEFeatures? {
      pair.peripheral.wait(atMost: .seconds(1)) {
        if case .leReadRemoteFeaturesComplete(let event) = $0 { event.features } else { nil }
      }
    }
    #expect(features() == nil)
    pair.peripheral.perform(
      LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: Self.key))
    #expect(try #require(features()).contains(.encryption))
    pair.central.perform(ReadRemoteVersionInformation(handle: pair.centralHandle))
    let version = pair.central.wait {
      if case .readRemoteVersionInformationComplete(let event) = $0 { event.version } else { nil }
    }
    #expect(version == 13)
    // LL_PERIPHERAL_FEATURE_REQ and LL_VERSION_IND with four octets more than they have; LL_ENC_RSP
    // has 13, too.
    let control = Recording(eavesdropper.packets).fresh.filter { $0.bytes[0] & 3 == 3 }
    #expect(control.count { $0.bytes[1] == 13 && $0.direction == .toCentral } == 2)
    #expect(control.count { $0.bytes[1] == 10 } == 2)
    #expect(!control.contains { $0.bytes[1] == 9 || $0.bytes[1] == 6 })
    #expect(Recording(eavesdropper.packets).payloads([Self.key]) != nil)
  }

  @Test(
    "an empty packet stays empty, the longest grows to 255 octets, longer data is cut",
    arguments: radios)
  func sizes(_ radio: RadioModel) throws {
    var capabilities = ControllerCapabilities()
    capabilities.aclPacketLength = 1_021
    let pair = try #require(
      ConnectedPair(seed: 11, radio: radio, capabilities: capabilities) { central, peripheral in
        for host in [central, peripheral] {
          host.perform(
            LEWriteSuggestedDefaultDataLength(
              length: .init(txOctets: 251, txTimeMicroseconds: 2_120)))
        }
      })
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    pair.world.run(for: .seconds(1))
    #expect(eavesdropper.packets.allSatisfy { $0.bytes.count == 2 && $0.bytes[1] == 0 })
    for count in [251, 700, 1, 252] {
      eavesdropper.forget()
      pair.peripheral.data = []
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
      pair.central.sendData(payload, on: pair.centralHandle)
      pair.world.run(for: .seconds(1))
      #expect(pair.received.peripheral == payload)
      let counts = Recording(eavesdropper.packets).fresh.map(\.bytes.count)
      let whole = [Int](repeating: 257, count: count / 251)
      #expect(counts == whole + (count.isMultiple(of: 251) ? [] : [count % 251 + 6]))
      #expect(eavesdropper.packets.allSatisfy { $0.bytes.count == Int($0.bytes[1]) + 2 })
    }
  }

  @Test("thousands of packets each way keep their numbers apart", arguments: radios)
  func manyPackets(_ radio: RadioModel) throws {
    let pair = try #require(ConnectedPair(seed: 12, radio: radio, interval: 8))
    let eavesdropper = Eavesdropper(pair.world)
    #expect(pair.encrypt(Self.key))
    let total = 3_000
    var sent = 0
    while sent < total {
      for _ in 0..<20 {
        let payload = [UInt8(sent & 0xFF), UInt8(sent >> 8)]
        pair.central.sendData(payload, on: pair.centralHandle)
        pair.peripheral.sendData(payload + [1], on: pair.peripheralHandle)
        sent += 1
      }
      let isThere = pair.world.run(atMost: .seconds(20)) {
        pair.central.data.count == sent && pair.peripheral.data.count == sent
      }
      try #require(isThere)
      // The acknowledgement of the last, too.
      pair.world.run(for: .milliseconds(30))
    }
    let expected = (0..<total).map { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(pair.peripheral.data.map { Array($0.payload) } == expected)
    #expect(pair.central.data.map { Array($0.payload) } == expected.map { $0 + [1] })
    let payloads = Recording(eavesdropper.packets).payloads([Self.key])
    #expect(payloads?[.toPeripheral] == expected)
    #expect(payloads?[.toCentral] == expected.map { $0 + [1] })
  }

  @Test("a host without room holds back encrypted data, also beyond the end of the link")
  func hostWithoutRoom() throws {
    let pair = try #require(
      ConnectedPair(seed: 13) { _, peripheral in
        peripheral.perform(SetControllerToHostFlowControl(mode: .acl))
        peripheral.perform(HostBufferSize(aclLength: 251, aclCount: 1))
      })
    #expect(pair.encrypt(Self.key))
    for number in UInt8(0)..<3 { pair.central.sendData([number], on: pair.centralHandle) }
    pair.world.run(for: .seconds(1))
    #expect(pair.received.peripheral == [0])
    pair.peripheral.send(
      HostNumberOfCompletedPackets(packets: [
        CompletedPackets(handle: pair.peripheralHandle, count: 1)
      ]))
    pair.world.run(for: .seconds(1))
    #expect(pair.received.peripheral == [0, 1])
    // The third is on the air again and again when the link ends.
    pair.central.perform(Disconnect(handle: pair.centralHandle))
    #expect(pair.central.waitForDisconnection() == .localHostTerminatedConnection)
    #expect(pair.peripheral.waitForDisconnection() == .remoteUserTerminatedConnection)
  }

  @Test("pacing may begin and end while encrypted data is on its way")
  func pacingChanges() throws {
    let pair = try #require(ConnectedPair(seed: 14, interval: 80, timeout: 400))
    #expect(pair.encrypt(Self.key))
    var expected: [UInt8] = []
    for round in UInt8(0)..<20 {
      let payload = (0..<100).map { round &+ $0 }
      expected += payload
      pair.central.sendData(payload, on: pair.centralHandle)
      pair.world.run(for: .milliseconds(Int64(round) * 7))
      pair.world.radio.isPaced.toggle()
      pair.world.run(for: .milliseconds(150))
    }
    pair.world.run(for: .seconds(2))
    #expect(pair.received.peripheral == expected)
  }
}

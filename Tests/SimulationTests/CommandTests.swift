import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Commands of a simulated controller")
struct CommandTests {
  private func host(
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) -> ScriptedHost {
    let host = ScriptedHost(
      World(seed: 1), "controller", address: 0x0102_0304_0506, capabilities: capabilities)
    host.start()
    return host
  }

  @Test("a host learns version, features, buffers and address")
  func initialises() throws {
    let host = host()
    let version = try #require(host.value(ReadLocalVersionInformation()))
    #expect(version.hciVersion == 13)
    let commands = try #require(host.value(ReadLocalSupportedCommands()))
    #expect(commands.contains(.leSetExtendedScanEnable))
    #expect(commands.contains(.leReadBufferSizeV2))
    let features = try #require(host.value(LEReadLocalSupportedFeatures())).features
    #expect(features.isSuperset(of: [.encryption, .le2M, .leCoded, .extendedAdvertising]))
    #expect(try #require(host.value(LEReadBufferSize())).aclLength == 251)
    #expect(try #require(host.value(LEReadBufferSizeV2())).aclCount == 32)
    #expect(try #require(host.value(ReadBDADDR())).address == host.address)
    #expect(try #require(host.value(ReadLocalSupportedFeatures())).features.contains(.leSupported))
    #expect(host.value(ReadLocalExtendedFeatures(page: 1))?.lastPage == 1)
    #expect(host.perform(WriteLEHostSupport(isSupported: true)) == .success)
    #expect(host.perform(SetEventMaskPage2()) == .success)
    #expect(host.value(LERand())?.random != host.value(LERand())?.random)
    #expect(host.value(LEReadMaximumAdvertisingDataLength())?.byteCount == 1_650)
    #expect(host.value(LEReadFilterAcceptListSize())?.count == 32)
    #expect(host.undecodableCount == 0)
  }

  @Test("every command that is supported is answered, whatever its parameters")
  func answersEverything() throws {
    let host = host()
    let all = (0...0xFF).flatMap { ocf in
      [0x01, 0x03, 0x04, 0x05, 0x08].map { HCIOpcode(rawValue: $0 << 10 | ocf) }
    }
    var generator = SeededGenerator(seed: 5)
    for opcode in all where opcode != .hostNumberOfCompletedPackets {
      for length in [0, 1, 2, 7, 25, 66] {
        var bytes: [UInt8] = [
          UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8), UInt8(length),
        ]
        for _ in 0..<length { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
        host.controller.receive(HCIPacket(kind: .command, bytes: bytes))
        #expect(host.status(of: opcode) != nil, "\(opcode) with \(bytes)")
      }
    }
    #expect(host.undecodableCount == 0)
  }

  @Test("LE Encrypt gives the sample of the specification")
  func encrypts() {
    // Core 5.4, Vol 6, Part C, §1: key and plaintext of the session key derivation.
    let key: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF
    let plain: UInt128 = 0x0213_2435_4657_6879_ACBD_CEDF_E0F1_0213
    let expected: UInt128 = 0x99AD_1B52_26A3_7E3E_058E_3B8E_27C2_C666
    #expect(host().value(LEEncrypt(key: key, plaintext: plain))?.encrypted == expected)
  }

  @Test("an unknown command, and one beyond the controller's abilities, is 0x01")
  func unknownCommand() {
    let host = host(capabilities: .basic)
    host.controller.receive(HCIPacket(kind: .command, bytes: [0xFF, 0xFC, 0]))
    #expect(host.status(of: HCIOpcode(rawValue: 0xFCFF)) == .unknownCommand)
    #expect(host.perform(LEClearAdvertisingSets()) == .unknownCommand)
    #expect(
      host.perform(LEReadMaximumDataLength()) == .unknownCommand)
    let commands = host.value(ReadLocalSupportedCommands())
    #expect(commands?.contains(.leSetExtendedScanEnable) == false)
    #expect(commands?.contains(.leSetScanEnable) == true)
  }

  @Test("a command about a connection that doesn't exist is 0x02")
  func unknownConnection() {
    let host = host()
    #expect(host.perform(Disconnect(handle: 9)) == .unknownConnection)
    #expect(host.perform(ReadRSSI(handle: 9)) == .unknownConnection)
    #expect(host.perform(LEReadRemoteFeatures(handle: 9)) == .unknownConnection)
    #expect(
      host.perform(LESetDataLength(handle: 9, txOctets: 251, txTimeMicroseconds: 2_120))
        == .unknownConnection)
  }

  @Test("legacy and extended commands don't mix until a reset: 0x0C")
  func generations() {
    let host = host()
    #expect(host.perform(LESetScanParameters()) == .success)
    #expect(
      host.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters()))
        == .commandDisallowed)
    #expect(host.perform(Reset()) == .success)
    #expect(
      host.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters())) == .success)
    #expect(host.perform(LESetScanEnable(isEnabled: true)) == .commandDisallowed)
  }

  @Test("a command that is not allowed in the present state is refused with 0x0C")
  func commandDisallowed() {
    let host = host()
    #expect(host.perform(LECreateConnectionCancel()) == .commandDisallowed)
    host.scan()
    #expect(host.perform(LESetScanParameters()) == .commandDisallowed)
    let random = DeviceAddress(bits: 0xC000_0000_0001, kind: .random)
    #expect(host.perform(LESetRandomAddress(address: random)) == .commandDisallowed)
    host.advertise()
    #expect(host.perform(LESetAdvertisingParameters()) == .commandDisallowed)
    host.connect(to: random)
    let timing = ConnectionTimingRequest(
      intervalMinUnits1250us: 24, intervalMaxUnits1250us: 24, latency: 0, timeoutUnits10ms: 100)
    #expect(
      host.perform(LECreateConnection(peer: PeerAddress(random), timing: timing))
        == .commandDisallowed)
    #expect(host.perform(LECreateConnectionCancel()) == .success)
    let complete = host.waitForConnection()
    #expect(complete?.status == .unknownConnection)
  }

  @Test("values out of range, or missing bytes, are refused with 0x12")
  func invalidParameters() {
    let host = host()
    #expect(
      host.perform(
        LESetScanParameters(timing: ScanTiming(intervalUnits625us: 4, windowUnits625us: 8)))
        == .invalidParameters)
    #expect(
      host.perform(
        LESetAdvertisingParameters(intervalMinUnits625us: 0x1F, intervalMaxUnits625us: 0x20))
        == .invalidParameters)
    for (interval, latency, timeout) in [
      (5, 0, 100), (3_201, 0, 3_200), (24, 500, 3_200), (800, 0, 100),
    ] {
      let timing = ConnectionTimingRequest(
        intervalMinUnits1250us: UInt16(interval), intervalMaxUnits1250us: UInt16(interval),
        latency: UInt16(latency), timeoutUnits10ms: UInt16(timeout))
      #expect(host.perform(LECreateConnection(timing: timing)) == .invalidParameters)
    }
    // A random own address that was never set.
    host.perform(LESetAdvertisingParameters(ownAddressType: .random))
    #expect(host.perform(LESetAdvertisingEnable(isEnabled: true)) == .invalidParameters)
    host.controller.receive(HCIPacket(kind: .command, bytes: [0x0C, 0x20, 1, 1]))
    #expect(host.status(of: .leSetScanEnable) == .invalidParameters)
  }

  @Test("lists and sets that are full are refused with 0x07")
  func memoryCapacityExceeded() {
    var capabilities = ControllerCapabilities()
    capabilities.filterAcceptListMax = 1
    capabilities.resolvingListMax = 1
    capabilities.advertisingSetsMax = 1
    let host = host(capabilities: capabilities)
    func address(_ bits: UInt64) -> DeviceAddress { DeviceAddress(bits: bits, kind: .public) }
    #expect(host.perform(LEAddDeviceToFilterAcceptList(address: address(1))) == .success)
    #expect(host.perform(LEAddDeviceToFilterAcceptList(address: address(1))) == .success)
    #expect(
      host.perform(LEAddDeviceToFilterAcceptList(address: address(2)))
        == .memoryCapacityExceeded)
    func add(_ bits: UInt64) -> HCIStatus? {
      host.perform(
        LEAddDeviceToResolvingList(peerIdentity: address(bits), peerKey: 1, localKey: 1))
    }
    #expect(add(1) == .success)
    #expect(add(2) == .memoryCapacityExceeded)
    func parameters(_ set: UInt8) -> HCIStatus? {
      host.perform(
        LESetExtendedAdvertisingParameters(
          set: set, properties: [], intervalMinUnits625us: 160, intervalMaxUnits625us: 160))
    }
    #expect(parameters(0) == .success)
    #expect(parameters(1) == .memoryCapacityExceeded)
    for piece in 0..<6 {
      host.perform(
        LESetExtendedAdvertisingData(
          set: 0, operation: piece == 0 ? .first : .intermediate,
          data: [UInt8](repeating: 0, count: 251)))
    }
    #expect(
      host.perform(
        LESetExtendedAdvertisingData(
          set: 0, operation: .last, data: [UInt8](repeating: 0, count: 251)))
        == .memoryCapacityExceeded)
  }

  @Test("a PHY that the controller lacks is 0x11, an unknown advertising set 0x42")
  func unsupportedAndUnknown() throws {
    var capabilities = ControllerCapabilities()
    capabilities.hasCoded = false
    let host = host(capabilities: capabilities)
    #expect(
      host.perform(
        LESetExtendedScanParameters(le1M: nil, leCoded: ExtendedScanParameters()))
        == .unsupportedFeature)
    #expect(
      host.perform(LESetDefaultPHY(preference: .init(transmit: .leCoded, receive: nil)))
        == .unsupportedFeature)
    #expect(
      host.perform(LESetExtendedAdvertisingData(set: 3, data: []))
        == .unknownAdvertisingIdentifier)
    #expect(
      host.perform(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 3)]))
        == .unknownAdvertisingIdentifier)
  }

  @Test("connections beyond the limit are 0x09, a second to the same peer 0x0B")
  func connectionLimit() throws {
    var capabilities = ControllerCapabilities()
    capabilities.connectionsMax = 1
    let pair = try #require(ConnectedPair(seed: 1, capabilities: capabilities))
    let timing = ConnectionTimingRequest(
      intervalMinUnits1250us: 24, intervalMaxUnits1250us: 24, latency: 0, timeoutUnits10ms: 100)
    #expect(pair.central.perform(LECreateConnection(timing: timing)) == .connectionLimitExceeded)
    #expect(
      pair.peripheral.perform(LESetAdvertisingEnable(isEnabled: true))
        == .connectionLimitExceeded)
    let other = try #require(ConnectedPair(seed: 1))
    #expect(
      other.central.perform(
        LECreateConnection(peer: PeerAddress(other.peripheral.address), timing: timing))
        == .connectionAlreadyExists)
  }

  @Test("masked events stay away, and answers to commands come all the same")
  func eventMasks() throws {
    let pair = try #require(ConnectedPair(seed: 1))
    pair.central.perform(SetEventMask(mask: []))
    pair.peripheral.perform(LESetEventMask(mask: []))
    pair.central.events = []
    pair.central.perform(
      LEConnectionUpdate(
        handle: pair.centralHandle,
        timing: .init(
          intervalMinUnits1250us: 40, intervalMaxUnits1250us: 40, latency: 0,
          timeoutUnits10ms: 100)))
    pair.world.run(for: .seconds(1))
    pair.central.perform(Disconnect(handle: pair.centralHandle))
    pair.world.run(for: .seconds(1))
    #expect(pair.central.events.isEmpty)
    #expect(pair.peripheral.waitForDisconnection(atMost: .zero) != nil)
    #expect(
      pair.peripheral.events.allSatisfy {
        if case .leConnectionUpdateComplete = $0 { false } else { true }
      })
  }

  @Test("commands sent together are answered in order, each later than the one before")
  func ordered() {
    let host = host()
    host.send(LERand())
    host.send(ReadBDADDR())
    host.send(LEReadBufferSize())
    #expect(host.events.isEmpty)
    host.world.run(for: .milliseconds(1))
    let opcodes = host.events.map { event -> HCIOpcode? in
      if case .commandComplete(let complete) = event { complete.opcode } else { nil }
    }
    #expect(opcodes == [.leRand, .readBDADDR, .leReadBufferSize])
  }

  @Test("data beyond the controller's buffers overflows; data for unknown links is dropped")
  func overflow() throws {
    let pair = try #require(ConnectedPair(seed: 1))
    for _ in 0..<33 { pair.central.sendData([1], on: pair.centralHandle) }
    pair.central.sendData([1], on: 77)
    pair.world.run(for: .zero)
    let overflows = pair.central.events.filter {
      if case .dataBufferOverflow = $0 { true } else { false }
    }
    #expect(overflows.count == 1)
    #expect(pair.central.controller.droppedPacketCount == 2)
  }

  @Test(
    "data for which a host has no buffer stays with its sender until there is one",
    arguments: [RadioModel.ideal, RadioModel()])
  func hostFlowControl(_ radio: RadioModel) throws {
    let pair = try #require(
      ConnectedPair(seed: 1, radio: radio) { _, peripheral in
        peripheral.perform(SetControllerToHostFlowControl(mode: .acl))
        peripheral.perform(HostBufferSize(aclLength: 251, aclCount: 3))
      })
    for value in UInt8(0)..<10 { pair.central.sendData([value], on: pair.centralHandle) }
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.count == 3)
    #expect(pair.central.completedCount == 3)
    pair.peripheral.send(
      HostNumberOfCompletedPackets(packets: [
        CompletedPackets(handle: pair.peripheralHandle, count: 2)
      ]))
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.count == 5)
    #expect(pair.central.completedCount == 5)
    #expect(pair.peripheral.data.map { Array($0.payload) } == (UInt8(0)..<5).map { [$0] })
  }

  @Test("a link ends though the peer's host has no buffer for what waits", arguments: [0, 30])
  func disconnectionPastFullHost(_ lossPercent: Int) throws {
    var radio = RadioModel()
    radio.packetLoss = Double(lossPercent) / 100
    let pair = try #require(
      ConnectedPair(seed: 2, radio: radio) { _, peripheral in
        peripheral.perform(SetControllerToHostFlowControl(mode: .acl))
        peripheral.perform(HostBufferSize(aclLength: 251, aclCount: 1))
      })
    for _ in 0..<10 { pair.central.sendData([1], on: pair.centralHandle) }
    pair.world.run(for: .seconds(1))
    pair.central.perform(Disconnect(handle: pair.centralHandle))
    #expect(
      pair.central.waitForDisconnection(atMost: .seconds(3)) == .localHostTerminatedConnection)
    #expect(
      pair.peripheral.waitForDisconnection(atMost: .seconds(3)) == .remoteUserTerminatedConnection)
    #expect(pair.peripheral.data.count == 1)
  }
}

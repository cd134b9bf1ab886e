import BluetoothWire
import Essentials
import Testing

/// Packets as an independent implementation writes them (Bumble 0.0.236), beside ours.
@Suite("HCI packets of another implementation")
struct HCIVectorTests {
  static let randomAddress = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
  static let publicAddress = DeviceAddress(bits: 0x001B_DC07_32EF, kind: .public)
  static let key: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100

  static let commands: [(any HCICommand, String)] = [
    (
      Disconnect(handle: 0x40),
      "060403400013"
    ),
    (
      HostBufferSize(
        aclLength: 0x1234, synchronousLength: 0x56, aclCount: 0x789A, synchronousCount: 0xBCDE),
      "330c073412569a78debc"
    ),
    (
      WriteLEHostSupport(isSupported: true),
      "6d0c020100"
    ),
    (
      LESetAdvertisingParameters(
        intervalMinUnits625us: 0xA0, intervalMaxUnits625us: 0xB0, type: .directedHighDutyCycle,
        ownAddressType: .random, peer: randomAddress, channels: [.channel37, .channel39],
        filterPolicy: .filteredConnectionRequests),
      "06200fa000b0000101019a78563412c00502"
    ),
    (
      LESetAdvertisingData(data: [2, 1, 6]),
      "0820200302010600000000000000000000000000000000000000000000000000"
        + "000000"
    ),
    (
      LESetScanParameters(
        type: .active, timing: ScanTiming(intervalUnits625us: 0x60, windowUnits625us: 0x30),
        ownAddressType: .random),
      "0b200701600030000100"
    ),
    (
      LESetScanEnable(isEnabled: true),
      "0c20020100"
    ),
    (
      LECreateConnection(
        scan: ScanTiming(intervalUnits625us: 0x60, windowUnits625us: 0x30),
        peer: PeerAddress(randomAddress), ownAddressType: .random,
        timing: ConnectionTimingRequest(
          intervalMinUnits1250us: 12, intervalMaxUnits1250us: 24, latency: 0, timeoutUnits10ms: 72,
          eventLengthMinUnits625us: 1, eventLengthMaxUnits625us: 2)),
      "0d20196000300000019a78563412c0010c0018000000480001000200"
    ),
    (
      LEExtendedCreateConnection(
        ownAddressType: .random, peer: PeerAddress(randomAddress),
        le1M: InitiatingParameters(
          scan: ScanTiming(intervalUnits625us: 96, windowUnits625us: 48),
          timing: ConnectionTimingRequest(
            intervalMinUnits1250us: 12, intervalMaxUnits1250us: 24, latency: 0, timeoutUnits10ms: 72
          )),
        leCoded: InitiatingParameters(
          scan: ScanTiming(intervalUnits625us: 98, windowUnits625us: 50),
          timing: ConnectionTimingRequest(
            intervalMinUnits1250us: 14, intervalMaxUnits1250us: 26, latency: 1,
            timeoutUnits10ms: 74, eventLengthMinUnits625us: 3, eventLengthMaxUnits625us: 4))),
      "43202a0001019a78563412c005600030000c0018000000480000000000620032"
        + "000e001a0001004a0003000400"
    ),
    (
      LEConnectionUpdate(
        handle: 0x40,
        timing: ConnectionTimingRequest(
          intervalMinUnits1250us: 6, intervalMaxUnits1250us: 12, latency: 3, timeoutUnits10ms: 500)),
      "13200e400006000c000300f40100000000"
    ),
    (
      LEEnableEncryption(
        handle: 0x40, random: 0x0706_0504_0302_0100, diversifier: 0x474, longTermKey: key),
      "19201c400000010203040506077404000102030405060708090a0b0c0d0e0f"
    ),
    (
      LEAddDeviceToResolvingList(
        peerIdentity: randomAddress, peerKey: key,
        localKey: key | 0x1010_1010_1010_1010_1010_1010_1010_1010),
      "272027019a78563412c0000102030405060708090a0b0c0d0e0f101112131415"
        + "161718191a1b1c1d1e1f"
    ),
    (
      LESetPHY(handle: 0x40, preference: PHYPreference(transmit: nil, receive: .le2M)),
      "32200740000100020000"
    ),
    (
      LESetDefaultPHY(preference: PHYPreference(transmit: [.le1M, .le2M], receive: .le2M)),
      "312003000302"
    ),
    (
      LESetDataLength(handle: 0x40, txOctets: 251, txTimeMicroseconds: 2120),
      "2220064000fb004808"
    ),
    (
      LESetExtendedAdvertisingParameters(
        set: 2, properties: [.connectable, .scannable, .legacy], intervalMinUnits625us: 0x1A0,
        intervalMaxUnits625us: 0x200, ownAddressType: .random, peer: publicAddress,
        secondaryPHY: .le2M, setID: 3, notifiesScanRequests: true),
      "362019021300a00100000200070100ef3207dc1b00007f0100020301"
    ),
    (
      LESetExtendedAdvertisingData(set: 2, data: [2, 1, 6]),
      "37200702030103020106"
    ),
    (
      LESetExtendedAdvertisingEnable(
        isEnabled: true,
        sets: [.init(set: 2), .init(set: 3, durationUnits10ms: 500, eventCountMax: 9)]),
      "39200a01020200000003f40109"
    ),
    (
      LESetExtendedScanParameters(
        ownAddressType: .random,
        le1M: ExtendedScanParameters(
          type: .active, timing: ScanTiming(intervalUnits625us: 96, windowUnits625us: 48)),
        leCoded: ExtendedScanParameters(
          timing: ScanTiming(intervalUnits625us: 98, windowUnits625us: 50))),
      "41200d01000501600030000062003200"
    ),
    (
      LESetExtendedScanEnable(
        isEnabled: true, duplicates: .on, durationUnits10ms: 300, periodUnits1280ms: 4),
      "42200601012c010400"
    ),
    (
      LESetRandomAddress(address: randomAddress),
      "0520069a78563412c0"
    ),
    (
      LESetAdvertisingSetRandomAddress(set: 2, address: randomAddress),
      "352007029a78563412c0"
    ),
    (
      LEAddDeviceToFilterAcceptList(address: publicAddress),
      "11200700ef3207dc1b00"
    ),
    (
      LERemoteConnectionParameterRequestReply(
        handle: 0x40,
        timing: ConnectionTimingRequest(
          intervalMinUnits1250us: 6, intervalMaxUnits1250us: 12, latency: 3, timeoutUnits10ms: 500)),
      "20200e400006000c000300f40100000000"
    ),
    (
      LESetPrivacyMode(peerIdentity: randomAddress, mode: .device),
      "4e2008019a78563412c001"
    ),
  ]

  static let events: [(HCIEvent, String)] = [
    (
      .disconnectionComplete(
        DisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection)),
      "050400400013"
    ),
    (
      .numberOfCompletedPackets(
        NumberOfCompletedPackets([
          CompletedPackets(handle: 0x40, count: 3), CompletedPackets(handle: 0x41, count: 5),
        ])),
      "1309024000030041000500"
    ),
    (
      .encryptionChange(EncryptionChange(handle: 0x40, encryption: .on)),
      "080400400001"
    ),
    (
      .commandStatus(CommandStatus(status: .commandDisallowed, opcode: .leCreateConnection)),
      "0f040c010d20"
    ),
    (
      .readRemoteVersionInformationComplete(
        ReadRemoteVersionInformationComplete(
          handle: 0x40, version: 13, company: 0x59, subversion: 0x1234)),
      "0c080040000d59003412"
    ),
    (
      .leConnectionComplete(
        LEConnectionComplete(
          handle: 0x40, role: .peripheral, peer: PeerAddress(randomAddress),
          timing: ConnectionTiming(intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72),
          clockAccuracy: 5)),
      "3e130100400001019a78563412c018000000480005"
    ),
    (
      .leEnhancedConnectionComplete(
        LEEnhancedConnectionComplete(
          handle: 0x40, role: .central, peer: PeerAddress(randomAddress, isIdentity: true),
          peerPrivateAddress: DeviceAddress(bits: 0x4A11_2233_4455, kind: .random),
          timing: ConnectionTiming(intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72),
          clockAccuracy: 5)),
      "3e1f0a00400000039a78563412c000000000000055443322114a180000004800"
        + "05"
    ),
    (
      .leAdvertisingReport(
        LEAdvertisingReports([
          LEAdvertisingReport(
            kind: .connectable, advertiser: PeerAddress(randomAddress), data: [2, 1, 6], rssi: -60),
          LEAdvertisingReport(
            kind: .scanResponse, advertiser: PeerAddress(publicAddress), data: [], rssi: -70),
        ])),
      "3e19020200019a78563412c003020106c40400ef3207dc1b0000ba"
    ),
    (
      .leExtendedAdvertisingReport(
        LEExtendedAdvertisingReports([
          LEExtendedAdvertisingReport(
            type: [.connectable, .scannable, .legacy], advertiser: PeerAddress(randomAddress),
            rssi: -60, data: [2, 1, 6])
        ])),
      "3e1d0d011300019a78563412c00100ff7fc400000000000000000003020106"
    ),
    (
      .leConnectionUpdateComplete(
        LEConnectionUpdateComplete(
          handle: 0x40,
          timing: ConnectionTiming(intervalUnits1250us: 12, latency: 3, timeoutUnits10ms: 500))),
      "3e0a030040000c000300f401"
    ),
    (
      .leReadRemoteFeaturesComplete(
        LEReadRemoteFeaturesComplete(handle: 0x40, features: LEFeatures(rawValue: 0x0149FF))),
      "3e0c04004000ff49010000000000"
    ),
    (
      .leLongTermKeyRequest(
        LELongTermKeyRequest(handle: 0x40, random: 0x0706_0504_0302_0100, diversifier: 0x474)),
      "3e0d05400000010203040506077404"
    ),
    (
      .leRemoteConnectionParameterRequest(
        LERemoteConnectionParameterRequest(
          handle: 0x40, intervalMinUnits1250us: 6, intervalMaxUnits1250us: 12, latency: 3,
          timeoutUnits10ms: 500)),
      "3e0b06400006000c000300f401"
    ),
    (
      .leDataLengthChange(
        LEDataLengthChange(
          handle: 0x40,
          length: LEMaximumDataLength(
            txOctets: 251, txTimeMicroseconds: 2120, rxOctets: 27, rxTimeMicroseconds: 328))),
      "3e0b074000fb0048081b004801"
    ),
    (
      .lePHYUpdateComplete(LEPHYUpdateComplete(handle: 0x40, transmit: .le2M, receive: .le1M)),
      "3e060c0040000201"
    ),
    (
      .leSubrateChange(
        LESubrateChange(
          handle: 0x40,
          subrate: Subrate(factor: 10, latency: 2, continuationNumber: 3, timeoutUnits10ms: 500))),
      "3e0c230040000a0002000300f401"
    ),
    (
      .leChannelSelectionAlgorithm(LEChannelSelectionAlgorithm(handle: 0x40, algorithm: 1)),
      "3e0414400001"
    ),
    (
      .leAdvertisingSetTerminated(
        LEAdvertisingSetTerminated(status: .limitReached, set: 2, completedEventCount: 9)),
      "3e06124302000009"
    ),
  ]

  @Test("commands are written and read as another host writes them")
  func commandsMatch() throws {
    for (command, hex) in Self.commands {
      let packet = command.packet
      #expect(Hexadecimal.string(packet.bytes) == hex, "\(command)")
      try expectDecodes(command, from: HCICommandHeader(decoding: packet.bytes))
    }
  }

  private func expectDecodes<Command: HCICommand>(
    _ command: Command, from header: HCICommandHeader
  ) throws {
    #expect(header.opcode == Command.opcode)
    #expect(try header.decode(as: Command.self) == command)
  }

  @Test("events are written and read as another controller writes them")
  func eventsMatch() throws {
    for (event, hex) in Self.events {
      #expect(Hexadecimal.string(event.packet.bytes) == hex, "\(event)")
      let bytes = try #require(Hexadecimal.bytes(hex))
      #expect(try HCIEvent(decoding: bytes[...]) == event)
    }
  }
}

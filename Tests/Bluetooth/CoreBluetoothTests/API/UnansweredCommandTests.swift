import BluetoothHost
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// Controllers in the field list commands as supported that they never answer.
@Suite("A controller that leaves a command unanswered")
struct UnansweredCommandTests {
  /// Every command that the host may know, but Reset: without that nothing begins.
  static let opcodes: [HCIOpcode] = (0x0400...0x2FFF).map { HCIOpcode(rawValue: $0) }.filter {
    SupportedCommands.allKnown.contains($0) && $0 != .reset
  }

  /// What the host can't do without: the start fails, or nothing can be connected, if they are
  /// never answered.
  private static let essential: Set<HCIOpcode> = [
    .leReadLocalSupportedFeatures, .leReadBufferSize, .leReadBufferSizeV2, .setEventMask,
    .leSetEventMask,
    .leSetScanParameters, .leSetScanEnable, .leSetExtendedScanParameters,
    .leSetExtendedScanEnable, .leCreateConnection, .leExtendedCreateConnection,
  ]

  @Test("an unanswered command doesn't cost the radio: its link and later requests go on")
  func running() throws {
    #expect(Self.opcodes.count > 40)
    for opcode in Self.opcodes {
      let pair = Pair()
      let peripheral = try pair.connect()
      let found = try pair.discover(peripheral)
      let reading = try #require(found.first { $0.uuid == CBUUID(string: "2A6E") })
      peripheral.setNotifyValue(true, for: reading)
      pair.wait(pair.phone.record, for: "notifying true ok")
      pair.radio.withController(of: pair.phoneHost) { $0.faults.ignoredCommands = [opcode] }
      peripheral.readRSSI()
      pair.central.scanForPeripherals(withServices: nil)
      pair.central.connect(try #require(pair.absentPeripheral))
      for value in 0..<30 as Range<UInt8> {
        pair.manager.updateValue(Data([value]), for: pair.reading, onSubscribedCentrals: nil)
        pair.radio.advance(by: .seconds(1))
      }
      let lines = pair.phone.record.lines
      #expect(lines.filter { $0.hasPrefix("value 2A6E") }.count == 30, "\(opcode)")
      #expect(lines.filter { $0.hasPrefix("rssi") }.count == 1, "\(opcode)")
      #expect(!lines.contains { $0.hasPrefix("state") || $0.hasPrefix("disconnected") })
      #expect(peripheral.state == .connected, "\(opcode)")
      #expect(pair.central.state == .poweredOn, "\(opcode)")
    }
  }

  @Test("a controller that ignores a command from its start on is used for all others")
  func start() throws {
    for opcode in Self.opcodes where !Self.essential.contains(opcode) {
      let pair = Pair(phoneIgnores: [opcode])
      let isOn = pair.radio.advance(within: .seconds(30)) { pair.central.state == .poweredOn }
      #expect(isOn, "\(opcode)")
      guard isOn else { continue }
      let peripheral = try pair.connect()
      pair.radio.advance(by: .seconds(20))
      #expect(peripheral.state == .connected, "\(opcode)")
      #expect(pair.central.state == .poweredOn, "\(opcode)")
    }
  }
}

extension Pair {
  /// A peripheral that is not there, as an app retrieves it.
  var absentPeripheral: CBPeripheral? {
    let address = DeviceAddress(bits: 0x0000_5E00_53FF, kind: .public)
    return central.retrievePeripherals(withIdentifiers: [PeerIdentifier.uuid(of: address)]).first
  }
}

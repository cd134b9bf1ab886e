import BluetoothInterface
import BluetoothWire
import Essentials

/// The return parameters of a controller of the first LE generation to the commands of a host.
enum CommandAnswers {
  /// The answer to a command; nil for what isn't one.
  static func answer(
    _ packet: HCIPacket, address: DeviceAddress = DeviceAddress(bits: 9, kind: .public),
    aclLength: UInt16 = 27
  ) -> HCIPacket? {
    guard packet.kind == .command, let command = try? HCICommandHeader(decoding: packet.bytes)
    else { return nil }
    switch command.opcode {
    case .leCreateConnection, .leExtendedCreateConnection, .leReadRemoteFeatures, .disconnect,
      .leConnectionUpdate, .leEnableEncryption:
      return CommandStatus(opcode: command.opcode).packet
    case .readLocalSupportedCommands:
      let commands = SupportedCommands([.leReadBufferSize])
      return CommandComplete(ReadLocalSupportedCommands.self, returning: commands).packet
    case .readLocalSupportedFeatures:
      return CommandComplete(
        ReadLocalSupportedFeatures.self, returning: .init(features: [.leSupported])
      ).packet
    case .leReadLocalSupportedFeatures:
      return CommandComplete(
        LEReadLocalSupportedFeatures.self, returning: .init(features: [])
      ).packet
    case .readLocalVersionInformation:
      return CommandComplete(
        ReadLocalVersionInformation.self,
        returning: .init(
          hciVersion: 13, hciSubversion: 0, linkVersion: 13, company: 0xFFFF, linkSubversion: 0)
      ).packet
    case .leReadBufferSize:
      return CommandComplete(
        LEReadBufferSize.self, returning: .init(aclLength: aclLength, aclCount: 4)
      ).packet
    case .readBDADDR:
      return CommandComplete(ReadBDADDR.self, returning: .init(address: address)).packet
    case .leReadFilterAcceptListSize:
      return CommandComplete(
        LEReadFilterAcceptListSize.self, returning: .init(count: 8)
      ).packet
    case .readRSSI:
      return CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)).packet
    default: return CommandComplete(opcode: command.opcode, status: .success).packet
    }
  }
}

package import Essentials

/// The parameters of a command from host to controller (Core 5.4, Vol 4, Part E, §5.4.1).
///
/// Commands are named as the specification names them, without `HCI_`.
package protocol HCICommand: HCICodable {
  /// The type of the return parameters after the status in the Command Complete event.
  associatedtype Return: HCICodable = NoParameters

  /// The code of the command.
  static var opcode: HCIOpcode { get }
}

extension HCICommand {
  /// The whole packet: opcode, length, parameters.
  package var packet: HCIPacket {
    var writer = ByteWriter(capacity: 40)
    writer.uint16(Self.opcode.rawValue)
    writer.uint8(0)
    encode(into: &writer)
    precondition(writer.count <= 258, "a command takes at most 255 bytes of parameters")
    writer.bytes[2] = UInt8(truncatingIfNeeded: writer.count - 3)
    return HCIPacket(kind: .command, bytes: writer.bytes)
  }
}

/// A command without parameters.
package protocol ParameterlessCommand: HCICommand {
  /// The only value.
  init()
}

extension ParameterlessCommand {
  /// Reads nothing.
  package init(decoding reader: inout ByteReader) throws(WireError) { self.init() }

  /// Writes nothing.
  package func encode(into writer: inout ByteWriter) {}
}

/// A command whose only parameter is a connection handle.
package protocol ConnectionCommand: HCIRecord, HCICommand {
  /// The connection that the command concerns.
  var handle: UInt16 { get }

  /// The command for the connection `handle`.
  init(handle: UInt16)
}

/// A command as it arrives at the controller: which one, and its parameters still as bytes.
package struct HCICommandHeader: Hashable, Sendable {
  /// The opcode of the command.
  package var opcode: HCIOpcode
  /// Its parameters.
  package var parameters: ArraySlice<UInt8>

  /// Reads a command packet, from the opcode on. Throws if bytes follow the parameters.
  package init(decoding packet: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(packet)
    opcode = try reader.value()
    parameters = try reader.counted()
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
  }

  /// Reads the parameters as those of `Command`; throws also where bytes are left over.
  package func decode<Command: HCICommand>(
    as type: Command.Type = Command.self
  ) throws(WireError) -> Command {
    var reader = ByteReader(parameters)
    let command = try Command(decoding: &reader)
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
    return command
  }
}

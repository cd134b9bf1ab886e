package import Essentials

/// A command is done (Core 5.4, Vol 4, Part E, §7.7.14).
package struct CommandComplete: HCIEventParameters {
  /// Command Complete.
  package static let code = HCIEventCode(0x0E)
  /// The number of commands that the host may send from now on.
  package var numberOfCommandPackets: UInt8
  /// The opcode of the command; `.none` if the event only updates the number of command packets.
  package var opcode: HCIOpcode
  /// The return parameters, starting with the status.
  package var returnParameters: ArraySlice<UInt8>

  /// The event with its parameters as bytes.
  package init(
    numberOfCommandPackets: UInt8 = 1, opcode: HCIOpcode, returnParameters: ArraySlice<UInt8>
  ) {
    self.numberOfCommandPackets = numberOfCommandPackets
    self.opcode = opcode
    self.returnParameters = returnParameters
  }

  /// The answer to a command that succeeded and returns `value`.
  package init<Command: HCICommand>(
    _ command: Command.Type, returning value: Command.Return, numberOfCommandPackets: UInt8 = 1
  ) {
    var writer = ByteWriter()
    HCIStatus.success.encode(into: &writer)
    value.encode(into: &writer)
    self.init(
      numberOfCommandPackets: numberOfCommandPackets, opcode: Command.opcode,
      returnParameters: writer.bytes[...])
  }

  /// The answer to a command that returns a status only, or that failed.
  package init(opcode: HCIOpcode, status: HCIStatus, numberOfCommandPackets: UInt8 = 1) {
    self.init(
      numberOfCommandPackets: numberOfCommandPackets, opcode: opcode,
      returnParameters: [status.rawValue])
  }

  /// Whether the command succeeded; nil where nothing was returned.
  package var status: HCIStatus? { returnParameters.first.map(HCIStatus.init(rawValue:)) }

  /// Reads what `Command` returned after the status, which the caller has looked at.
  package func returned<Command: HCICommand>(
    by command: Command.Type = Command.self
  ) throws(WireError) -> Command.Return {
    var reader = ByteReader(returnParameters.dropFirst())
    return try reader.value()
  }

  /// Reads the parameters.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    numberOfCommandPackets = try reader.value()
    opcode = try reader.value()
    returnParameters = reader.rest()
  }

  /// Writes the parameters.
  package func encode(into writer: inout ByteWriter) {
    writer.uint8(numberOfCommandPackets)
    opcode.encode(into: &writer)
    writer.append(returnParameters)
  }
}

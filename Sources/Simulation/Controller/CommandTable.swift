import BluetoothWire
import Essentials

/// Why a controller does not perform a command.
struct Refusal: Error {
  var status: HCIStatus

  init(_ status: HCIStatus) { self.status = status }
}

/// How a command ended, before it becomes an event.
enum CommandOutcome {
  /// Command Complete with these return parameters after the status.
  case complete(status: HCIStatus, parameters: [UInt8])
  /// Command Status.
  case status(HCIStatus)
  /// Nothing at all.
  case unanswered
}

/// What each command does.
struct CommandTable {
  typealias Perform = (SimulatedController, HCICommandHeader) -> CommandOutcome

  private(set) var entries: [HCIOpcode: Perform] = [:]

  /// A command that is answered by Command Complete with return parameters.
  mutating func complete<Command: HCICommand>(
    _ body: @escaping (SimulatedController, Command) throws(Refusal) -> Command.Return
  ) {
    entries[Command.opcode] = { controller, header in
      let refusal: Refusal
      do throws(Refusal) {
        let command = try CommandTable.decode(header, as: Command.self)
        var writer = ByteWriter()
        try body(controller, command).encode(into: &writer)
        return .complete(status: .success, parameters: writer.bytes)
      } catch {
        refusal = error
      }
      let zeros = CommandTable.zeros(for: Command.Return.self, header)
      return .complete(status: refusal.status, parameters: zeros)
    }
  }

  /// A command that is answered by Command Complete with nothing but a status.
  mutating func acknowledge<Command: HCICommand>(
    _ body: @escaping (SimulatedController, Command) throws(Refusal) -> Void
  ) where Command.Return == NoParameters {
    complete { (controller, command: Command) throws(Refusal) in
      try body(controller, command)
      return NoParameters()
    }
  }

  /// A command about a connection that returns just its handle.
  mutating func acknowledgeLink<Command: HCICommand>(
    _ body: @escaping (SimulatedController, Command) throws(Refusal) -> Void
  ) where Command.Return == ConnectionHandleReturn {
    complete { (controller, command: Command) throws(Refusal) in
      try body(controller, command)
      var reader = ByteReader(command.packet.bytes.dropFirst(3))
      return ConnectionHandleReturn(handle: (try? reader.uint16()) ?? 0)
    }
  }

  /// A command that is answered by Command Status, and by an event when it has come to its end.
  mutating func status<Command: HCICommand>(
    _ body: @escaping (SimulatedController, Command) throws(Refusal) -> Void
  ) {
    entries[Command.opcode] = { controller, header in
      do throws(Refusal) {
        try body(controller, try CommandTable.decode(header, as: Command.self))
        return .status(.success)
      } catch {
        return .status(error.status)
      }
    }
  }

  /// A command that has no answer unless it is refused.
  mutating func unanswered<Command: HCICommand>(
    _ body: @escaping (SimulatedController, Command) throws(Refusal) -> Void
  ) {
    entries[Command.opcode] = { controller, header in
      do throws(Refusal) {
        try body(controller, try CommandTable.decode(header, as: Command.self))
        return .unanswered
      } catch {
        return .complete(status: error.status, parameters: [])
      }
    }
  }

  private static func decode<Command: HCICommand>(
    _ header: HCICommandHeader, as type: Command.Type
  ) throws(Refusal) -> Command {
    do throws(WireError) {
      return try header.decode(as: type)
    } catch {
      throw Refusal(.invalidParameters)
    }
  }

  /// Return parameters of a command that failed: their full length, zeros, and the connection handle
  /// where there is one (Core 5.4, Vol 4, Part E, §4.5).
  private static func zeros<Return: HCICodable>(
    for type: Return.Type, _ header: HCICommandHeader
  ) -> [UInt8] {
    var zeros = [UInt8](repeating: 0, count: 255)
    var reader = ByteReader(zeros)
    guard (try? Return(decoding: &reader)) != nil else { return [] }
    zeros.removeLast(reader.count)
    if type == ConnectionHandleReturn.self { zeros = Array(header.parameters.prefix(2)) }
    return zeros
  }
}

extension SimulatedController {
  /// All commands; each file of commands adds its own.
  private static func makeTable() -> CommandTable {
    var table = CommandTable()
    addInformationCommands(to: &table)
    addAdvertisingCommands(to: &table)
    addExtendedAdvertisingCommands(to: &table)
    addScanningCommands(to: &table)
    addConnectionCommands(to: &table)
    addLinkCommands(to: &table)
    addSecurityCommands(to: &table)
    return table
  }

  private static func cachedTable(_ world: World) -> CommandTable {
    if let table = world.commandTable { return table }
    let table = makeTable()
    world.commandTable = table
    return table
  }

  var supportedCommands: SupportedCommands {
    let known = SimulatedController.cachedTable(world).entries.keys
    return SupportedCommands(known.filter { !capabilities.lacks($0) })
  }

  func perform(_ packet: HCIPacket) {
    guard let header = try? HCICommandHeader(decoding: packet.bytes) else {
      drop()
      // Where at least the opcode can be read, the host gets an answer.
      guard let low = packet.bytes.first, let high = packet.bytes.dropFirst().first else { return }
      let opcode = HCIOpcode(rawValue: UInt16(low) | UInt16(high) << 8)
      return answer(.status(.invalidParameters), to: opcode)
    }
    let opcode = header.opcode
    guard !faults.ignoredCommands.contains(opcode) else { return }
    guard let perform = SimulatedController.cachedTable(world).entries[opcode],
      !capabilities.lacks(opcode)
    else { return answer(.status(.unknownCommand), to: opcode) }
    if let status = faults.commandStatus {
      return answer(.complete(status: status, parameters: []), to: opcode)
    }
    guard isAllowedGeneration(opcode) else {
      return answer(.complete(status: .commandDisallowed, parameters: []), to: opcode)
    }
    answer(perform(self, header), to: opcode)
  }

  /// A host uses the legacy commands or the extended ones (Core 5.4, Vol 4, Part E, §3.1.1).
  private func isAllowedGeneration(_ opcode: HCIOpcode) -> Bool {
    let isExtended = HCIOpcode.extendedCommands.contains(opcode)
    guard isExtended || HCIOpcode.legacyCommands.contains(opcode) else { return true }
    if let used = settings.usesExtendedCommands { return used == isExtended }
    settings.usesExtendedCommands = isExtended
    return true
  }

  private func answer(_ outcome: CommandOutcome, to opcode: HCIOpcode) {
    if faults.garbageProbability > 0, generator.unit() < faults.garbageProbability {
      sendGarbage()
    }
    guard !faults.isSilent else { return }
    switch outcome {
    case .complete(let status, let parameters):
      send(CommandComplete(opcode: opcode, returnParameters: [status.rawValue] + parameters[...]))
    case .status(let status):
      send(CommandStatus(status: status, opcode: opcode))
    case .unanswered:
      break
    }
  }

  private func sendGarbage() {
    let count = Int(generator.next() % 32)
    var bytes: [UInt8] = [UInt8(truncatingIfNeeded: generator.next()), UInt8(count)]
    for _ in 0..<count { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
    deliver(HCIPacket(kind: .event, bytes: bytes))
  }

  /// Does something right after the answer to the command at hand.
  func afterAnswer(_ work: @escaping (SimulatedController) -> Void) {
    world.schedule(at: world.now) { [weak self] in
      if let self, self.isPoweredOn { work(self) }
    }
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials

@testable import BluetoothMachines

/// A controller that answers every command at once, and wrongly according to `faults`.
struct ScriptedController {
  /// What goes wrong with the answer to a command.
  enum Fault {
    case silence
    /// No answer, and none to the commands after it until a reset.
    case death
    case status(HCIStatus)
    /// Command Complete whose return parameters are cut short.
    case cutShort
    /// An event that cannot be read.
    case garbage
  }

  var features: LEFeatures = [.dataLengthExtension]
  var commands = SupportedCommands([
    .leReadBufferSize, .leReadMaximumDataLength, .leSetDataLength,
    .leWriteSuggestedDefaultDataLength,
  ])
  var classicFeatures: LMPFeatures = [.leSupported, .brEDRNotSupported]
  var address = DeviceAddress(bits: 0x0011_2233_4455, kind: .public)
  var acceptListSize: UInt8 = 8
  var bufferCount: UInt8 = 8
  var advertisingSetCount: UInt8 = 4
  var faults: [HCIOpcode: Fault] = [:]
  /// How many more commands it answers before it dies.
  var answersLeft = Int.max
  /// Whether it died: it answers nothing until it is reset.
  private var isDead = false
  /// What a host suggested since the last reset.
  var suggestedDataLength = Self.defaultDataLength
  /// Every command received, oldest first.
  var received: [HCICommandHeader] = []

  /// One that knows the extended commands.
  static var extended: ScriptedController {
    var controller = ScriptedController()
    controller.features.insert(.extendedAdvertising)
    controller.commands = .allKnown
    return controller
  }

  static let defaultDataLength = LESuggestedDataLength(
    txOctets: 27, txTimeMicroseconds: 328)

  /// The opcodes received, oldest first.
  var opcodes: [HCIOpcode] { received.map(\.opcode) }

  /// The parameters of the last command of a kind.
  func last<Command: HCICommand>(_ type: Command.Type) -> Command? {
    received.last { $0.opcode == Command.opcode }.flatMap { try? $0.decode(as: type) }
  }

  mutating func answer(_ packet: HCIPacket) -> [HCIPacket] {
    guard packet.kind == .command, let command = try? HCICommandHeader(decoding: packet.bytes)
    else { return [] }
    received.append(command)
    if command.opcode == .reset, answersLeft > 0 { isDead = false }
    if case .death = faults[command.opcode] { isDead = true }
    if isDead || answersLeft <= 0 { return [] }
    answersLeft -= 1
    if command.opcode == .reset { suggestedDataLength = Self.defaultDataLength }
    if let length = last(LEWriteSuggestedDefaultDataLength.self)?.length,
      command.opcode == .leWriteSuggestedDefaultDataLength
    {
      suggestedDataLength = length
    }
    var answer = self.answer(to: command)
    switch faults[command.opcode] {
    case nil: break
    case .silence, .death: return []
    case .status(let status):
      answer = CommandComplete(opcode: command.opcode, status: status).packet
    case .cutShort:
      answer = CommandComplete(opcode: command.opcode, returnParameters: [0]).packet
    case .garbage: return [HCIPacket(kind: .event, bytes: [0x0E, 0x20, 0x01])]
    }
    return [answer]
  }

  private func answer(to command: HCICommandHeader) -> HCIPacket {
    switch command.opcode {
    case .leCreateConnection, .leExtendedCreateConnection, .leReadRemoteFeatures, .disconnect,
      .leConnectionUpdate:
      return CommandStatus(opcode: command.opcode).packet
    case .readLocalSupportedCommands:
      return CommandComplete(ReadLocalSupportedCommands.self, returning: commands).packet
    case .readLocalSupportedFeatures:
      return CommandComplete(
        ReadLocalSupportedFeatures.self, returning: .init(features: classicFeatures)
      ).packet
    case .leReadLocalSupportedFeatures:
      return CommandComplete(
        LEReadLocalSupportedFeatures.self, returning: .init(features: features)
      ).packet
    case .leReadBufferSize:
      return CommandComplete(
        LEReadBufferSize.self, returning: .init(aclLength: 251, aclCount: bufferCount)
      ).packet
    case .leReadBufferSizeV2:
      return CommandComplete(
        LEReadBufferSizeV2.self,
        returning: .init(
          aclLength: 251, aclCount: bufferCount, isochronousLength: 0, isochronousCount: 0)
      ).packet
    case .readBDADDR:
      return CommandComplete(ReadBDADDR.self, returning: .init(address: address)).packet
    case .leReadFilterAcceptListSize:
      return CommandComplete(
        LEReadFilterAcceptListSize.self, returning: .init(count: acceptListSize)
      ).packet
    default: return otherAnswer(to: command)
    }
  }

  private func otherAnswer(to command: HCICommandHeader) -> HCIPacket {
    switch command.opcode {
    case .readLocalVersionInformation:
      return CommandComplete(
        ReadLocalVersionInformation.self,
        returning: .init(
          hciVersion: 13, hciSubversion: 0, linkVersion: 13, company: 0xFFFF, linkSubversion: 0)
      ).packet
    case .leReadMaximumDataLength:
      return CommandComplete(
        LEReadMaximumDataLength.self,
        returning: .init(
          txOctets: 251, txTimeMicroseconds: 2120, rxOctets: 251, rxTimeMicroseconds: 2120)
      ).packet
    case .leReadSuggestedDefaultDataLength:
      return CommandComplete(
        LEReadSuggestedDefaultDataLength.self, returning: suggestedDataLength
      ).packet
    case .leReadNumberOfSupportedAdvertisingSets:
      return CommandComplete(
        LEReadNumberOfSupportedAdvertisingSets.self,
        returning: .init(count: advertisingSetCount)
      ).packet
    case .leReadMaximumAdvertisingDataLength:
      return CommandComplete(
        LEReadMaximumAdvertisingDataLength.self, returning: .init(byteCount: 1650)
      ).packet
    case .readRSSI:
      return CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)).packet
    default: return CommandComplete(opcode: command.opcode, status: .success).packet
    }
  }
}

/// A host machine at a scripted controller: performs the machine's actions and notes the rest.
struct HostRig {
  var machine: HostMachine
  var controller: ScriptedController
  var now = Instant.zero
  /// The events sent to clients, oldest first.
  var events: [(client: ClientID, event: HostEvent)] = []
  /// Why the machine wanted the transport reopened.
  var reopenings: [HostError] = []
  /// Whether the machine wanted reading paused (true) or resumed, oldest first.
  var pauses: [Bool] = []
  /// The clients that the machine reported as late, oldest first.
  var lateClients: [ClientID] = []
  /// ACL packets that the machine sent.
  var data: [HCIPacket] = []
  private var nextToken: UInt64 = 0

  init(_ controller: ScriptedController = ScriptedController(), seed: UInt64 = 1) {
    self.controller = controller
    machine = HostMachine(random: SeededGenerator(seed: seed))
  }

  /// A rig whose controller is up, with one client.
  static func started(
    _ controller: ScriptedController = ScriptedController(), acknowledgesEvents: Bool = false
  ) -> HostRig {
    var rig = HostRig(controller)
    rig.handle(.transportOpened)
    rig.handle(.clientOpened(.one, acknowledgesEvents: acknowledgesEvents))
    rig.controller.received = []
    rig.events = []
    return rig
  }

  mutating func handle(_ input: HostMachine.Input) {
    var actions: [HostMachine.Action] = []
    machine.handle(input, now: now, into: &actions)
    perform(actions)
  }

  mutating func request(_ request: HostRequest, from client: ClientID = .one) {
    handle(.request(client, request))
  }

  mutating func event(_ event: some HCIEventParameters) { handle(.packet(event.packet)) }

  mutating func token() -> RequestToken {
    nextToken += 1
    return RequestToken(rawValue: nextToken)
  }

  /// Lets time pass, waking the machine whenever it wants.
  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    var wakeCount = 0
    while let wake = machine.nextWake, wake <= end, wakeCount < 10_000 {
      now = max(now, wake)
      wakeCount += 1
      var actions: [HostMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }
    now = end
  }

  private mutating func perform(_ actions: [HostMachine.Action]) {
    var packets: [HCIPacket] = []
    for action in actions {
      switch action {
      case .send(let packet):
        if packet.kind == .acl { data.append(packet) }
        packets += controller.answer(packet)
      case .deliver(let client, let event): events.append((client, event))
      case .reopenTransport(let error): reopenings.append(error)
      case .pauseReceiving: pauses.append(true)
      case .resumeReceiving: pauses.append(false)
      case .clientLate(let client): lateClients.append(client)
      case .computeKey, .storeBond, .bondNotKept, .bondEvicted, .updateBonds, .removeBond: break
      }
    }
    for packet in packets { handle(.packet(packet)) }
  }

  /// A peer connected to us, or we to it, and was heard.
  mutating func connect(
    _ peer: DeviceAddress, handle: UInt16 = 0x40, role: LinkRole = .central, isHeard: Bool = true
  ) {
    event(
      LEConnectionComplete(
        handle: handle, role: role, peer: PeerAddress(peer), timing: .usual))
    if isHeard { event(LEReadRemoteFeaturesComplete(handle: handle, features: [])) }
  }

  /// The states reported to a client, oldest first.
  func states(of client: ClientID = .one) -> [RadioState] {
    events.compactMap { entry in
      if entry.client == client, case .stateChanged(let state) = entry.event { state } else { nil }
    }
  }

  /// Short names of the events sent to a client, oldest first.
  func log(of client: ClientID = .one) -> [String] {
    events.filter { $0.client == client }.map { $0.event.shortName }
  }

  /// The result of a request, if it ended; fails a test by trapping never, by count instead.
  func results(of token: RequestToken, client: ClientID = .one) -> [Result<HostReply, HostError>] {
    events.compactMap { entry in
      if entry.client == client, case .completed(token, let result) = entry.event {
        result
      } else {
        nil
      }
    }
  }
}

extension ConnectionTiming {
  static let usual = ConnectionTiming(
    intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72)
}

extension ClientID {
  static let one = ClientID(rawValue: 1)
  static let two = ClientID(rawValue: 2)
  static let three = ClientID(rawValue: 3)
}

extension DeviceAddress {
  static func peer(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(bits: 0xC000_0000_0000 | number, kind: .random)
  }
}

extension HostEvent {
  var shortName: String {
    switch self {
    case .stateChanged(let state): "\(state)"
    case .completed(_, .success): "completed"
    case .completed(_, .failure): "failed"
    case .discovered: "discovered"
    case .linkOpened: "linkOpened"
    case .linkUpdated: "linkUpdated"
    case .linkClosed: "linkClosed"
    case .connected: "connected"
    case .connectionFailed: "connectionFailed"
    case .disconnected(_, let error, let reconnecting):
      (error == nil ? "disconnected" : "lost") + (reconnecting ? ", reconnecting" : "")
    case .valueUpdated: "valueUpdated"
    case .valuesDropped: "valuesDropped"
    case .writesDropped: "writesDropped"
    case .requestsExpired: "requestsExpired"
    case .pairingPrompt: "pairingPrompt"
    case .pairingEnded: "pairingEnded"
    case .bondNotKept: "bondNotKept"
    case .acknowledgementRequested: "acknowledgementRequested"
    case .servicesChanged: "servicesChanged"
    case .serverRequest: "serverRequest"
    case .subscribed: "subscribed"
    case .unsubscribed: "unsubscribed"
    case .channelOpened: "channelOpened"
    case .channelReceived: "channelReceived"
    case .channelClosed: "channelClosed"
    }
  }
}

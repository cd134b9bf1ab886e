import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// Two hosts that pair with each other over a link, with every possible fault in between: the
  /// input drops, doubles, alters and makes up PDUs of the Security Manager, answers prompts, lets
  /// time pass, ends links and forgets bonds. Since all other PDUs are passed unchanged, it gets to
  /// the end of pairings and beyond.
  static let pairing = FuzzTarget(name: "Pairing") { bytes in
    var scene = PairingScene.template
    var reader = ByteReader(bytes)
    while let choice = try? reader.uint8() { scene.act(choice, &reader) }
    scene.finish()
  }
}

private struct PairingScene {
  private static let handle: UInt16 = 0x40
  private static let client = ClientID(rawValue: 1)
  private static let addresses = [1, 2].map { DeviceAddress(bits: $0, kind: .public) }

  /// A host at one end of the link: the first is the central.
  private struct Side {
    var machine: HostMachine
    /// Payloads of Security Manager frames on their way to it.
    var incoming: [[UInt8]] = []
    var prompt: (PairingPrompt, PairingPromptID)?
    /// The passkey that it shows.
    var shown: UInt32 = 0
    var tokenCount: UInt64 = 0
    var completed: Set<UInt64> = []
    var isLinked = false
    var encryption: EncryptionInfo?
  }

  private var sides: [Side]
  private var now = Instant.zero
  /// PDUs that were sent before, to be replayed.
  private var history: [[UInt8]] = []
  private var isEncrypted = false
  /// The key that the central's controller has, while the peripheral's is asked for it.
  private var pendingKey: UInt128?
  private var depth = 0

  /// Both hosts up, and linked; copied for every input.
  static let template: PairingScene = {
    var scene = PairingScene()
    for side in 0...1 {
      scene.handle(.transportOpened, side)
      scene.handle(.clientOpened(client), side)
      scene.handle(.request(client, .setPairingAgent(.keyboardDisplay)), side)
    }
    scene.connect()
    precondition(scene.sides.allSatisfy(\.isLinked), "the hosts did not come up with a link")
    return scene
  }()

  private init() {
    sides = [UInt64(1), 2].map { seed in
      var configuration = HostConfiguration()
      configuration.hasKeyAgreement = true
      configuration.keyByteCountMin = 7
      return Side(
        machine: HostMachine(configuration: configuration, random: SeededGenerator(seed: seed)))
    }
  }

  // MARK: What happens

  mutating func act(_ choice: UInt8, _ reader: inout ByteReader) {
    let side = Int(choice & 1)
    let argument = (choice >> 1) & 7
    switch choice >> 4 {
    case 0...5: for _ in 0...argument { deliver(side) }
    case 6:
      if !sides[side].incoming.isEmpty { sides[side].incoming.removeFirst() }
    case 7:
      if let first = sides[side].incoming.first { sides[side].incoming.insert(first, at: 0) }
    case 8: alter(side, (try? reader.uint16()) ?? 0)
    case 9: inject(side, argument, &reader)
    case 10: answer(side, argument)
    case 11: pass([.milliseconds(100), .seconds(1), .seconds(11), .seconds(31)][Int(argument & 3)])
    case 12: fail(side, argument)
    case 13: request(side, argument)
    case 14: if argument == 0 { reconnect() } else { deliver(side) }
    default: configure(side, argument)
    }
  }

  private mutating func deliver(_ side: Int) {
    guard !sides[side].incoming.isEmpty else { return }
    receive(sides[side].incoming.removeFirst(), side)
  }

  private mutating func alter(_ side: Int, _ position: UInt16) {
    guard var pdu = sides[side].incoming.first, !pdu.isEmpty else { return }
    pdu[Int(position >> 3) % pdu.count] ^= 1 << UInt8(position & 7)
    sides[side].incoming[0] = pdu
  }

  /// A PDU of the right length for its code, with anything in it; or one that was sent before.
  private mutating func inject(_ side: Int, _ argument: UInt8, _ reader: inout ByteReader) {
    let code = (try? reader.uint8()) ?? 0
    if argument & 1 == 1, !history.isEmpty {
      return receive(history[Int(code) % history.count], side)
    }
    let lengths = [0, 6, 6, 16, 16, 1, 16, 10, 16, 7, 16, 1, 64, 16, 1]
    let kind = Int(code) % lengths.count
    let filler = (try? reader.slice(min(reader.count, lengths[kind]))) ?? []
    let rest = [UInt8](repeating: code, count: lengths[kind] - filler.count)
    receive([UInt8(kind)] + filler + rest, side)
  }

  private mutating func answer(_ side: Int, _ argument: UInt8) {
    guard let (prompt, id) = sides[side].prompt else { return }
    let answer: PairingAnswer =
      switch (prompt, argument) {
      case (_, 7): .reject
      case (_, 6): .passkey(1_000_000)
      case (.enterPasskey, 5): .passkey(sides[1 - side].shown ^ 1)
      case (.enterPasskey, _): .passkey(sides[1 - side].shown)
      default: .accept
      }
    handle(.request(Self.client, .answerPairing(id, answer)), side)
  }

  /// The controllers can't encrypt, or stop it. They never report encryption of an unencrypted
  /// link.
  private mutating func fail(_ side: Int, _ argument: UInt8) {
    let statuses: [HCIStatus] = [
      .pinOrKeyMissing, .authenticationFailure, .unspecifiedError, .linkResponseTimeout,
    ]
    let status = statuses[Int(argument & 3)]
    pendingKey = nil
    handle(
      .packet(EncryptionChange(status: status, handle: Self.handle, encryption: .off).packet), side)
  }

  private mutating func request(_ side: Int, _ argument: UInt8) {
    let peer = Self.addresses[1 - side]
    ask(side) { token in
      switch argument {
      case 0...4: .pair(peer, token)
      case 5: .removeBond(peer, token)
      case 6: .setOutOfBandData(peer, .legacy(temporaryKey: SMPValue(number: 7)), token)
      default: .createOutOfBandData(token)
      }
    }
  }

  private mutating func configure(_ side: Int, _ argument: UInt8) {
    handle(
      .request(Self.client, .setPairingAgent(SMPIOCapability(rawValue: argument))), side)
  }

  private mutating func ask(_ side: Int, _ make: (RequestToken) -> HostRequest) {
    sides[side].tokenCount += 1
    let token = RequestToken(rawValue: sides[side].tokenCount)
    handle(.request(Self.client, make(token)), side)
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    for side in 0...1 {
      var wakeCount = 0
      while let wake = sides[side].machine.nextWake, wake <= end {
        wakeCount += 1
        precondition(wakeCount < 10_000, "a host wants to be woken all the time")
        now = max(now, wake)
        var actions: [HostMachine.Action] = []
        sides[side].machine.wake(now: now, into: &actions)
        perform(actions, side)
      }
    }
    now = max(now, end)
  }

  /// Every pairing must end, and so must every request.
  mutating func finish() {
    for side in 0...1 { sides[side].incoming = [] }
    pass(.seconds(61))
    for side in 0...1 {
      // Before the end of the radio, which ends everything.
      precondition(
        sides[side].completed.count == Int(sides[side].tokenCount),
        "\(sides[side].tokenCount) requests, \(sides[side].completed.count) ended")
      handle(.transportClosed(.transport("The end.")), side)
      precondition(!sides[side].isLinked, "a link outlived the radio")
    }
  }

  // MARK: Links

  private mutating func connect() {
    isEncrypted = false
    pendingKey = nil
    let timing = ConnectionTiming(intervalUnits1250us: 24, latency: 0, timeoutUnits10ms: 72)
    handle(.request(Self.client, .connect(Self.addresses[1], ConnectOptions())), 0)
    for side in 0...1 {
      sides[side].incoming = []
      let peer = PeerAddress(Self.addresses[1 - side])
      handle(
        .packet(
          LEConnectionComplete(
            handle: Self.handle, role: side == 0 ? .central : .peripheral, peer: peer,
            timing: timing
          ).packet), side)
    }
    for side in 0...1 where sides[side].machine.snapshot.links.count == 1 {
      handle(.packet(LEReadRemoteFeaturesComplete(handle: Self.handle, features: []).packet), side)
    }
  }

  private mutating func reconnect() {
    disconnect()
    pass(.milliseconds(50))
    connect()
  }

  private mutating func disconnect(_ reason: HCIStatus = .connectionTimeout) {
    isEncrypted = false
    pendingKey = nil
    for side in 0...1 {
      sides[side].incoming = []
      handle(.packet(DisconnectionComplete(handle: Self.handle, reason: reason).packet), side)
    }
  }

  private mutating func receive(_ pdu: [UInt8], _ side: Int) {
    let frame = [UInt8(truncatingIfNeeded: pdu.count), 0, 6, 0] + pdu
    handle(
      .packet(ACLHeader.packet(handle: Self.handle, boundary: .firstFlushable, payload: frame)),
      side)
  }

  // MARK: Hosts

  private mutating func handle(_ input: HostMachine.Input, _ side: Int) {
    var actions: [HostMachine.Action] = []
    sides[side].machine.handle(input, now: now, into: &actions)
    perform(actions, side)
  }

  private mutating func perform(_ actions: [HostMachine.Action], _ side: Int) {
    depth += 1
    precondition(depth < 200, "the hosts go on and on by themselves")
    defer { depth -= 1 }
    for action in actions {
      switch action {
      case .send(let packet): send(packet, side)
      case .deliver(_, let event): take(event, side)
      case .computeKey(let request):
        handle(.keyComputed(id: request.id, SmallGroup.perform(request.operation)), side)
      case .storeBond: precondition(isEncrypted, "a bond of a link that isn't encrypted")
      case .pauseReceiving, .resumeReceiving, .bondNotKept, .bondEvicted, .updateBonds, .removeBond,
        .reopenTransport, .clientLate:
        break
      }
    }
  }

  private mutating func send(_ packet: HCIPacket, _ side: Int) {
    guard packet.kind == .command else { return sendData(packet, side) }
    if let answer = CommandAnswers.answer(
      packet, address: Self.addresses[side], aclLength: 251)
    {
      handle(.packet(answer), side)
    }
    guard let command = try? HCICommandHeader(decoding: packet.bytes) else { return }
    switch command.opcode {
    case .leEnableEncryption:
      guard let enable = try? command.decode(as: LEEnableEncryption.self) else { return }
      pendingKey = enable.longTermKey
      handle(
        .packet(
          LELongTermKeyRequest(
            handle: Self.handle, random: enable.random, diversifier: enable.diversifier
          ).packet), 1)
    case .leLongTermKeyRequestReply:
      guard let reply = try? command.decode(as: LELongTermKeyRequestReply.self) else { return }
      keyGiven(reply.longTermKey)
    case .leLongTermKeyRequestNegativeReply:
      guard pendingKey != nil else { return }
      fail(0, 0)
    case .disconnect: disconnect(.localHostTerminatedConnection)
    default: break
    }
  }

  private mutating func keyGiven(_ key: UInt128) {
    guard let wanted = pendingKey else { return }
    guard wanted == key else { return disconnect(.micFailure) }
    pendingKey = nil
    let isNew = !isEncrypted
    isEncrypted = true
    for side in [1, 0] {
      let packet =
        isNew
        ? EncryptionChange(status: .success, handle: Self.handle, encryption: .on).packet
        : EncryptionKeyRefreshComplete(status: .success, handle: Self.handle).packet
      handle(.packet(packet), side)
    }
  }

  private mutating func sendData(_ packet: HCIPacket, _ side: Int) {
    guard let (header, payload) = try? ACLHeader.decode(from: packet.bytes) else { return }
    handle(.packet(NumberOfCompletedPackets([.init(handle: header.handle, count: 1)]).packet), side)
    guard header.boundary.isFirst, payload.count > 4, payload[payload.startIndex + 2] == 6 else {
      return
    }
    let pdu = Array(payload.dropFirst(4))
    // The keys of a bond are for an encrypted link only.
    if [0x06, 0x07, 0x08, 0x09, 0x0A].contains(pdu[0]) {
      precondition(isEncrypted, "a key went over a link that isn't encrypted")
    }
    if history.count < 64 { history.append(pdu) }
    if sides[1 - side].incoming.count < 64 { sides[1 - side].incoming.append(pdu) }
  }

  private mutating func take(_ event: HostEvent, _ side: Int) {
    switch event {
    case .completed(let token, _):
      precondition(
        sides[side].completed.insert(token.rawValue).inserted, "a request ended twice")
    case .linkOpened: sides[side].isLinked = true
    case .linkClosed:
      sides[side].isLinked = false
      sides[side].encryption = nil
    case .linkUpdated(let link):
      precondition(link.encryption == nil || isEncrypted, "an encrypted link that isn't")
      sides[side].encryption = link.encryption
    case .pairingPrompt(_, let prompt, let id):
      sides[side].prompt = (prompt, id)
      if case .displayPasskey(let number) = prompt { sides[side].shown = number }
    case .pairingEnded: sides[side].prompt = nil
    default: break
    }
  }
}

/// Diffie-Hellman modulo a small prime in place of P-256: quick, and safe against no one.
private enum SmallGroup {
  private static let prime: UInt128 = 1 << 61 - 1
  private static let valid: UInt128 = 7

  static func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult {
    switch operation {
    case .publicKey(let key):
      return .publicKey(PublicKey(x: coordinate(power(5, number(key))), y: coordinate(valid)))
    case .sharedSecret(let key, let peer):
      guard number(peer.y) == valid else { return .invalidKey }
      return .sharedSecret(coordinate(power(number(peer.x), number(key))))
    }
  }

  private static func number(_ value: SMPCoordinate) -> UInt128 {
    value.bytes.suffix(8).reduce(0) { $0 << 8 | UInt128($1) }
  }

  private static func coordinate(_ number: UInt128) -> SMPCoordinate {
    guard let value = SMPCoordinate(SMPValue(number: 0).bytes + SMPValue(number: number).bytes)
    else { preconditionFailure("32 bytes are a coordinate") }
    return value
  }

  private static func power(_ base: UInt128, _ exponent: UInt128) -> UInt128 {
    var result: UInt128 = 1
    var square = base % prime
    var rest = exponent
    while rest > 0 {
      if rest & 1 == 1 { result = result * square % prime }
      square = square * square % prime
      rest >>= 1
    }
    return result
  }
}

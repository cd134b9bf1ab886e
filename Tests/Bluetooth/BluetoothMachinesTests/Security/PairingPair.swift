import BluetoothInterface
import BluetoothWire
import Essentials

@testable import BluetoothMachines
@testable import PairingMachines

/// Diffie-Hellman modulo a small prime, in place of P-256: quick, with the same interface, and safe
/// against no one. A point is valid if its y coordinate matches.
struct SmallKeyAgreement: KeyAgreement {
  private static let prime: UInt128 = 0xFFFF_FFFF_FFFF_FFC5
  private static let y = coordinate(7)

  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult {
    switch operation {
    case .publicKey(let key):
      return .publicKey(PublicKey(x: Self.coordinate(Self.power(5, Self.number(key))), y: Self.y))
    case .sharedSecret(let key, let peer):
      guard peer.y == Self.y else { return .invalidKey }
      return .sharedSecret(
        Self.coordinate(Self.power(Self.number(peer.x), Self.number(key))))
    }
  }

  private static func number(_ value: SMPCoordinate) -> UInt128 {
    value.bytes.suffix(8).reduce(0) { $0 << 8 | UInt128($1) }
  }

  private static func coordinate(_ number: UInt128) -> SMPCoordinate {
    let zeros = SMPValue(number: 0).bytes
    guard let value = SMPCoordinate(zeros + SMPValue(number: number).bytes) else {
      preconditionFailure("32 bytes are a coordinate")
    }
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

/// The security of both ends of a link, with controllers that encrypt if both have the same key.
struct PairingPair {
  struct End {
    var link: LinkSecurity
    var host: HostSecurity
    var incoming: [[UInt8]] = []
    var prompts: [PairingPrompt] = []
    /// Why pairings ended; nil is a success.
    var ends: [SecurityFailure?] = []
    var stored: [Bond] = []
    var unkept: [BondRejection] = []
    var secured: [Bool] = []
    var completed: [SecurityFailure?] = []
    var sent: [[UInt8]] = []
    var disconnection: SecurityFailure?
    var unansweredPrompt: PairingPrompt?
    /// The number of the latest PDU, until its arrival is acknowledged.
    var unacknowledged: UInt64?
  }

  static let centralAddress = DeviceAddress(bits: 0x1111_2222_3333, kind: .public)
  static let peripheralAddress = DeviceAddress.peer(0x77)

  var central: End
  var peripheral: End
  var now = Instant.zero
  /// The controllers found out that their keys differ.
  var hasMICFailure = false
  /// Whether acknowledgements arrive.
  var acknowledges = true
  /// Whether the central's controller does what it is asked to.
  var encrypts = true
  /// What the air makes of a PDU on its way; empty: lost.
  var tamper: (_ fromCentral: Bool, [UInt8]) -> [[UInt8]] = { [$1] }
  /// Sees each computation and its result.
  var onComputation: (KeyAgreementRequest.Operation, KeyAgreementResult) -> Void = { _, _ in }
  /// What people answer; nil: not yet.
  var answer: (PairingPair, _ isCentral: Bool, PairingPrompt) -> PairingAnswer? =
    PairingPair.honest

  init(
    central: HostConfiguration = .pairing(), peripheral: HostConfiguration = .pairing(),
    centralIO: SMPIOCapability = .noInputNoOutput,
    peripheralIO: SMPIOCapability = .noInputNoOutput, bonds: ([Bond], [Bond]) = ([], []),
    centralAddress: DeviceAddress = PairingPair.centralAddress,
    peripheralAddress: DeviceAddress = PairingPair.peripheralAddress, seed: UInt64 = 1
  ) {
    var random = SeededGenerator(seed: seed)
    self.central = Self.end(
      .central, centralAddress, peripheralAddress, central, centralIO, bonds.0, &random)
    self.peripheral = Self.end(
      .peripheral, peripheralAddress, centralAddress, peripheral, peripheralIO, bonds.1, &random)
  }

  private static func end(
    _ role: LinkInfo.Role, _ local: DeviceAddress, _ peer: DeviceAddress,
    _ configuration: HostConfiguration, _ io: SMPIOCapability, _ bonds: [Bond],
    _ random: inout SeededGenerator
  ) -> End {
    var host = HostSecurity(configuration, secrets: SecretGenerator(predictable: &random))
    if io != .noInputNoOutput { host.register(.one, io) }
    host.load(bonds, [])
    host.controllerStarted(local)
    return End(
      link: LinkSecurity(
        role: role, peer: peer, addresses: LinkAddresses(local: local, peer: peer)), host: host)
  }

  /// Enters what the other side shows, and accepts numbers that are equal.
  static func honest(
    _ pair: PairingPair, isCentral: Bool, _ prompt: PairingPrompt
  ) -> PairingAnswer? {
    let other = isCentral ? pair.peripheral : pair.central
    switch prompt {
    case .consent, .replaceBond: return .accept
    case .displayPasskey: return nil
    case .enterPasskey:
      for case .displayPasskey(let number) in other.prompts { return .passkey(number) }
      // Both enter one that they agreed on.
      return .passkey(123_456)
    case .compareNumber(let number):
      for case .compareNumber(let others) in other.prompts where others != number {
        return .reject
      }
      return .accept
    }
  }

  // MARK: Acting

  mutating func securesCentral(_ requirement: LinkSecurity.Requirement = .encryption) {
    act(isCentral: true) { $0.link.secure(requirement, host: &$0.host, now: $1, into: &$2) }
    run()
  }

  mutating func securesPeripheral(_ requirement: LinkSecurity.Requirement = .encryption) {
    act(isCentral: false) { $0.link.secure(requirement, host: &$0.host, now: $1, into: &$2) }
    run()
  }

  /// Both request encryption before either has received the other's request.
  mutating func bothSecure(centralFirst: Bool) {
    for isCentral in [centralFirst, !centralFirst] {
      act(isCentral: isCentral) { $0.link.secure(.encryption, host: &$0.host, now: $1, into: &$2) }
    }
    run()
  }

  /// The central's link comes up: the bond's keys are used at once. Whether there are any.
  mutating func connects() -> Bool {
    var begins = false
    act(isCentral: true) {
      begins = $0.link.beginWithBond(host: $0.host, now: $1, into: &$2)
    }
    run()
    return begins
  }

  /// A client requests to pair.
  mutating func requestsPairing(isCentral: Bool = true) {
    let request = PendingRequest(client: .one, token: RequestToken(rawValue: 1))
    act(isCentral: isCentral) { $0.link.secure(for: request, host: &$0.host, now: $1, into: &$2) }
    run()
  }

  mutating func registersAgent(_ client: ClientID, isCentral: Bool) {
    change(isCentral) { $0.host.register(client, .displayOnly) }
  }

  mutating func delivers(_ pdu: [UInt8], toCentral: Bool) {
    act(isCentral: toCentral) {
      $0.link.receive(pdu[...], host: &$0.host, now: $1, into: &$2)
    }
    run()
  }

  mutating func answers(_ answer: PairingAnswer, isCentral: Bool) {
    act(isCentral: isCentral) {
      $0.link.answer(answer, host: &$0.host, now: $1, into: &$2)
    }
    run()
  }

  /// Lets time pass at both ends.
  mutating func pass(_ span: TimeSpan) {
    now = now + span
    for isCentral in [true, false] {
      act(isCentral: isCentral) { $0.link.wake(now: $1, host: &$0.host, into: &$2) }
    }
    run()
  }

  private mutating func act(
    isCentral: Bool, _ body: (inout End, Instant, inout [LinkSecurity.Output]) -> Void
  ) {
    var outputs: [LinkSecurity.Output] = []
    if isCentral { body(&central, now, &outputs) } else { body(&peripheral, now, &outputs) }
    for output in outputs { take(output, isCentral: isCentral) }
  }

  private mutating func change(_ isCentral: Bool, _ body: (inout End) -> Void) {
    if isCentral { body(&central) } else { body(&peripheral) }
  }

  private mutating func take(_ output: LinkSecurity.Output, isCentral: Bool) {
    switch output {
    case .sendPDU(let bytes, let number):
      change(isCentral) {
        $0.sent.append(bytes)
        $0.unacknowledged = number
      }
      let arriving = tamper(isCentral, bytes)
      change(!isCentral) { $0.incoming += arriving }
    case .compute(let request):
      let result = SmallKeyAgreement().perform(request.operation)
      onComputation(request.operation, result)
      act(isCentral: isCentral) {
        guard $0.link.computation == request.id else { return }
        $0.link.computed(result, host: &$0.host, now: $1, into: &$2)
      }
    case .prompt(let prompt, _, _):
      change(isCentral) {
        $0.prompts.append(prompt)
        $0.unansweredPrompt = prompt
      }
    case .encrypt(let key): encrypt(with: key)
    case .answerKeyRequest: assertionFailure("no key was asked for")
    case .encryptionChanged: break
    case .bonded(let bond): change(isCentral) { $0.stored.append(bond) }
    case .bondNotKept(let reason): change(isCentral) { $0.unkept.append(reason) }
    case .evicted, .displaced: break
    case .bondRejected(let bond):
      change(isCentral) { end in end.stored.removeAll { $0.identity == bond.identity } }
    case .pairingEnded(let failure): change(isCentral) { $0.ends.append(failure) }
    case .secured(let isSecured): change(isCentral) { $0.secured.append(isSecured) }
    case .completed(_, let failure): change(isCentral) { $0.completed.append(failure) }
    case .disconnect(let failure): change(isCentral) { $0.disconnection = failure }
    }
  }

  /// The central's controller starts encryption and requests the same key of the peripheral's.
  private mutating func encrypt(with key: LongTermKey) {
    var outputs: [LinkSecurity.Output] = []
    peripheral.link.longTermKeyRequested(
      random: key.random, diversifier: key.encryptedDiversifier, host: peripheral.host,
      into: &outputs)
    for output in outputs {
      guard case .answerKeyRequest(let answer) = output else { continue }
      guard let answer else { return report(.pinOrKeyMissing, to: [true]) }
      if !encrypts { return }
      if answer == key.value {
        report(.success, to: [false, true])
      } else {
        hasMICFailure = true
      }
    }
  }

  /// The client that answers prompts is gone.
  mutating func leavesAgent(isCentral: Bool) {
    act(isCentral: isCentral) { $0.link.agentGone(host: &$0.host, now: $1, into: &$2) }
    run()
  }

  /// The link of this end is gone.
  mutating func closes(isCentral: Bool) {
    act(isCentral: isCentral) { $0.link.close(host: &$0.host, now: $1, into: &$2) }
  }

  /// The central's link is gone, and there is a new one.
  mutating func reconnects() {
    closes(isCentral: true)
    let addresses = LinkAddresses(local: Self.centralAddress, peer: Self.peripheralAddress)
    central.link = LinkSecurity(
      role: .central, peer: Self.peripheralAddress, addresses: addresses)
  }

  /// A controller reports that the link is no longer encrypted.
  mutating func switchesEncryptionOff(isCentral: Bool) {
    act(isCentral: isCentral) {
      $0.link.encryptionChanged(.success, isOn: false, host: &$0.host, now: $1, into: &$2)
    }
  }

  mutating func report(_ status: HCIStatus, to ends: [Bool]) {
    for isCentral in ends {
      act(isCentral: isCentral) {
        $0.link.encryptionChanged(
          status, isOn: status == .success, host: &$0.host, now: $1, into: &$2)
      }
    }
  }

  /// Carries PDUs and answers until there are none.
  mutating func run() {
    var steps = 0
    while steps < 1_000, !hasMICFailure {
      steps += 1
      if let pdu = central.incoming.popFirst() {
        act(isCentral: true) { $0.link.receive(pdu[...], host: &$0.host, now: $1, into: &$2) }
      } else if let pdu = peripheral.incoming.popFirst() {
        act(isCentral: false) { $0.link.receive(pdu[...], host: &$0.host, now: $1, into: &$2) }
      } else if !answersPrompt(), !acknowledgesLatest() {
        return
      }
    }
  }

  /// Both ends learn that what they sent has arrived.
  private mutating func acknowledgesLatest() -> Bool {
    var isAny = false
    for isCentral in [true, false] where acknowledges {
      var number: UInt64?
      change(isCentral) { number = $0.unacknowledged.take() }
      guard let number else { continue }
      isAny = true
      act(isCentral: isCentral) {
        $0.link.acknowledged(number, host: &$0.host, now: $1, into: &$2)
      }
    }
    return isAny
  }

  private mutating func answersPrompt() -> Bool {
    for isCentral in [true, false] {
      let end = isCentral ? central : peripheral
      guard let prompt = end.unansweredPrompt, let answer = answer(self, isCentral, prompt) else {
        continue
      }
      change(isCentral) { $0.unansweredPrompt = nil }
      act(isCentral: isCentral) {
        $0.link.answer(answer, host: &$0.host, now: $1, into: &$2)
      }
      return true
    }
    return false
  }
}

extension Array where Element == [UInt8] {
  fileprivate mutating func popFirst() -> [UInt8]? { isEmpty ? nil : removeFirst() }
}

extension HostConfiguration {
  /// One that pairs.
  static func pairing(
    _ policy: PairingPolicy = .automatic, secureConnections: Bool = true, keyByteCountMin: Int = 16
  ) -> HostConfiguration {
    var configuration = HostConfiguration()
    configuration.pairingPolicy = policy
    configuration.hasKeyAgreement = secureConnections
    configuration.keyByteCountMin = keyByteCountMin
    return configuration
  }
}

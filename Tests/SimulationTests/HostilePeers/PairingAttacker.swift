import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import SecureConnections
import Simulation

@testable import BluetoothMachines
@testable import PairingMachines

/// An attacker that runs the Security Manager like an honest host, and may change its PDUs:
/// `change` gets each PDU before it is sent, `heard` each that comes.
final class PairingAttacker {
  let peer: HostilePeer
  private var link: LinkSecurity
  private var host: HostSecurity
  /// The PDUs sent in place of one; none if it is held back.
  var change: (SMPPDU) -> [[UInt8]] = { [$0.bytes] }
  /// What the victim sends, before it is acted upon.
  var heard: (SMPPDU) -> Void = { _ in }
  /// Its answer to a prompt, such as a passkey.
  var answer: (PairingPrompt) -> PairingAnswer? = { _ in .accept }
  /// Whether it gives its controller the key when the victim's starts encryption.
  var givesKey = true
  /// What it was asked, or shown.
  private(set) var prompts: [PairingPrompt] = []
  /// How pairings ended; nil: well.
  private(set) var ends: [SecurityFailure?] = []
  /// Why pairings left it no bond.
  private(set) var unkept: [BondRejection] = []
  /// What came of the Security Manager, in order.
  private(set) var received: [SMPPDU] = []
  private(set) var isEncrypted = false

  private let world: World
  private let role: LinkInfo.Role
  private let victim: DeviceAddress

  init(
    in world: World, role: LinkInfo.Role, victim: DeviceAddress, address: UInt64 = 0xBAD,
    ioCapability: SMPIOCapability = .noInputNoOutput, usesSecureConnections: Bool = true,
    bonds: [Bond] = [], at position: Position = Position(x: 1)
  ) {
    self.world = world
    self.role = role
    self.victim = victim
    peer = HostilePeer(
      in: world, address: address, isPeripheral: role == .peripheral, at: position)
    var configuration = HostConfiguration()
    configuration.hasKeyAgreement = usesSecureConnections
    configuration.keyByteCountMin = 7
    var random = SeededGenerator(seed: world.seed ^ 0xBAD)
    host = HostSecurity(configuration, secrets: SecretGenerator(predictable: &random))
    let own = peer.address
    if ioCapability != .noInputNoOutput { host.register(ClientID(rawValue: 1), ioCapability) }
    host.load(bonds, [])
    host.controllerStarted(own)
    link = LinkSecurity(
      role: role, peer: victim, addresses: LinkAddresses(local: own, peer: victim))
    peer.react = { [weak self] in self?.take($0) }
    peer.onEvent = { [weak self] in self?.take($0) }
  }

  /// Begins as if there had been no link before.
  func reset() {
    link = LinkSecurity(
      role: role, peer: victim, addresses: LinkAddresses(local: peer.address, peer: victim))
    isEncrypted = false
    // Patience is for others.
    host.attempts = PairingAttempts()
  }

  /// Sends a Pairing Request as the central, a Security Request as the peripheral.
  func pairs() {
    act { $0.secure(.encryption, host: &$1, now: self.world.now, into: &$2) }
  }

  func says(_ pdu: SMPPDU) { says(pdu.bytes) }

  func says(_ bytes: [UInt8]) { peer.frame(bytes, on: L2CAPChannelIdentifier.security) }

  private func take(_ frame: HostilePeer.Frame) {
    guard frame.channel == L2CAPChannelIdentifier.security,
      let pdu = try? SMPPDU(decoding: frame.payload[...])
    else { return }
    received.append(pdu)
    heard(pdu)
    act { $0.receive(frame.payload[...], host: &$1, now: self.world.now, into: &$2) }
  }

  private func take(_ event: HCIEvent) {
    switch event {
    case .leConnectionComplete, .leEnhancedConnectionComplete: reset()
    case .leLongTermKeyRequest(let request):
      guard givesKey else { return }
      act {
        $0.longTermKeyRequested(
          random: request.random, diversifier: request.diversifier, host: $1, into: &$2)
      }
    case .encryptionChange(let change):
      isEncrypted = change.status == .success && change.encryption != .off
      act {
        $0.encryptionChanged(
          change.status, isOn: change.encryption != .off, host: &$1, now: self.world.now, into: &$2)
      }
    default: break
    }
  }

  private func act(
    _ body: (inout LinkSecurity, inout HostSecurity, inout [LinkSecurity.Output]) -> Void
  ) {
    var outputs: [LinkSecurity.Output] = []
    body(&link, &host, &outputs)
    for output in outputs { perform(output) }
  }

  private func perform(_ output: LinkSecurity.Output) {
    switch output {
    case .sendPDU(let bytes, let number):
      guard let pdu = try? SMPPDU(decoding: bytes[...]) else { return }
      for changed in change(pdu) { says(changed) }
      act { $0.acknowledged(number, host: &$1, now: self.world.now, into: &$2) }
    case .encrypt(let key):
      guard let handle = peer.handle else { return }
      peer.send(
        LEEnableEncryption(
          handle: handle, random: key.random, diversifier: key.encryptedDiversifier,
          longTermKey: key.value.number))
    case .answerKeyRequest(let key):
      guard let handle = peer.handle else { return }
      if let key {
        peer.send(LELongTermKeyRequestReply(handle: handle, longTermKey: key.number))
      } else {
        peer.send(LELongTermKeyRequestNegativeReply(handle: handle))
      }
    case .compute(let request):
      guard let result = world.keyAgreement?.perform(request.operation) else { return }
      act { link, host, outputs in
        guard link.computation == request.id else { return }
        link.computed(result, host: &host, now: self.world.now, into: &outputs)
      }
    case .prompt(let prompt, _, _):
      prompts.append(prompt)
      guard let answer = answer(prompt) else { return }
      act { $0.answer(answer, host: &$1, now: self.world.now, into: &$2) }
    case .pairingEnded(let failure): ends.append(failure)
    case .bondNotKept(let reason): unkept.append(reason)
    case .encryptionChanged, .bonded, .displaced, .evicted, .bondRejected, .secured, .completed,
      .disconnect:
      break
    }
  }
}

extension World {
  /// A world whose hosts pair by LE Secure Connections, too.
  static func pairing(seed: UInt64) -> World {
    SecureConnections.install()
    let world = World(seed: seed)
    world.keyAgreement = KeyAgreementPlugIn.current
    return world
  }
}

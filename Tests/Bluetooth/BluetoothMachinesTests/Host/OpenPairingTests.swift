import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Two programs with a link to one peer, which protects a value, and a pairing agent each.
private struct OpenPairing {
  struct Program {
    let user: ClientID
    let agent: ClientID
  }

  static let protected: UInt16 = 0x30
  static let plain: UInt16 = 0x20

  var slow = SlowClient()
  let first = Program(user: ClientID(rawValue: 11), agent: ClientID(rawValue: 12))
  let second = Program(user: ClientID(rawValue: 21), agent: ClientID(rawValue: 22))
  let peer = DeviceAddress.peer(1)
  let handle: UInt16 = 0x40

  init(role: LinkRole = .central) {
    for (number, program) in [first, second].enumerated() {
      for client in [program.user, program.agent] {
        slow.rig.handle(.clientOpened(client, program: ProgramID(rawValue: UInt64(number))))
      }
      slow.rig.request(.setPairingAgent(.keyboardDisplay), from: program.agent)
      slow.rig.request(.connect(peer, ConnectOptions()), from: program.user)
    }
    slow.rig.connect(peer, handle: handle, role: role)
    answerAll()
  }

  /// The peer answers all requests: it refuses the protected value for want of authentication.
  mutating func answerAll() {
    while let packet = slow.rig.data.first {
      slow.rig.data.removeFirst()
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: handle, count: 1)]))
      let frame = Array(packet.bytes.dropFirst(4))
      guard frame.count > 4 else { continue }
      let pdu = Array(frame[4...])
      switch (frame[2], pdu[0]) {
      case (4, ATTOpcode.exchangeMTURequest.rawValue):
        slow.receive([0x03, 23, 0], on: handle)
      case (4, ATTOpcode.readRequest.rawValue) where pdu[1] == Self.protected:
        slow.receive(
          [0x01, pdu[0], pdu[1], 0, ATTErrorCode.insufficientAuthentication.rawValue], on: handle)
      case (4, ATTOpcode.readRequest.rawValue): slow.receive([0x0B, 7], on: handle)
      case (4, ATTOpcode.writeRequest.rawValue): slow.receive([0x13], on: handle)
      case (4, let opcode) where opcode & 0x40 == 0:
        slow.receive([0x01, opcode, 0, 0, ATTErrorCode.attributeNotFound.rawValue], on: handle)
      case (6, 0x01):
        let response = SMPPDU.pairingResponse(Self.features(.displayOnly))
        slow.receive(response.bytes, on: handle, channel: 6)
      case (6, 0x0B):
        let request = SMPPDU.pairingRequest(Self.features(.keyboardOnly))
        slow.receive(request.bytes, on: handle, channel: 6)
      default: break
      }
    }
  }

  private static func features(_ ioCapability: SMPIOCapability) -> SMPPairingFeatures {
    SMPPairingFeatures(
      ioCapability: ioCapability, authenticationRequirements: [.bonding, .mitmProtection],
      maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: [])
  }

  /// Sends a request of a program; its token.
  mutating func ask(
    _ program: Program, _ make: (RequestToken) -> HostRequest
  ) -> RequestToken {
    let token = slow.rig.token()
    slow.rig.request(make(token), from: program.user)
    answerAll()
    return token
  }

  mutating func read(_ value: UInt16, by program: Program) -> RequestToken {
    ask(program) { [peer] in .gatt(peer, .read(value), $0) }
  }

  func results(_ token: RequestToken, of program: Program) -> [Result<HostReply, HostError>] {
    slow.rig.results(of: token, client: program.user)
  }

  /// The clients with a prompt.
  var asked: [ClientID] {
    slow.rig.events.compactMap {
      if case .pairingPrompt = $0.event { $0.client } else { nil }
    }
  }
}

@Suite("A link with an open question of a pairing")
struct OpenPairingTests {
  @Test("An open question of one program's pairing delays no operation of another program")
  func others() {
    var open = OpenPairing()
    let refused = open.read(OpenPairing.protected, by: open.first)
    #expect(open.asked == [open.first.agent])
    let behind = open.read(OpenPairing.plain, by: open.first)
    let second = open.second
    let tokens = [
      open.read(OpenPairing.plain, by: second),
      open.ask(second) { [peer = open.peer] in .gatt(peer, .write(0x22, [1]), $0) },
      open.ask(second) { [peer = open.peer] in .gatt(peer, .writeWithoutResponse(0x22, [1]), $0) },
      open.ask(second) { [peer = open.peer] in .subscribe(peer, SlowClient.target, $0) },
      open.ask(second) { [peer = open.peer] in .readRSSI(peer, $0) },
    ]
    for token in tokens {
      #expect(open.results(token, of: second).count == 1, "request \(token.rawValue)")
    }
    open.slow.notify(1, on: open.handle)
    #expect(open.slow.valueCount(open.peer, client: second.user) == 1)
    #expect(open.results(refused, of: open.first).isEmpty)
    #expect(open.results(behind, of: open.first).isEmpty)
    // The peer gives the pairing up after 30 s.
    open.slow.rig.pass(.seconds(31))
    open.answerAll()
    #expect(open.results(refused, of: open.first).count == 1)
    #expect(open.results(behind, of: open.first) == [.success(.value([7]))])
  }

  @Test("The program whose operation was refused is asked, whichever registered its agent last")
  func askedProgram() {
    for role in [LinkRole.central, .peripheral] {
      for isFirst in [true, false] {
        var open = OpenPairing(role: role)
        let program = isFirst ? open.first : open.second
        _ = open.read(OpenPairing.protected, by: program)
        #expect(open.asked == [program.agent])
      }
    }
  }

  @Test("A subscription of two programs doesn't wait for the pairing that only the first one needs")
  func sharedSubscription() {
    for isSecondFirst in [true, false] {
      var open = OpenPairing()
      var second: RequestToken?
      let refused = open.slow.rig.token()
      let read = HostRequest.gatt(open.peer, .read(OpenPairing.protected), refused)
      open.slow.rig.request(read, from: open.first.user)
      // The read is under way: the subscription waits behind it.
      let first = open.slow.rig.token()
      let subscription = HostRequest.subscribe(open.peer, SlowClient.target, first)
      open.slow.rig.request(subscription, from: open.first.user)
      if !isSecondFirst { open.answerAll() }
      second = open.ask(open.second) { [peer = open.peer] in
        .subscribe(peer, SlowClient.target, $0)
      }
      #expect(open.asked == [open.first.agent])
      #expect(second.map { open.results($0, of: open.second) } == [.success(.done)])
      #expect(open.results(first, of: open.first) == [.success(.done)])
      #expect(open.results(refused, of: open.first).isEmpty)
    }
  }

  @Test("A program that lets go of the link during its pairing ends its requests, and others go on")
  func release() {
    var open = OpenPairing()
    let refused = open.read(OpenPairing.protected, by: open.first)
    let behind = open.read(OpenPairing.plain, by: open.first)
    open.slow.rig.request(.disconnect(open.peer), from: open.first.user)
    for token in [refused, behind] {
      #expect(open.results(token, of: open.first) == [.failure(.cancelled)])
    }
    // Connected again, it waits for nothing of the time before.
    open.slow.rig.request(.connect(open.peer, ConnectOptions()), from: open.first.user)
    let again = open.read(OpenPairing.plain, by: open.first)
    #expect(open.results(again, of: open.first) == [.success(.value([7]))])
    open.slow.rig.pass(.seconds(31))
    #expect(open.slow.rig.machine.violations() == [])
  }

  @Test("A program that ends during its pairing delays no other one, and its question ends")
  func end() {
    var open = OpenPairing()
    _ = open.read(OpenPairing.protected, by: open.first)
    for client in [open.first.user, open.first.agent] {
      open.slow.rig.handle(.clientClosed(client))
    }
    open.answerAll()
    let read = open.read(OpenPairing.plain, by: open.second)
    #expect(open.results(read, of: open.second) == [.success(.value([7]))])
    // Its own question is a new one, and its own.
    _ = open.read(OpenPairing.protected, by: open.second)
    #expect(open.asked == [open.first.agent, open.second.agent])
  }

  @Test("A program that requests a pairing again and again leaves another one its own requests")
  func requests() {
    var open = OpenPairing()
    let most = LinkSecurity.Limits.requestsMax
    for number in 0...most {
      let token = open.ask(open.first) { [peer = open.peer] in .pair(peer, $0) }
      let isRefused = !open.results(token, of: open.first).isEmpty
      #expect(isRefused == (number == most))
    }
    let other = open.ask(open.second) { [peer = open.peer] in .pair(peer, $0) }
    #expect(open.results(other, of: open.second).isEmpty)
    #expect(open.asked == [open.first.agent])
  }
}

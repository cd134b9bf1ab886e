import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

/// A host that serves programs: each has a client that uses the radio and one that answers prompts.
private struct ServedPrograms {
  struct Program {
    let user: ClientID
    let agent: ClientID
  }

  var slow = SlowClient()
  /// The client of the host's own process, which attends all pairings.
  static let own = ClientID.one
  let first = Program(user: ClientID(rawValue: 11), agent: ClientID(rawValue: 12))
  let second = Program(user: ClientID(rawValue: 21), agent: ClientID(rawValue: 22))
  let peer = DeviceAddress.peer(1)
  let handle: UInt16 = 0x40

  init() {
    for (number, program) in [first, second].enumerated() {
      for client in [program.user, program.agent] {
        slow.rig.handle(.clientOpened(client, program: ProgramID(rawValue: UInt64(number))))
      }
    }
  }

  /// The clients that got an event of this kind, in the order of their numbers.
  func receivers(of name: String) -> [UInt32] {
    slow.rig.events.filter { $0.event.shortName == name }.map(\.client.rawValue).sorted()
  }

  mutating func makeAgents(_ clients: ClientID...) {
    for client in clients { slow.rig.request(.setPairingAgent(.keyboardDisplay), from: client) }
  }

  /// The peer, which is a peripheral with a display, asks for encryption, and gets as far as the passkey.
  mutating func requestSecurity() {
    slow.receive(
      SMPPDU.securityRequest([.bonding, .mitmProtection]).bytes, on: handle, channel: 6)
    slow.receive(SMPPDU.pairingResponse(Self.features(.displayOnly)).bytes, on: handle, channel: 6)
  }

  /// The peer, which is a central with a keyboard, begins to pair.
  mutating func requestPairing() {
    slow.receive(SMPPDU.pairingRequest(Self.features(.keyboardOnly)).bytes, on: handle, channel: 6)
  }

  mutating func endPairing() {
    slow.receive(SMPPDU.pairingFailed(.unspecifiedReason).bytes, on: handle, channel: 6)
  }

  private static func features(_ ioCapability: SMPIOCapability) -> SMPPairingFeatures {
    SMPPairingFeatures(
      ioCapability: ioCapability, authenticationRequirements: [.bonding, .mitmProtection],
      maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: [])
  }

  /// Publishes a value that needs encryption; returns its handle.
  mutating func publish(from client: ClientID) throws -> UInt8 {
    let token = slow.rig.token()
    let service = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A37, properties: [.read], permissions: [.readable, .readEncryptionRequired])
      ])
    slow.rig.request(.addService(service, token), from: client)
    let result = slow.rig.results(of: token, client: client).first
    guard case .published(let published)? = try result?.get() else {
      throw HostError.invalidArgument("The service was refused.")
    }
    return UInt8(published.characteristics[0].valueHandle)
  }
}

@Suite("The programs that cause pairings")
struct PairingCauseTests {
  @Test("the program that has connected is asked, and others don't hear of its pairing")
  func central() {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent, served.second.agent, ServedPrograms.own)
    served.slow.connect(served.peer, handle: served.handle, from: served.first.user)
    served.requestSecurity()
    #expect(served.receivers(of: "pairingPrompt") == [12])
    served.endPairing()
    #expect(served.receivers(of: "pairingEnded") == [1, 11, 12])
  }

  @Test("the client for all pairings is asked where the program that has connected has no agent")
  func withoutAgent() {
    var served = ServedPrograms()
    served.makeAgents(ServedPrograms.own, served.second.agent)
    served.slow.connect(served.peer, handle: served.handle, from: served.first.user)
    served.requestSecurity()
    #expect(served.receivers(of: "pairingPrompt") == [1])
  }

  @Test("without the cause's agent and one for all pairings, other programs' agents change nothing")
  func onlyOthers() throws {
    var served = ServedPrograms()
    served.makeAgents(served.second.agent)
    served.slow.connect(served.peer, handle: served.handle, from: served.first.user)
    served.requestSecurity()
    #expect(served.receivers(of: "pairingPrompt") == [])
    let sent = try #require(served.slow.sentSecurityPDUs.first)
    guard case .pairingRequest(let features) = try SMPPDU(decoding: sent[...]) else {
      Issue.record("no pairing was begun")
      return
    }
    #expect(features.ioCapability == .noInputNoOutput)
  }

  @Test("the owner of a protected value that the peer has read is asked")
  func protectedValue() throws {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent, served.second.agent, ServedPrograms.own)
    _ = try served.publish(from: served.first.user)
    let value = try served.publish(from: served.second.user)
    served.slow.rig.connect(served.peer, handle: served.handle, role: .peripheral)
    served.slow.receive([0x0A, value, 0], on: served.handle)
    served.requestPairing()
    #expect(served.receivers(of: "pairingPrompt") == [22])
    // The end of the link is that of the pairing.
    served.slow.rig.event(
      DisconnectionComplete(handle: served.handle, reason: .remoteUserTerminatedConnection))
    #expect(served.receivers(of: "pairingEnded") == [1, 21, 22])
  }

  @Test("a peer that pairs by itself does so for the only program with something to offer")
  func onlyOffer() throws {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent, served.second.agent)
    _ = try served.publish(from: served.first.user)
    served.slow.rig.connect(served.peer, handle: served.handle, role: .peripheral)
    served.requestPairing()
    #expect(served.receivers(of: "pairingPrompt") == [12])
  }

  @Test("a peer that pairs by itself, where several programs offer something, does so for none")
  func severalOffers() throws {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent, served.second.agent, ServedPrograms.own)
    for program in [served.first, served.second] { _ = try served.publish(from: program.user) }
    served.slow.rig.connect(served.peer, handle: served.handle, role: .peripheral)
    served.requestPairing()
    #expect(served.receivers(of: "pairingPrompt") == [1])
    served.endPairing()
    #expect(served.receivers(of: "pairingEnded") == [1])
  }

  @Test("a program that asks for the pairing of another one's link is asked, and so hears of it")
  func request() {
    var served = ServedPrograms()
    served.makeAgents(served.second.agent)
    served.slow.connect(served.peer, handle: served.handle, from: served.first.user)
    let token = served.slow.rig.token()
    served.slow.rig.request(.pair(served.peer, token), from: served.second.user)
    served.requestSecurity()
    #expect(served.receivers(of: "pairingPrompt") == [22])
    served.endPairing()
    #expect(served.receivers(of: "pairingEnded") == [1, 11, 12, 21, 22])
  }

  @Test("a client of a program that attends all pairings answers where no program causes them")
  func attendance() throws {
    for isAgentFirst in [true, false] {
      var served = ServedPrograms()
      let token = served.slow.rig.token()
      if isAgentFirst { served.makeAgents(served.second.agent) }
      served.slow.rig.request(.attendAllPairings(token), from: served.second.agent)
      if !isAgentFirst { served.makeAgents(served.second.agent) }
      let results = served.slow.rig.results(of: token, client: served.second.agent)
      #expect(results == [.success(.done)])
      served.slow.connect(served.peer, handle: served.handle, from: served.first.user)
      served.requestSecurity()
      #expect(served.receivers(of: "pairingPrompt") == [22])
      served.endPairing()
      #expect(served.receivers(of: "pairingEnded") == [1, 11, 12, 22])
    }
  }

  @Test("an agent hears the end of its pairing also where its program has let go of the link")
  func releasedLink() {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent)
    for program in [served.first, served.second] {
      served.slow.rig.request(.connect(served.peer, ConnectOptions()), from: program.user)
    }
    served.slow.rig.connect(served.peer, handle: served.handle)
    served.requestSecurity()
    #expect(served.receivers(of: "pairingPrompt") == [12])
    served.slow.rig.request(.disconnect(served.peer), from: served.first.user)
    served.endPairing()
    #expect(served.receivers(of: "pairingEnded") == [1, 11, 12, 21, 22])
  }

  @Test("a program that has ended causes nothing more, and its agent's pairing ends")
  func endedProgram() {
    var served = ServedPrograms()
    served.makeAgents(served.first.agent)
    for program in [served.first, served.second] {
      served.slow.rig.request(.connect(served.peer, ConnectOptions()), from: program.user)
    }
    served.slow.rig.connect(served.peer, handle: served.handle)
    served.requestSecurity()
    for client in [served.first.agent, served.first.user] {
      served.slow.rig.handle(.clientClosed(client))
    }
    #expect(served.receivers(of: "pairingEnded") == [1, 11, 21, 22])
    #expect(served.slow.rig.machine.links.entries.map(\.askingPrograms) == [[]])
  }
}

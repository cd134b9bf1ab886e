import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// Two hosts on one link on which every packet arrives at both at once.
private struct Pair {
  static let link = Link(InterfaceIndex(rawValue: 1), .v4)

  var hosts: [DiscoveryMachine] = []
  var now = Instant.zero
  var told: [[DiscoveryMachine.Action]] = [[], []]
  var questions: [DNSQuestion] = []

  init(hearsUnicast: Bool = true) throws {
    for (number, name) in ["lamp", "phone"].enumerated() {
      hosts.append(
        try DiscoveryMachine(
          hostLabel: Array(name.utf8), chance: SeededGenerator(seed: UInt64(number))))
      let address = IPv4Address(10, 0, 0, UInt8(number + 1))
      let interface = NetworkInterface(
        Self.link.interface, versions: [.v4],
        addresses: [.init(.v4(address), prefixBitCount: 24)], hearsUnicast: hearsUnicast)
      handle(number, .interfaceChanged(interface))
    }
  }

  mutating func handle(_ number: Int, _ event: DiscoveryMachine.Event) {
    var actions: [DiscoveryMachine.Action] = []
    hosts[number].handle(event, now: now, into: &actions)
    take(actions, of: number)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = hosts.compactMap(\.nextWake).min(), next <= end {
      now = max(now, next)
      for number in hosts.indices {
        var actions: [DiscoveryMachine.Action] = []
        hosts[number].wake(now: now, into: &actions)
        take(actions, of: number)
      }
    }
    now = end
  }

  private mutating func take(_ actions: [DiscoveryMachine.Action], of sender: Int) {
    for action in actions {
      guard case .send(let packet) = action else {
        told[sender].append(action)
        continue
      }
      let source = Endpoint(.v4(IPv4Address(10, 0, 0, UInt8(sender + 1))), port: 5353)
      guard
        let message = ReceivedMessage(
          decoding: packet.bytes[...], on: Self.link, from: source,
          isMulticast: packet.destination == .multicast)
      else {
        Issue.record("sent what nobody can read")
        continue
      }
      questions += message.message.questions
      for number in hosts.indices
      where packet.destination == .multicast || number != sender {
        handle(number, .received(message))
      }
    }
  }
}

@Suite("A host's Multicast DNS as a whole")
struct DiscoveryMachineTests {
  private let type: ServiceType
  private let service: ServiceRegistration

  init() throws {
    type = try ServiceType(text: "_light._tcp")
    service = try ServiceRegistration(ServiceName(instance: "Lamp", type: type), port: 80)
  }

  @Test("what one host publishes another finds, and misses after the goodbye")
  func published() throws {
    var pair = try Pair()
    let (id, query) = (RegistrationID(rawValue: 1), QueryID(rawValue: 1))
    pair.handle(0, .publish(id, service))
    pair.handle(1, .ask(query, .browse(type), on: nil))
    pair.pass(.seconds(5))
    #expect(pair.told[0].contains(.published(id, service.name.name)))
    let interface = Pair.link.interface
    #expect(
      pair.told[1].last
        == .deliver(query, .serviceAdded(service.name), on: interface, moreComing: false))
    pair.handle(0, .shutDown)
    pair.pass(.seconds(2))
    #expect(
      pair.told[1].last
        == .deliver(query, .serviceRemoved(service.name), on: interface, moreComing: false))
  }

  @Test("A12: where the port is shared nobody is asked to answer to this host alone")
  func sharedPort() throws {
    for hearsUnicast in [true, false] {
      var pair = try Pair(hearsUnicast: hearsUnicast)
      pair.handle(0, .publish(RegistrationID(rawValue: 1), service))
      pair.handle(1, .ask(QueryID(rawValue: 1), .browse(type), on: nil))
      pair.pass(.seconds(5))
      #expect(pair.questions.count > 3)
      #expect(pair.questions.contains(where: \.wantsUnicastResponse) == hearsUnicast)
    }
  }

  @Test("two hosts that want one name get two")
  func conflict() throws {
    var pair = try Pair(hearsUnicast: false)
    pair.handle(0, .publish(RegistrationID(rawValue: 1), service))
    pair.handle(1, .publish(RegistrationID(rawValue: 1), service))
    pair.pass(.seconds(10))
    let names = pair.told.map { actions in
      actions.compactMap { action -> DNSName? in
        if case .published(_, let name) = action { name } else { nil }
      }.last
    }
    let second = try ServiceName(instance: "Lamp (2)", type: type)
    #expect(Set(names) == [service.name.name, second.name])
  }
}

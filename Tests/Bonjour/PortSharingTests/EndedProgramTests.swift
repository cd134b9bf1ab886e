import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

/// What the hub's Multicast DNS does in the time after a program has ended, with virtual time.
@Suite("Services of a program of a hub that has ended")
struct EndedProgramTests {
  private static let link = MulticastLink(InterfaceIndex(rawValue: 1), .v4)

  /// The hub's machines, without sockets.
  private struct Hub {
    var owner = OwnerMachine(configuration: SharedConfiguration(hostName: "here"))
    var machine: DiscoveryMachine
    var now = Instant.zero
    /// The packets with the time at which each was sent.
    var sent: [(at: Instant, message: DNSMessage)] = []

    init() throws {
      machine = try DiscoveryMachine(
        hostLabel: Array("here".utf8), rng: SeededGenerator(seed: 1))
      let interface = NetworkInterface(
        link.interface, versions: [.v4],
        addresses: [.init(.v4(Inet4Address(10, 0, 0, 1)), prefixBitCount: 24)])
      var actions: [DiscoveryMachine.Action] = []
      machine.handle(.interfaceChanged(interface), now: now, into: &actions)
      take(actions)
    }

    mutating func handle(_ event: OwnerMachine.Event) {
      var work: [OwnerMachine.Action] = []
      owner.handle(event, now: now, into: &work)
      var actions: [DiscoveryMachine.Action] = []
      for case .forward(let request) in work {
        machine.handle(.request(request), now: now, into: &actions)
      }
      take(actions)
    }

    mutating func pass(_ span: TimeSpan) {
      let end = now + span
      while let next = machine.nextWake, next <= end {
        now = max(now, next)
        var actions: [DiscoveryMachine.Action] = []
        machine.wake(now: now, into: &actions)
        take(actions)
      }
      now = end
    }

    private mutating func take(_ actions: [DiscoveryMachine.Action]) {
      for case .send(let packet) in actions {
        guard let message = try? DNSMessage(decoding: packet.bytes[...]) else {
          Issue.record("an invalid packet was sent")
          continue
        }
        sent.append((now, message))
      }
    }

    mutating func serve(_ number: UInt64, serviceCount: Int) throws -> OwnerMachine.ConnectionID {
      let id = OwnerMachine.ConnectionID(rawValue: number)
      handle(.connected(id, userID: 1_000))
      handle(.received(.hello(versions: 1...3, SharedConfiguration(hostName: "here")), from: id))
      for service in 0..<UInt64(serviceCount) {
        let request = DiscoveryRequest.registerService(
          RegistrationID(rawValue: service + 1), try Sample.service("Lamp \(number) \(service)"))
        handle(.received(.request(request), from: id))
      }
      return id
    }
  }

  @Test(
    "the goodbyes of a killed program's services, and no others, are sent within 100 ms of its end",
    arguments: [1, 300])
  func killed(serviceCount: Int) throws {
    var hub = try Hub()
    let killed = try hub.serve(1, serviceCount: serviceCount)
    _ = try hub.serve(2, serviceCount: 1)
    hub.pass(.seconds(20))
    hub.sent = []
    let end = hub.now
    hub.handle(.disconnected(killed))
    hub.pass(.milliseconds(100))
    var gone: Set<DNSRecordData> = []
    for (_, message) in hub.sent {
      for record in message.answers where record.ttlSeconds == 0 && record.type == .ptr {
        gone.insert(record.data)
      }
    }
    let services = Set(
      try (0..<serviceCount).map {
        DNSRecordData.ptr(try Sample.service("Lamp 1 \($0)").name.name)
      })
    #expect(gone == services)
    #expect(hub.sent.allSatisfy { $0.at <= end + .milliseconds(100) })
    hub.sent = []
    hub.pass(.seconds(10))
    #expect(hub.sent.isEmpty)
  }

  @Test("what a program had not announced yet gets no goodbye when it ends, and is never announced")
  func probing() throws {
    var hub = try Hub()
    hub.pass(.seconds(5))
    let killed = try hub.serve(1, serviceCount: 1)
    hub.pass(.milliseconds(300))
    hub.handle(.disconnected(killed))
    hub.sent = []
    hub.pass(.seconds(10))
    let name = try Sample.service("Lamp 1 0").name.name
    #expect(!hub.sent.contains { $0.message.answers.contains { $0.data == .ptr(name) } })
  }
}

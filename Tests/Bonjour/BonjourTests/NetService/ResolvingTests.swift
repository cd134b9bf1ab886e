import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import Testing

@testable import Bonjour

@Suite("Resolving with NetService", .timeLimit(.minutes(5)))
struct ResolvingTests {
  private let discovery = ScriptedDiscovery()
  private let thread = RunLoopThread()
  private let recorder = ServiceRecorder()

  private func service() async -> NetService {
    await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        let service = NetService(domain: "local.", type: "_lamp._tcp.", name: "Desk lamp")
        service.delegate = recorder
        return service
      }
    }
  }

  private func reportResolution(port: UInt16 = 80) throws {
    let name = try ServiceName.lamp()
    let text = try TXTRecord([.init(key: "room", value: Array("study".utf8))])
    discovery.notify(
      .resolve(name), .resolved(.init(name: name, host: .lampHost, port: port, text: text)))
  }

  private func tellAddresses(_ texts: String..., on interface: InterfaceIndex = .first) {
    for text in texts {
      guard let address = InetAddress(text: text) else { continue }
      discovery.notify(
        .addresses(.lampHost, versions: [.v4, .v6]), .addressAdded(address, ttlSeconds: 120),
        on: interface)
    }
  }

  @Test("each new address is reported, and at the timeout that the service stopped")
  func lateAddress() async throws {
    let service = await service()
    #expect(service.port == -1 && service.addresses == nil && service.hostName == nil)
    service.resolve(withTimeout: 5)
    try reportResolution()
    tellAddresses("192.0.2.1")
    #expect(
      await recorder.events.next(2) == ["will resolve", "resolved lamp.local. 80, addresses: 1"])
    #expect(NetService.dictionary(fromTXTRecord: service.txtRecordData() ?? Data())["room"] != nil)
    tellAddresses("192.0.2.1", "2001:db8::1")
    #expect(await recorder.events.next() == "resolved lamp.local. 80, addresses: 2")
    discovery.pass(seconds: 5)
    #expect(await recorder.events.next() == "stopped")
    #expect(discovery.requests.isEmpty)
    #expect(service.addresses?.count == 2)
    await thread.end()
  }

  @Test("addresses are the system's structures, with port and, for link-local ones, interface")
  func addressBytes() async throws {
    let service = await service()
    service.resolve(withTimeout: 5)
    try reportResolution(port: 0x1234)
    tellAddresses("192.0.2.1", "fe80::5", on: .second)
    _ = await recorder.events.next(3)
    let addresses = try #require(service.addresses).map { Array($0) }
    #expect(addresses.first == [2, 0, 0x12, 0x34, 192, 0, 2, 1] + Array(repeating: 0, count: 8))
    #expect(
      addresses.last == [10, 0, 0x12, 0x34, 0, 0, 0, 0, 0xFE, 0x80]
        + Array(repeating: 0, count: 13) + [5, 2, 0, 0, 0])
    await thread.end()
  }

  @Test("a service without an address is not resolved at the timeout")
  func timeout() async throws {
    let service = await service()
    service.resolve(withTimeout: 5)
    try reportResolution()
    discovery.pass(seconds: 4.9)
    discovery.pass(seconds: 0.1)
    #expect(await recorder.events.next(2) == ["will resolve", "not resolved -72007 of 10"])
    #expect(discovery.requests.isEmpty)
    await thread.end()
  }

  @Test("a service resolves without a timeout until it is stopped")
  func noTimeout() async throws {
    let service = await service()
    await thread.run { [discovery] in
      service.resolve(withTimeout: 0)
      #expect(discovery.timerCount == 0)
      service.stop()
    }
    #expect(await recorder.events.next() == "stopped")
    #expect(discovery.requests.isEmpty)
    await thread.end()
  }

  @Test("a host that moves is looked up anew")
  func otherHost() async throws {
    let service = await service()
    service.resolve(withTimeout: 5)
    try reportResolution()
    tellAddresses("192.0.2.1")
    let name = try ServiceName.lamp()
    discovery.notify(
      .resolve(name),
      .resolved(.init(name: name, host: "attic.local.", port: 81, text: TXTRecord())))
    #expect(
      discovery.requests == [
        .resolve(name), .addresses("attic.local.", versions: [.v4, .v6]),
      ])
    discovery.notify(
      .addresses("attic.local.", versions: [.v4, .v6]),
      .addressAdded(.v4(.init(192, 0, 2, 2)), ttlSeconds: 120))
    #expect(await recorder.events.next(3).last == "resolved attic.local. 81, addresses: 1")
    withExtendedLifetime(service) {}
    await thread.end()
  }

  @Test("a text is reported when monitoring begins and when it changes, once for all interfaces")
  func monitoring() async throws {
    let service = await service()
    service.startMonitoring()
    service.startMonitoring()
    let name = try ServiceName.lamp().name
    let record = { (room: String) in
      let text = try TXTRecord([.init(key: "room", value: Array(room.utf8))])
      return DNSRecord(name: name, ttlSeconds: 4_500, data: .txt(text))
    }
    #expect(discovery.requests == [.records(name, .txt)])
    discovery.notify(.records(name, .txt), .recordAdded(try record("study")))
    discovery.notify(.records(name, .txt), .recordAdded(try record("study")), on: .second)
    discovery.notify(
      .records(name, .txt), .recordAdded(try record("attic")), .recordRemoved(try record("study")))
    #expect(await recorder.events.next(2) == ["text room=study", "text room=attic"])
    service.stopMonitoring()
    #expect(discovery.requests.isEmpty)
    await thread.end()
  }

  @Test("a name that can't be one is a bad argument")
  func badName() async throws {
    let service = await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        let service = NetService(domain: "local.", type: "lamp", name: "Desk lamp")
        service.delegate = recorder
        return service
      }
    }
    service.resolve(withTimeout: 5)
    #expect(await recorder.events.next() == "not resolved -72004 of 10")
    #expect(!service.getInputStream(nil, outputStream: nil))
    await thread.end()
  }

  @Test("services are the same whose name, type and domain are")
  func equality() {
    DiscoveryContext.$override.withValue(discovery) {
      let one = NetService(domain: "local.", type: "_lamp._tcp.", name: "Lamp")
      let same = NetService(domain: "local", type: "_lamp._tcp", name: "lamp", port: 80)
      let other = NetService(domain: "local.", type: "_lamp._udp.", name: "Lamp")
      #expect(one == same && one.hash == same.hash)
      #expect(one != other)
      #expect(Set([one, same, other]).count == 2)
    }
  }
}

import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import Synchronization
import Testing

@testable import Bonjour

@Suite("NWListener and NWConnection", .timeLimit(.minutes(5)))
struct NWListenerTests {
  private let discovery = ScriptedDiscovery()
  private let queue = DispatchQueue(label: "test")
  private let states = Events<NWListener.State>()
  private let registrations = Events<NWListener.ServiceRegistrationChange>()
  private let connections = Events<NWConnection>()

  private func listener(
    _ service: NWListener.Service? = .init(name: "Desk lamp", type: "_lamp._tcp"),
    _ parameters: NWParameters = .tcp
  ) throws -> NWListener {
    let listener = try DiscoveryContext.$override.withValue(discovery) {
      try NWListener(using: parameters)
    }
    listener.service = service
    listener.stateUpdateHandler = { [states] in states.add($0) }
    listener.serviceRegistrationUpdateHandler = { [registrations] in registrations.add($0) }
    listener.newConnectionHandler = { [connections] in connections.add($0) }
    return listener
  }

  private static func endpoint(_ name: String) -> NWEndpoint {
    .service(name: name, type: "_lamp._tcp", domain: "local.", interface: nil)
  }

  @Test("a service is published on the listener's port, and each of its names is reported")
  func publishes() async throws {
    let listener = try listener(
      .init(
        name: "Desk lamp", type: "_lamp._tcp,_led", txtRecord: NWTXTRecord(["room": "study"])))
    #expect(listener.port == nil && listener.state == .setup)
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    let published = try #require(discovery.published.first?.service)
    #expect(published.port == listener.port?.rawValue && published.port != 0)
    #expect(published.text["room"] == "study")
    #expect(published.subtypeNames.map(\.description) == ["_led._sub._lamp._tcp.local."])
    discovery.notify(.registered(try ServiceName.lamp("Desk lamp (2)").name))
    #expect(await registrations.next() == .add(Self.endpoint("Desk lamp (2)")))
    discovery.notify(.registered(try ServiceName.lamp("Desk lamp (3)").name))
    #expect(await registrations.next() == .remove(Self.endpoint("Desk lamp (2)")))
    #expect(await registrations.next() == .add(Self.endpoint("Desk lamp (3)")))
    listener.cancel()
    #expect(await registrations.next() == .remove(Self.endpoint("Desk lamp (3)")))
    #expect(await states.next() == .cancelled)
    #expect(discovery.published.first?.isLive == false)
  }

  @Test("another text updates the service; another service replaces it")
  func changes() async throws {
    let listener = try listener()
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    listener.service?.txtRecordObject = NWTXTRecord(["room": "attic"])
    #expect(discovery.published.map { $0.texts.map { $0["room"] } } == [["attic"]])
    listener.service = .init(name: "Floor lamp", type: "_lamp._tcp")
    #expect(discovery.published.map(\.isLive) == [false, true])
    listener.service = nil
    #expect(discovery.published.map(\.isLive) == [false, false])
    #expect(listener.state == .ready)
  }

  @Test("a service that wants no other name fails the listener where its own is taken")
  func conflict() async throws {
    var service = NWListener.Service(name: "Desk lamp", type: "_lamp._tcp")
    service.noAutoRename = true
    let listener = try listener(service)
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    #expect(discovery.published.first?.service.conflictPolicy == .refuse)
    discovery.notify(.refused(try ServiceName.lamp().name))
    #expect(
      await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_NameConflict))))
    listener.cancel()
    #expect(await states.next() == .cancelled)
  }

  @Test("a listener without a handler, for UDP, or of a service that can't be, fails")
  func failures() async throws {
    let silent = try listener()
    silent.newConnectionHandler = nil
    silent.start(queue: queue)
    #expect(await states.next() == .failed(.posix(.EINVAL)))
    try listener(nil, .udp).start(queue: queue)
    #expect(await states.next() == .failed(.posix(.EPROTONOSUPPORT)))
    try listener(.init(type: "lamp")).start(queue: queue)
    #expect(await states.next() == .ready)
    #expect(await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_BadParam))))
  }

  @Test("a connection to a service has the path to it, and both ends exchange bytes")
  func exchange() async throws {
    let listener = try listener()
    listener.newConnectionLimit = 1
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    let port = try #require(listener.port)

    let client = DiscoveryContext.$override.withValue(discovery) {
      NWConnection(to: Self.endpoint("Desk lamp"), using: .tcp)
    }
    let clientStates = Events<NWConnection.State>()
    client.stateUpdateHandler = { clientStates.add($0) }
    client.start(queue: queue)
    #expect(await clientStates.next() == .preparing)
    try reportResolution(port: port.rawValue)
    #expect(await clientStates.next() == .ready)
    #expect(client.currentPath?.remoteEndpoint == .hostPort(host: "127.0.0.1", port: port))

    let server = try #require(await connections.next())
    server.start(queue: queue)
    client.send(content: Data("hel".utf8), completion: .idempotent)
    client.send(
      content: Data("lo".utf8), contentContext: .finalMessage,
      completion: .contentProcessed { #expect($0 == nil) })
    let heard = await Self.receive(server, 5, 100)
    #expect(heard.content == Data("hello".utf8))
    let end = heard.isComplete ? nil : await Self.receive(server, 1, 100)
    #expect(end == nil || (end?.content == nil && end?.isComplete == true))

    let big = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0) })
    server.send(content: big, completion: .idempotent)
    // More than the system buffers: cancelling still sends the pending data.
    server.cancel()
    #expect(await Self.receive(client, big.count, big.count).content == big)
    client.cancel()
    #expect(await clientStates.next() == .cancelled)
    #expect(listener.newConnectionLimit == 0)
    listener.cancel()
  }

  private struct Received: Sendable {
    var content: Data?
    var isComplete: Bool
    var error: NWError?
  }

  private static func receive(
    _ connection: NWConnection, _ minimum: Int, _ maximum: Int
  ) async -> Received {
    await withCheckedContinuation { continuation in
      connection.receive(minimumIncompleteLength: minimum, maximumLength: maximum) {
        content, _, isComplete, error in
        continuation.resume(
          returning: Received(content: content, isComplete: isComplete, error: error))
      }
    }
  }

  private func reportResolution(port: UInt16) throws {
    let name = try ServiceName.lamp()
    let resolution = ServiceResolution(name: name, host: .lampHost, port: port, text: TXTRecord())
    discovery.notify(.resolve(name), .resolved(resolution))
    discovery.notify(
      .addresses(.lampHost, versions: [.v4, .v6]),
      .addressAdded(.v4(.init(127, 0, 0, 1)), ttlSeconds: 120))
  }

  @Test("without a listener a connection waits; when it is cancelled, pending operations fail")
  func refused() async throws {
    let listener = try listener(nil)
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    let port = try #require(listener.port)
    listener.cancel()
    #expect(await states.next() == .cancelled)
    let client = DiscoveryContext.$override.withValue(discovery) {
      NWConnection(host: .ipv4(.loopback), port: port, using: .tcp)
    }
    let clientStates = Events<NWConnection.State>()
    client.stateUpdateHandler = { clientStates.add($0) }
    let received = Events<NWError?>()
    client.receive(minimumIncompleteLength: 1, maximumLength: 1) { _, _, _, error in
      received.add(error)
    }
    client.start(queue: queue)
    #expect(await clientStates.next(2).last == .waiting(.posix(.ECONNREFUSED)))
    #expect(client.currentPath == nil)
    client.cancel()
    #expect(await clientStates.next() == .cancelled)
    #expect(await received.next() == .some(.posix(.ECANCELED)))
    let udp = NWConnection(host: "127.0.0.1", port: port, using: .udp)
    udp.stateUpdateHandler = { clientStates.add($0) }
    udp.start(queue: queue)
    #expect(await clientStates.next(2).last == .failed(.posix(.EPROTONOSUPPORT)))
  }

  /// A listener that listens, and a connection that one of its clients made.
  private func connected(limit: Int = NWListener.InfiniteConnectionLimit) async throws -> (
    NWListener, NWConnection, Events<NWConnection.State>
  ) {
    let listener = try listener(nil)
    listener.newConnectionLimit = limit
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    let port = try #require(listener.port)
    let client = DiscoveryContext.$override.withValue(discovery) {
      NWConnection(host: .ipv4(.loopback), port: port, using: .tcp)
    }
    let clientStates = Events<NWConnection.State>()
    client.stateUpdateHandler = { clientStates.add($0) }
    client.start(queue: queue)
    #expect(await clientStates.next(2) == [.preparing, .ready])
    return (listener, client, clientStates)
  }

  @Test("a connection that is cancelled instead of started is closed")
  func rejects() async throws {
    let (listener, client, _) = try await connected()
    weak var rejected: NWConnection?
    do {
      let server = try #require(await connections.next())
      server.cancel()
      rejected = server
    }
    let end = await Self.receive(client, 1, 100)
    #expect(end.content == nil && end.isComplete)
    while rejected != nil { await Task.yield() }
    withExtendedLifetime(listener) {}
  }

  @Test("a connection whose input was read to the end ends when it is released")
  func endsAfterReading() async throws {
    let (listener, client, _) = try await connected()
    weak var old: NWConnection?
    do {
      let server = try #require(await connections.next())
      server.start(queue: queue)
      let isAtEnd = Events<Bool>()
      // As apps do it: what waits for bytes holds the connection.
      server.receive(minimumIncompleteLength: 1, maximumLength: 100) { _, _, isComplete, _ in
        withExtendedLifetime(server) { isAtEnd.add(isComplete) }
      }
      client.send(content: nil, contentContext: .finalMessage, completion: .idempotent)
      #expect(await isAtEnd.next() == true)
      old = server
    }
    while old != nil { await Task.yield() }
    let end = await Self.receive(client, 1, 100)
    #expect(end.content == nil && end.isComplete)
    withExtendedLifetime(listener) {}
  }

  @Test("connections beyond the limit wait until it is raised")
  func limit() async throws {
    let (listener, client, _) = try await connected(limit: 0)
    client.send(content: Data("hello".utf8), completion: .idempotent)
    let other = NWConnection(to: client.endpoint, using: .tcp)
    let states = Events<NWConnection.State>()
    other.stateUpdateHandler = { states.add($0) }
    other.start(queue: queue)
    #expect(await states.next(2).last == .ready)
    listener.newConnectionLimit = 2
    let servers = [try #require(await connections.next()), try #require(await connections.next())]
    #expect(listener.newConnectionLimit == 0)
    servers[0].start(queue: queue)
    #expect(await Self.receive(servers[0], 5, 5).content == Data("hello".utf8))
  }

  @Test("a peer that reads nothing holds a connection that was cancelled for half a minute at most")
  func cancelsInTime() async throws {
    let (listener, client, clientStates) = try await connected()
    let server = try #require(await connections.next())
    let sent = Events<NWError?>()
    // More than the system holds.
    client.send(
      content: Data(count: 32_000_000), completion: .contentProcessed { sent.add($0) })
    let received = Events<NWError?>()
    client.receive(minimumIncompleteLength: 1, maximumLength: 100) { _, _, _, error in
      received.add(error)
    }
    client.cancel()
    while discovery.timerCount == 0 { await Task.yield() }
    discovery.pass(seconds: 30)
    #expect(await clientStates.next() == .cancelled)
    #expect(await sent.next() == .some(.posix(.ECANCELED)))
    #expect(await received.next() == .some(.posix(.ECANCELED)))
    #expect(discovery.timerCount == 0)
    withExtendedLifetime((listener, server)) {}
  }

  @Test("a connection that failed is cancelled only by a call")
  func failsAndCancels() async throws {
    let client = NWConnection(host: "127.0.0.1", port: 1, using: .udp)
    let clientStates = Events<NWConnection.State>()
    client.stateUpdateHandler = { clientStates.add($0) }
    client.start(queue: queue)
    #expect(await clientStates.next(2).last == .failed(.posix(.EPROTONOSUPPORT)))
    #expect(await Self.receive(client, 1, 1).error == .posix(.ENOTCONN))
    #expect(client.state == .failed(.posix(.EPROTONOSUPPORT)))
    client.cancel()
    #expect(await clientStates.next() == .cancelled)
  }

  @Test("endless input is handed over in parts")
  func parts() async throws {
    let (listener, client, _) = try await connected()
    let server = try #require(await connections.next())
    server.start(queue: queue)
    server.send(content: Data(count: 2_000_000), completion: .idempotent)
    var count = 0
    while count < 2_000_000 {
      let part = await Self.receive(client, 1, .max).content?.count ?? 0
      #expect((1...131_072).contains(part))
      count += part
      if part == 0 { break }
    }
    #expect(count == 2_000_000)
    withExtendedLifetime(listener) {}
  }

  @Test("a service is no longer looked for once it is connected to")
  func searchEnds() async throws {
    let listener = try listener()
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    let port = try #require(listener.port)
    let client = DiscoveryContext.$override.withValue(discovery) {
      NWConnection(to: Self.endpoint("Desk lamp"), using: .tcp)
    }
    let clientStates = Events<NWConnection.State>()
    client.stateUpdateHandler = { clientStates.add($0) }
    client.start(queue: queue)
    #expect(discovery.requests.count == 1 && discovery.timerCount == 1)
    try reportResolution(port: port.rawValue)
    #expect(await clientStates.next(2).last == .ready)
    #expect(discovery.requests.isEmpty && discovery.timerCount == 0)
  }

  @Test("listeners and connections that are released end")
  func letGo() async throws {
    weak var listener: NWListener?
    weak var connection: NWConnection?
    do {
      let held = try self.listener()
      held.start(queue: queue)
      #expect(await states.next() == .ready)
      let client = DiscoveryContext.$override.withValue(discovery) {
        NWConnection(to: Self.endpoint("Desk lamp"), using: .tcp)
      }
      client.start(queue: queue)
      (listener, connection) = (held, client)
    }
    queue.sync {}
    #expect(listener == nil && connection == nil)
    #expect(discovery.published.first?.isLive == false && discovery.requests.isEmpty)
  }

  @Test func `The last state that a handler gets is the last one, whatever threads change it`()
    throws
  {
    for _ in 0..<500 {
      let listener = try listener()
      let reported = Mutex<[NWListener.State]>([])
      let registrations = Mutex<[NWListener.ServiceRegistrationChange]>([])
      listener.stateUpdateHandler = { state in reported.withLock { $0.append(state) } }
      listener.serviceRegistrationUpdateHandler = { change in
        registrations.withLock { $0.append(change) }
      }
      let name = try ServiceName.lamp().name
      DispatchQueue.concurrentPerform(iterations: 3) { index in
        switch index {
        case 0: listener.start(queue: queue)
        case 1: discovery.notify(.registered(name))
        default: listener.cancel()
        }
      }
      queue.sync {}
      #expect(listener.state == .cancelled)
      #expect([[], [.cancelled], [.ready, .cancelled]].contains(reported.withLock { $0 }))
      let endpoint = Self.endpoint("Desk lamp")
      #expect(
        [[], [.add(endpoint), .remove(endpoint)]].contains(registrations.withLock { $0 }))
      // Nothing of it goes on.
      #expect(discovery.published.allSatisfy { !$0.isLive })
      #expect(listener.port == nil)
    }
  }

  @Test func `The text that was set last is published, whatever threads set it`() async throws {
    let listener = try listener()
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    for round in 0..<500 {
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        listener.service?.txtRecordObject = NWTXTRecord(["round": "\(round) \(index)"])
      }
      let last = try #require(listener.service?.text)
      #expect(discovery.published.map(\.texts.last) == [last])
    }
  }

  @Test func `Of services that several threads set, the last one alone is published`() async throws
  {
    let listener = try listener()
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    for round in 0..<500 {
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        listener.service = .init(name: "\(round) \(index)", type: "_lamp._tcp")
      }
      let live = discovery.published.filter(\.isLive)
      #expect(live.map(\.service.name.instanceText) == [listener.service?.name])
    }
  }

  @Test func `The service of a listener that fails is reported as removed`() async throws {
    let listener = try listener()
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    discovery.notify(.registered(try ServiceName.lamp().name))
    #expect(await registrations.next() == .add(Self.endpoint("Desk lamp")))
    discovery.notify(.failed(.tooManyClients))
    #expect(await registrations.next() == .remove(Self.endpoint("Desk lamp")))
    #expect(await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_NoMemory))))
  }
}

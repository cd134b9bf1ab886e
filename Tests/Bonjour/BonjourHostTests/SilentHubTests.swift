import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import Glibc
import PortSharing
import Testing

@testable import BonjourHost

/// Hosts whose hub does not answer, on the interface that every machine has.
@Suite("Hosts with a silent hub", .timeLimit(.minutes(5)))
struct SilentHubTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType
  /// The time after which a hub is left, and what a busy machine needs. A hub that is left for another
  /// reason isn't left so soon.
  private static let leftAfter = OwnerSearch.Limits.searchTimeout + .seconds(30)

  private let address: OwnerSocketAddress

  init() throws {
    type = try ServiceType(text: "_b-\(run)._tcp")
    address = try #require(OwnerSocketAddress(path: hubPath(run)))
  }

  /// Closes the socket at which a hub listened.
  private func end(_ listener: Int32) {
    close(listener)
    unlink(hubPath(run))
  }

  /// Registers a service, and returns once it has a name.
  private func register(_ name: String, with host: BonjourHost) async throws -> Registration {
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let name = try ServiceName(instance: name, type: type)
    let registration = try host.register(ServiceRegistration(name, port: 80)) {
      continuation.yield($0)
    }
    #expect(await events.first { _ in true } == .registered(name.name))
    return registration
  }

  /// How a hub is silent.
  enum Silence: CaseIterable {
    case notAccepting, withoutWelcome, halfAWelcome, afterWelcome, halfAMessage, otherMessages
  }

  /// Lets the hub at a connection fall silent.
  private func fallSilent(_ silence: Silence, _ hub: Peer) throws {
    let welcome = try #require(OwnerMessage.welcome(version: 3).frame)
    let report = try #require(OwnerMessage.report(.interfaces([:])).frame)
    switch silence {
    case .notAccepting, .withoutWelcome: break
    case .halfAWelcome: try hub.write(Array(welcome.dropLast()))
    case .afterWelcome: try hub.write(welcome)
    case .halfAMessage: try hub.write(welcome + report.dropLast(2))
    case .otherMessages: try hub.write(welcome + report + report)
    }
  }

  @Test("a hub that is silent in whatever way is left within five seconds, with the reason")
  func silent() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, silence) in Silence.allCases.enumerated() {
        group.addTask { try await leaves(hubThatIs: silence, "\(run)-\(number)") }
      }
      try await group.waitForAll()
    }
  }

  private func leaves(hubThatIs silence: Silence, _ run: String) async throws {
    let address = try #require(OwnerSocketAddress(path: hubPath(run)))
    let listener = try address.bindAndListen()
    defer {
      close(listener)
      unlink(hubPath(run))
    }
    let (log, continuation) = AsyncStream.makeStream(of: String.self)
    let host = BonjourHost(configuration: sharingConfiguration(run)) { continuation.yield($0) }
    var hub: Peer?
    if silence != .notAccepting {
      hub = try await Peer.accept(listener)
      _ = try await hub?.read()
      if let hub { try fallSilent(silence, hub) }
    }
    let start = Instant.now
    async let lamp = register("Lamp \(run)", with: host)
    let reason = try #require(await log.first { _ in true })
    #expect(reason.contains("does not answer"))
    #expect(Instant.now - start < Self.leftAfter, "\(silence)")
    let registration = try await lamp
    #expect(await host.settledRole == .alone)
    withExtendedLifetime((hub, registration)) {}
    await host.close()
  }

  @Test("a hub whose queue of connections is full is left within five seconds")
  func fullQueue() async throws {
    // One that waits fills it.
    let listener = try address.bindAndListen(backlog: 0)
    defer { end(listener) }
    let trust = OwnerMachine.Trust(userID: geteuid())
    let waiting = address.connect(trust: trust)
    #expect(waiting.outcome == .connected)
    #expect(address.connect(trust: trust).outcome == .busy)
    let (log, continuation) = AsyncStream.makeStream(of: String.self)
    let start = Instant.now
    let host = BonjourHost(configuration: sharingConfiguration(run)) { continuation.yield($0) }
    let lamp = try await register("Lamp", with: host)
    #expect(Instant.now - start < Self.leftAfter)
    #expect(await log.first { _ in true }?.contains("does not answer") == true)
    #expect(await host.settledRole == .alone)
    waiting.descriptor.map { _ = close($0) }
    withExtendedLifetime(lamp) {}
    await host.close()
  }

  /// A host whose hub, which has welcomed it, is a peer.
  private func followed(_ listener: Int32) async throws -> (BonjourHost, Peer) {
    let host = BonjourHost(configuration: sharingConfiguration(run))
    let hub = try await Peer.accept(listener)
    _ = try await hub.read()
    try hub.write(try #require(OwnerMessage.welcome(version: 3).frame))
    #expect(await host.settledRole == .client)
    return (host, hub)
  }

  @Test("a hub that does not answer is noticed within five seconds, also without any request")
  func idle() async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let (host, hub) = try await followed(listener)
    let start = Instant.now
    #expect(await host.availability == .silent)
    #expect(Instant.now - start < Self.leftAfter)
    withExtendedLifetime(hub) {}
    await host.close()
  }

  @Test("a hub that answers late, but in time, works")
  func busy() async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let (host, hub) = try await followed(listener)
    let start = Instant.now
    async let asked = host.availability
    _ = try await hub.read()
    try await Task.sleep(for: .seconds(2))
    try hub.write(try #require(OwnerMessage.pong.frame))
    let (availability, role) = (await asked, await host.settledRole)
    // On a busy machine the time may be over before the answer is sent.
    if Instant.now - start < OwnerSearch.Limits.searchTimeout {
      #expect(availability == .works && role == .client)
    }
    await host.close()
  }

  @Test("a host whose hub has ended was served, also while it looks for another one")
  func betweenHubs() async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let (host, hub) = try await followed(listener)
    let start = Instant.now
    async let asked = host.availability
    _ = try await hub.read()
    hub.end()
    let (first, second) = (await asked, await host.availability)
    // A hub that hasn't answered for a second, as on a busy machine, counts as silent.
    if Instant.now - start < .seconds(1) { #expect(first == .works && second == .works) }
    await host.close()
  }

  @Test(
    "a hub that answers no ping is left within five seconds, whatever else it sends",
    arguments: [false, true])
  func talking(hasRequest: Bool) async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let (host, hub) = try await followed(listener)
    let report = try #require(OwnerMessage.report(.interfaces([:])).frame)
    // Another message follows each ping instead of the answer.
    let talk = Task { while try await !hub.read().isEmpty { try hub.write(report) } }
    let start = Instant.now
    if hasRequest {
      // The host itself notices that its hub doesn't handle the request.
      _ = try await register("Lamp", with: host)
    } else {
      #expect(await host.availability == .silent)
    }
    #expect(Instant.now - start < Self.leftAfter)
    #expect(await host.settledRole != .client)
    await host.close()
    _ = await talk.result
  }

  /// Lets a host begin a query, and returns once its hub has received it.
  private func queryReceived(_ host: BonjourHost, _ hub: Peer) async throws -> Query {
    let query = host.query(.browse(type)) { _ in }
    _ = try await hub.read()
    return query
  }

  @Test("a query that an hub never handled until it ended is not called done")
  func endedInSilence() async throws {
    let listener = try address.bindAndListen()
    let (host, hub) = try await followed(listener)
    let query = try await queryReceived(host, hub)
    end(listener)
    let endedAt = Instant.now
    hub.end()
    let availability = await host.availability
    // On a busy machine the second may be over before the host was asked.
    if Instant.now - endedAt < .seconds(1) { #expect(availability == .recovering) }
    #expect(await host.settledRole == .alone)
    // The host does without a hub, and answers for its query itself.
    while await host.availability != .works { try await Task.sleep(for: .milliseconds(10)) }
    withExtendedLifetime(query) {}
    await host.close()
  }

  @Test("a query that an hub handled before it ended counts as done")
  func endedAfterAnswer() async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let (host, hub) = try await followed(listener)
    let query = try await queryReceived(host, hub)
    try hub.write(try #require(OwnerMessage.pong.frame))
    let end = Instant.now
    hub.end()
    let availability = await host.availability
    if Instant.now - end < .seconds(1) { #expect(availability == .works) }
    withExtendedLifetime(query) {}
    await host.close()
  }

  @Test("a host that the hub refuses is called refused, not left without an answer")
  func refused() async throws {
    let listener = try address.bindAndListen()
    defer { end(listener) }
    let host = BonjourHost(configuration: sharingConfiguration(run))
    let hub = try await Peer.accept(listener)
    _ = try await hub.read()
    try hub.write(try #require(OwnerMessage.rejected(.tooManyClients).frame))
    #expect(await host.settledRole == .refused)
    #expect(await host.availability == .refused)
    await host.close()
  }

  @Test("a host that is closed while it looks for a hub ends at once, and keeps no timer")
  func closed() async throws {
    let listener = try address.bindAndListen(backlog: 0)
    defer { end(listener) }
    let waiting = address.connect(trust: OwnerMachine.Trust(userID: geteuid()))
    #expect(waiting.outcome == .connected)
    weak var engine: BonjourEngine?
    do {
      let host = BonjourHost(configuration: sharingConfiguration(run))
      engine = host.engine
      #expect(await host.availability == .silent)
      await host.close()
    }
    // The rest of the work on the loop is done.
    for _ in 0..<2 { try await EpollLoop.shared.run {} }
    #expect(engine == nil)
    waiting.descriptor.map { _ = close($0) }
  }

  /// The names of goodbyes in a datagram.
  private static func goodbyes(_ datagram: Datagram) -> [String] {
    guard let message = try? DNSMessage(decoding: datagram.bytes[...]) else { return [] }
    return message.answers.filter { $0.ttlSeconds == 0 }.map { "\($0.name) \($0.data)" }
  }

  /// The packets of the loopback interface, for as long as the returned object lives.
  private func packets() async throws -> (OnLoop<MulticastSocket>, AsyncStream<Datagram>) {
    let (packets, continuation) = AsyncStream.makeStream(of: Datagram.self)
    let index = InterfaceIndex(rawValue: if_nametoindex("lo"))
    let socket = try await EpollLoop.shared.make {
      try MulticastSocket(
        MulticastLink(index, .v4), from: .v4(Inet4Address(127, 0, 0, 1)), on: .shared,
        DatagramReader()
      ) { continuation.yield($0) }
    }
    return (socket, packets)
  }

  @Test(
    "clients of a stopped hub go on by themselves, and it withdraws nothing of theirs afterwards")
  func stopped() async throws {
    let hub = try await OtherProcess.hub(run)
    let (log, continuation) = AsyncStream.makeStream(of: String.self)
    let first = BonjourHost(configuration: sharingConfiguration(run)) { continuation.yield($0) }
    let second = BonjourHost(configuration: sharingConfiguration(run))
    #expect(await first.settledRole == .client)
    let lamp = try await register("Lamp", with: first)
    let chair = try await register("Chair", with: second)
    let (found, foundContinuation) = AsyncStream.makeStream(of: QueryEvent.self)
    let query = second.query(.browse(type)) { foundContinuation.yield($0.event) }
    var events = found.makeAsyncIterator()
    let added = [await events.next(), await events.next()]
    #expect(Set(added.compactMap { $0 }).count == 2)

    hub.signal(SIGSTOP)
    let start = Instant.now
    #expect(await log.first { _ in true }?.contains("does not answer") == true)
    #expect(Instant.now - start < Self.leftAfter)
    let desk = try await register("Desk", with: first)
    #expect(
      await events.next() == .serviceAdded(try ServiceName(instance: "Desk", type: type)),
      "what is known stays, and what is new is found without the hub")
    // Nothing that the hub could know.
    try chair.update(try TXTRecord([.init(key: "room", value: Array("attic".utf8))]))

    let (socket, packets) = try await packets()
    hub.signal(SIGCONT)
    let third = BonjourHost(configuration: sharingConfiguration(run))
    #expect(await third.settledRole == .client, "the hub works again")
    let shelf = try await register("Shelf", with: third)
    try await expectNoGoodbyes(in: packets, before: "Shelf")
    withExtendedLifetime((lamp, chair, desk, shelf, query, socket)) {}
    for host in [first, second, third] { await host.close() }
    try await hub.close()
  }

  /// Nothing of this run may be withdrawn, and nothing may have two texts, until a service is
  /// announced.
  private func expectNoGoodbyes(
    in packets: AsyncStream<Datagram>, before name: String
  ) async throws {
    let last = try ServiceName(instance: name, type: type).name
    for await packet in packets {
      let goodbyes = Self.goodbyes(packet).filter { $0.contains(run) }
      #expect(goodbyes == [])
      guard let message = try? DNSMessage(decoding: packet.bytes[...]), message.header.isResponse
      else { continue }
      let chair = try ServiceName(instance: "Chair", type: type).name
      for record in message.answers where record.name == chair && record.type == .txt {
        #expect("\(record.data)".contains("attic"))
      }
      if message.answers.contains(where: { $0.name == last && $0.type == .srv }) { return }
    }
  }
}

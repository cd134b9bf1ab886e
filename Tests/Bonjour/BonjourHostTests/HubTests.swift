import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import ForkedProcesses
import Glibc
import HubPlaces
import PortSharing
import Synchronization
import Testing

@testable import BonjourHost

/// Hosts of one process that use a hub at a path of their own, on the interface that every machine has.
@Suite("Hosts that use a hub", .timeLimit(.minutes(5)))
struct HubTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType
  private let path: String

  init() throws {
    type = try ServiceType(text: "_b-\(run)._tcp")
    path = hubPath(run)
  }

  /// A host and what it logs.
  private struct Program {
    let host: BonjourHost
    let log: LogReader
  }

  /// Reads what a host logs, in order.
  private actor LogReader {
    private var lines: AsyncStream<String>.Iterator

    init(_ lines: AsyncStream<String>) { self.lines = lines.makeAsyncIterator() }

    /// The lines up to one with a text, or to the last one.
    func lines(upTo text: String) async -> [String] {
      var (lines, read): (_, [String]) = (lines, [])
      defer { self.lines = lines }
      while let line = await lines.next(isolation: #isolation) {
        read.append(line)
        if line.contains(text) { break }
      }
      return read
    }

    /// Returns when a line with a text was logged; false if the host has ended.
    func skip(to text: String) async -> Bool {
      var lines = lines
      defer { self.lines = lines }
      while let line = await lines.next(isolation: #isolation) {
        if line.contains(text) { return true }
      }
      return false
    }
  }

  private func startHub(
    admits: @escaping @Sendable (Int32) -> BonjourAdmission? = { _ in BonjourAdmission() }
  ) throws -> BonjourHub {
    try BonjourHub.start(at: path, configuration: sharingConfiguration(run), admits: admits)
  }

  private func program(_ name: String = "shared", isNamed: Bool = false) -> Program {
    var configuration = sharingConfiguration(run, name: name)
    configuration.hubOverride = BonjourPlaces(paths: [path], isNamed: isNamed)
    configuration.hubPauseMin = .milliseconds(400)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let host = BonjourHost(configuration: configuration) { continuation.yield($0) }
    return Program(host: host, log: LogReader(lines))
  }

  /// Returns when a hub runs the machines for a host. On a busy machine the host may leave it first, and
  /// come back.
  private func usesHub(_ program: Program) async {
    while await program.host.settledRole != .client {
      guard await program.log.skip(to: "hub of this machine answers") else { return }
    }
  }

  private func name(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: type)
  }

  /// Registers a service, and returns once it has a name.
  private func register(_ instance: String, with host: BonjourHost) async throws -> Registration {
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let registration = try host.register(ServiceRegistration(name(instance), port: 80)) {
      continuation.yield($0)
    }
    #expect(await events.first { _ in true } == .registered(try name(instance).name))
    return registration
  }

  private func browse(_ host: BonjourHost) -> (Query, AsyncStream<QueryEvent>) {
    let (events, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    return (host.query(.browse(type)) { continuation.yield($0.event) }, events)
  }

  @Test("programs publish and browse through a hub, which leaves no socket")
  func sharing() async throws {
    let hub = try startHub()
    let (first, second) = (program(), program())
    await usesHub(first)
    await usesHub(second)
    let lamp = try await register("Lamp", with: first.host)
    let (query, events) = browse(second.host)
    #expect(await events.first { _ in true } == .serviceAdded(try name("Lamp")))
    #expect(await second.host.interfaces.values.sorted() == ["lo"])
    await first.host.close()
    #expect(await events.first { _ in true } == .serviceRemoved(try name("Lamp")))
    withExtendedLifetime((lamp, query)) {}
    await second.host.close()
    await hub.close()
    #expect(UNIXSocketFile.Identity(at: path) == nil)
  }

  @Test("what a program has registered is withdrawn when its connection ends without a word")
  func killed() async throws {
    let hub = try startHub()
    let program = program()
    let (query, events) = browse(program.host)
    let address = try #require(OwnerSocketAddress(path: path))
    let killed = Peer(
      try #require(address.connect(trust: OwnerMachine.Trust(userID: geteuid())).descriptor))
    let service = try ServiceRegistration(name("Lamp"), port: 80)
    for message in [
      ClientMessage.hello(
        versions: PortSharingProtocol.versions, sharingConfiguration(run).shared),
      .request(.registerService(RegistrationID(rawValue: 1), service)),
    ] {
      try killed.write(try #require(message.frame))
    }
    #expect(await events.first { _ in true } == .serviceAdded(try name("Lamp")))
    killed.end()
    // Its records would be valid for more than an hour.
    #expect(await events.first { _ in true } == .serviceRemoved(try name("Lamp")))
    withExtendedLifetime(query) {}
    await program.host.close()
    await hub.close()
  }

  @Test(
    "a killed program's services are withdrawn, although a child of it has its connection, too",
    .enabled(if: pinsPeers, "Linux 6.5 is needed"))
  func forked() async throws {
    let hub = try startHub()
    let program = program()
    let (query, events) = browse(program.host)
    let service = try ServiceRegistration(name("Lamp"), port: 80)
    let messages = [
      ClientMessage.hello(
        versions: PortSharingProtocol.versions, sharingConfiguration(run).shared),
      .request(.registerService(RegistrationID(rawValue: 1), service)),
    ]
    let forked = try ForkedProgram(
      sending: messages.flatMap { try #require($0.frame) }, to: path)
    #expect(await events.first { _ in true } == .serviceAdded(try name("Lamp")))
    forked.killParent()
    #expect(await events.first { _ in true } == .serviceRemoved(try name("Lamp")))
    #expect(forked.hasChild)
    forked.endChild()
    withExtendedLifetime(query) {}
    await program.host.close()
    await hub.close()
  }

  @Test(
    "a hub of another user gets no byte of a program, which uses the machine's hub once that is there",
    .enabled(if: geteuid() == 0, "only root can be another user"))
  func stranger() async throws {
    let stranger = try StrangersSocket(of: 12_345, at: path)
    let program = program()
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.log.skip(to: "another user runs it (12345)"))
    #expect(await program.host.settledRole == .alone)
    #expect(try await Peer.accept(stranger.descriptor).read().isEmpty)
    stranger.close()
    let hub = try startHub()
    #expect(await program.log.skip(to: "hub of this machine answers"))
    await usesHub(program)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }

  @Test(
    "programs whose hub has ended do without it, and use the next one, with all that they registered"
  )
  func hubEnds() async throws {
    let hub = try startHub()
    let (first, second) = (program(), program())
    let lamp = try await register("Lamp", with: first.host)
    let (query, events) = browse(second.host)
    #expect(await events.first { _ in true } == .serviceAdded(try name("Lamp")))
    await hub.close()
    #expect(await first.log.skip(to: "does without"))
    #expect(await second.log.skip(to: "does without"))
    let chair = try await register("Chair", with: first.host)
    let added = QueryEvent.serviceAdded(try name("Chair"))
    #expect(await events.first { $0 == added } == added)

    let next = try startHub()
    #expect(await first.log.skip(to: "hub of this machine answers"))
    await usesHub(first)
    await usesHub(second)
    // By now the hub has announced the services that it took over before, and sends goodbyes for them, too.
    let table = try await register("Table", with: first.host)
    // A program that has never seen them finds all at the new hub.
    let third = program()
    let (other, found) = browse(third.host)
    var names: Set<QueryEvent> = []
    for await event in found {
      names.insert(event)
      if names.count == 3 { break }
    }
    #expect(names == [.serviceAdded(try name("Lamp")), .serviceAdded(try name("Table")), added])
    await first.host.close()
    let gone = QueryEvent.serviceRemoved(try name("Chair"))
    #expect(await found.first { $0 == gone } == gone)
    withExtendedLifetime((lamp, chair, table, query, other)) {}
    await second.host.close()
    await third.host.close()
    await next.close()
  }

  @Test("a hub that doesn't answer is left, and used when it answers")
  func silentHub() async throws {
    let address = try #require(OwnerSocketAddress(path: path))
    let listener = try address.bindAndListen()
    let program = program()
    #expect(await program.log.skip(to: "it does not answer"))
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.host.settledRole != .client)
    close(listener)
    let hub = try startHub()
    #expect(await program.log.skip(to: "hub of this machine answers"))
    await usesHub(program)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }

  @Test("a program that the rules of a hub deny does without it, with the reason")
  func refused() async throws {
    let hub = try startHub { _ in nil }
    let program = program()
    #expect(await program.log.skip(to: "its rules do not allow this program"))
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.host.settledRole != .client)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }

  @Test("a program that the rules of a hub denied uses it when they allow it")
  func allowedLater() async throws {
    let isAllowed = Atomic(false)
    let hub = try startHub { _ in
      isAllowed.load(ordering: .relaxed) ? BonjourAdmission() : nil
    }
    let program = program()
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.host.settledRole == .alone)
    isAllowed.store(true, ordering: .relaxed)
    #expect(await program.log.skip(to: "hub of this machine answers"))
    await usesHub(program)
    withExtendedLifetime((lamp, hub)) {}
    await program.host.close()
    await hub.close()
  }

  @Test("a program beyond its quota loses nothing without the hub, and returns with fewer requests")
  func quota() async throws {
    let hub = try startHub { _ in BonjourAdmission(requestCountMax: 1) }
    let program = program()
    let lamp = try await register("Lamp", with: program.host)
    let chair = try await register("Chair", with: program.host)
    #expect(await program.log.skip(to: "exceeds the limits of one client"))
    #expect(await program.host.settledRole == .alone)
    let (query, events) = browse(program.host)
    var found: Set<QueryEvent> = []
    for await event in events {
      found.insert(event)
      if found.count == 2 { break }
    }
    #expect(found == [.serviceAdded(try name("Lamp")), .serviceAdded(try name("Chair"))])
    chair.unregister()
    query.cancel()
    #expect(await program.log.skip(to: "hub of this machine answers"), "it has one request again")
    await usesHub(program)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }

  @Test("a second hub at the same path is refused, and the file of one that was killed is replaced")
  func twoHubs() async throws {
    let hub = try startHub()
    let error = #expect(throws: SystemError.self) { _ = try startHub() }
    #expect(error?.number == EADDRINUSE)
    await hub.close()
    let address = try #require(OwnerSocketAddress(path: path))
    close(try address.bindAndListen())
    await (try startHub()).close()
    #expect(UNIXSocketFile.Identity(at: path) == nil)
  }

  @Test("a hub that AMBIT_HUB names is missed once, and used as soon as it listens")
  func namedHub() async throws {
    let program = program(isNamed: true)
    let absence = "does not listen at \(path)"
    #expect(await program.log.skip(to: absence))
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.host.settledRole == .alone)
    let hub = try startHub()
    let lines = await program.log.lines(upTo: "hub of this machine answers")
    #expect(!lines.isEmpty && !lines.contains { $0.contains(absence) })
    await usesHub(program)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }

  @Test("results that were known to the hub when a query began are marked")
  func fromCache() async throws {
    let hub = try startHub()
    let (first, second) = (program(), program())
    let lamp = try await register("Lamp", with: first.host)
    let (query, events) = browse(first.host)
    #expect(await events.first { _ in true } == .serviceAdded(try name("Lamp")))
    for program in [first, second] {
      await usesHub(program)
      let (found, continuation) = AsyncStream.makeStream(of: FoundEvent.self)
      let again = program.host.query(.browse(type)) { continuation.yield($0) }
      #expect(await found.first { _ in true }?.isFromCache == true)
      withExtendedLifetime(again) {}
    }
    withExtendedLifetime((lamp, query)) {}
    await second.host.close()
    await first.host.close()
    await hub.close()
  }

  @Test("a host with another name does without the hub, with the reason")
  func otherName() async throws {
    let hub = try startHub()
    let program = program("different")
    #expect(await program.log.skip(to: "another host name"))
    #expect(await program.host.settledRole == .alone)
    await program.host.close()
    await hub.close()
  }

  @Test("a hub that sends invalid messages is left, and nothing is lost")
  func falseHub() async throws {
    let address = try #require(OwnerSocketAddress(path: path))
    let listener = try address.bindAndListen()
    let program = program()
    let connection = try await Peer.accept(listener)
    #expect(try await connection.read().isEmpty == false, "it greets")
    try connection.write(try #require(OwnerMessage.welcome(version: 1).frame) + [9, 0, 0, 0])
    try connection.write([UInt8](repeating: 7, count: 9))
    let lamp = try await register("Lamp", with: program.host)
    #expect(await program.host.settledRole == .alone)
    close(listener)
    unlink(path)
    withExtendedLifetime(lamp) {}
    await program.host.close()
  }

  @Test("a host for which a hub has no room gets errors, and is served when it asks again")
  func noRoom() async throws {
    let rejection = try #require(OwnerMessage.rejected(.tooManyClients).frame)
    let address = try #require(OwnerSocketAddress(path: path))
    let listener = try address.bindAndListen()
    let program = program()
    let first = try await Peer.accept(listener)
    #expect(try await first.read().isEmpty == false, "it greets")
    try first.write(rejection)
    #expect(await program.host.settledRole == .refused)

    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let service = try ServiceRegistration(name("Lamp"), port: 80)
    let lamp = program.host.register(service) { continuation.yield($0) }
    let second = try await Peer.accept(listener)
    #expect(try await second.read().isEmpty == false, "it greets again")
    try second.write(rejection)
    #expect(await events.first { _ in true } == .failed(.tooManyClients))

    close(listener)
    let hub = try startHub()
    let chair = try await register("Chair", with: program.host)
    withExtendedLifetime((lamp, chair)) {}
    await program.host.close()
    await hub.close()
  }

  @Test("G12: a program that sends invalid messages is rejected, and the others are served")
  func falseProgram() async throws {
    let hub = try startHub()
    let program = program()
    let address = try #require(OwnerSocketAddress(path: path))
    for noise in [[UInt8](repeating: 0xFF, count: 64), [1, 0, 0, 0, 200]] {
      let descriptor = try #require(
        address.connect(trust: OwnerMachine.Trust(userID: geteuid())).descriptor)
      let connection = Peer(descriptor)
      try connection.write(noise)
      var answer = FrameReader()
      answer.append(try await connection.read())
      #expect(try answer.next(OwnerMessage.self) == .rejected(.invalidMessage))
      #expect(try await connection.read().isEmpty, "the end")
    }
    let lamp = try await register("Lamp", with: program.host)
    withExtendedLifetime(lamp) {}
    await program.host.close()
    await hub.close()
  }
}

/// Whether the kernel gives a descriptor of a socket's peer.
private let pinsPeers: Bool = {
  var ends: [Int32] = [-1, -1]
  guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return false }
  defer { for end in ends { close(end) } }
  return PinnedPeer(of: ends[0]) != nil
}()

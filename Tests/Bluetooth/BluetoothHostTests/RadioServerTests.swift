import BluetoothInterface
import BluetoothWire
import Essentials
import EventLoop
import Foundation
import Simulation
import Synchronization
import Testing

@testable import BluetoothHost
@testable import SimulatedRadio

@Suite("A radio for other processes", .timeLimit(.minutes(5)))
struct RadioServerTests {
  static let anyPort = RadioChoice.tcp(host: "127.0.0.1", port: 0)
  static let reset = HCIPacket(kind: .command, bytes: [0x03, 0x0C, 0x00])

  private static func start(
    _ addresses: [RadioChoice] = [anyPort], maxConnections: Int = 64,
    onEvent: @escaping @Sendable (RadioServer.Event) -> Void = { _ in }
  ) async throws -> RadioServer {
    try await RadioServer.start(
      at: addresses, maxConnections: maxConnections,
      makeWorld: { World(seed: 1, radio: .ideal) }, onEvent: onEvent)
  }

  @Test("two hosts meet on a served radio, one over TCP, the other over a UNIX socket")
  func encounter() async throws {
    let socket = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    let capture = CaptureTests.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: capture) }
    let server = try await Self.start([Self.anyPort, .unix(path: socket)])
    let phone = try BluetoothHost(radio: server.addresses[0], captureTo: capture)
    let strap = try BluetoothHost(radio: server.addresses[1])
    var encounter = Encounter(phone: TestClient(phone), strap: TestClient(strap))
    try await encounter.meet()
    try await encounter.subscribe()
    #expect(try await encounter.notify([0x06, 0x48]) == [0x06, 0x48])
    #expect(await server.connectionCount == 2)

    await phone.close()
    await strap.close()
    await server.close()
    #expect(!FileManager.default.fileExists(atPath: socket))
    let records = try CaptureTests.records(capture)
    #expect(records.first?.packet == Self.reset)
    #expect(records.contains { $0.packet.kind == .event && $0.direction == .controllerToHost })
  }

  @Test("a server that vanishes and comes back is a radio that goes off and on")
  func vanishes() async throws {
    let server = try await Self.start()
    let host = try BluetoothHost(radio: server.addresses[0])
    let client = TestClient(host)
    try await client.state(.poweredOn)
    #expect(host.problem == nil)
    await server.close()
    try await client.state(.poweredOff)
    #expect(host.problem != nil)
    let again = try await Self.start(server.addresses)
    try await client.state(.poweredOn)
    #expect(host.problem == nil)
    await host.close()
    await again.close()
  }

  @Test("a host with a listening address of its own keeps its address over all restarts")
  func addresses() async throws {
    let socket = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    let places = [RadioChoice.unix(path: socket + "-a"), .unix(path: socket + "-b")]
    let connections = Mutex<[DeviceAddress]>([])
    func connect(_ place: RadioChoice) async throws -> (BluetoothHost, DeviceAddress?) {
      let host = try BluetoothHost(radio: place)
      try await TestClient(host).state(.poweredOn)
      return (host, connections.withLock(\.last))
    }
    func serve() async throws -> RadioServer {
      try await Self.start(places) { event in
        if case .connected(_, let address) = event { connections.withLock { $0.append(address) } }
      }
    }
    var server = try await serve()
    var (first, a) = try await connect(places[0])
    var (second, b) = try await connect(places[1])
    #expect(a != nil && b != nil && a != b)
    for restartsServer in [false, true] {
      await first.close()
      await second.close()
      if restartsServer {
        await server.close()
        server = try await serve()
      }
      // In the other order.
      let again = try await connect(places[1])
      #expect(again.1 == b)
      second = again.0
      let other = try await connect(places[0])
      #expect(other.1 == a)
      first = other.0
    }
    (a, b) = (nil, nil)
    await first.close()
    await second.close()
    await server.close()
  }

  @Test("a radio server that is released is closed")
  func lettingGo() async throws {
    var server: RadioServer? = try await Self.start()
    let address = try #require(server?.addresses.first)
    let host = try BluetoothHost(radio: address)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    server = nil
    try await client.state(.poweredOff)
    await host.close()
    let again = try await Self.start([address])
    await again.close()
  }

  @Test("an immediate answer of a world without latency comes in the same turn of the loop")
  func atOnce() async {
    let loop = EpollLoop.shared
    // All of it in one turn.
    let answerCount = await loop.run {
      let realTime = RealTimeAir(world: World(seed: 1, radio: .ideal), on: loop)
      let address = DeviceAddress(bits: 1, kind: .public)
      let port = realTime.air.makePort(name: "host", address: address, at: Position())
      var answers: [HCIPacket] = []
      port.onPackets = { answers += $0 }
      port.send(Self.reset)
      port.flush()
      port.onPackets = nil
      realTime.stop()
      return answers.count
    }
    #expect(answerCount == 1)
  }

  @Test("garbage ends its own connection only")
  func garbage() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: RadioServer.Event.self)
    let server = try await Self.start { continuation.yield($0) }
    let good = await TransportHarness(server.addresses[0])
    #expect(await good.next() == .opened)
    let bad = try await StreamPeer.connect(to: server.addresses[0])
    await bad.write([0xFF, 0xFF])
    await bad.waitUntilClosed()
    for await event in events {
      guard case .disconnected(_, let reason) = event else { continue }
      #expect(reason == "the host sent bytes that are no HCI packet")
      break
    }
    good.send([Self.reset])
    #expect(await good.packets(1).first?.kind == .event)
    good.close()
    await server.close()
  }

  @Test("hosts beyond the limit are turned away")
  func tooMany() async throws {
    let server = try await Self.start(maxConnections: 1)
    let first = await TransportHarness(server.addresses[0])
    #expect(await first.next() == .opened)
    first.send([Self.reset])
    _ = await first.packets(1)
    let second = await TransportHarness(server.addresses[0])
    while let event = await second.next() {
      if case .closed(let error) = event { #expect(error.sentence.contains("closed")) }
    }
    first.send([Self.reset])
    #expect(await first.packets(1).count == 1)
    first.close()
    await server.close()
  }

  @Test("a host that does not read misses advertising reports, and is cut off for the rest")
  func slowReader() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: RadioServer.Event.self)
    let server = try await Self.start { continuation.yield($0) }
    let slow = try await StreamPeer.connect(to: server.addresses[0], isReading: false)
    var happenings = events.makeAsyncIterator()
    guard case .connected? = await happenings.next() else {
      Issue.record("not connected")
      return
    }
    let padding = [UInt8](repeating: 0, count: 250)
    // More than all buffers on the way can hold.
    let report = HCIPacket(kind: .event, bytes: [0x3E, 251, 0x02] + padding)
    await Self.flood(server, with: report, count: 100_000)
    #expect(await server.connectionCount == 1)
    let data = HCIPacket(kind: .acl, bytes: [0x40, 0x20, 250, 0] + padding)
    await Self.flood(server, with: data, count: 100_000)
    #expect(
      await happenings.next()
        == .disconnected(
          controller: "remote-1", reason: "the host does not read the events of its controller"))
    await slow.close()
    await server.close()
  }

  /// Makes every controller send the same packet again and again.
  private static func flood(
    _ server: RadioServer, with packet: HCIPacket, count: Int
  ) async {
    let core = server.core
    for _ in 0..<(count / 1_000) {
      await server.loop.run {
        core.value.air.interact { _ in
          for connection in core.value.connections.values {
            for _ in 0..<1_000 { connection.port?.controller.onPacket?(packet) }
          }
        }
      }
    }
  }

  @Test("an address that is taken or makes no sense is refused in one sentence")
  func badAddresses() async throws {
    let server = try await Self.start()
    let taken = server.addresses[0]
    let file = CaptureTests.temporaryPath()
    try Data().write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    for (address, fault) in [
      (taken, "another program listens there"),
      (.hci(0), "served at tcp:HOST:PORT or unix:PATH, not at hci0"),
      (.unix(path: file), "the file exists and is not a socket"),
      (.unix(path: "/nonexistent/radio"), "the folder does not exist"),
    ] {
      do {
        _ = try await Self.start([address])
        Issue.record("served at \(address)")
      } catch let error as RadioServerError {
        #expect(error.description.contains(fault), "\(error)")
        #expect(error.description.hasSuffix("."))
      }
    }
    await server.close()
  }

  @Test("a second server at an address is refused, and the first one doesn't notice")
  func second() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    let events = Mutex<[RadioServer.Event]>([])
    let server = try await Self.start([Self.anyPort, .unix(path: path)]) { event in
      events.withLock { $0.append(event) }
    }
    for address in server.addresses {
      let error = await #expect(throws: RadioServerError.self) { try await Self.start([address]) }
      #expect(error?.description.contains("another program listens there") == true)
    }
    let host = await TransportHarness(server.addresses[1])
    #expect(await host.next() == .opened)
    host.send([Self.reset])
    #expect(await host.packets(1).first?.kind == .event)
    host.close()
    await server.close()
    // Its one host came and went.
    #expect(events.withLock(\.count) == 2, "\(events.withLock(\.self))")
  }

  @Test("a name is not served at its second address while another program has the first")
  func secondAddress() async throws {
    let server = try await Self.start()
    let other = try await Self.start([])
    guard case .tcp(_, let port) = server.addresses[0] else {
      Issue.record("\(server.addresses)")
      return
    }
    let (core, loop) = (other.core, other.loop)
    let result = await loop.run { () -> Result<RadioChoice, RadioServerError> in
      var candidates: [SocketAddress] = []
      for host in ["127.0.0.1", "127.0.0.2"] {
        NameLookup.addresses(of: host, port: port, isPassive: true, on: loop) {
          candidates += $0 ?? []
        }
      }
      return core.value.listen(at: candidates, .tcp(host: "localhost", port: port), place: nil)
    }
    let error = #expect(throws: RadioServerError.self) { try result.get() }
    #expect(error?.description.contains("another program listens there") == true)
    await other.close()
    await server.close()
  }

  @Test("a server that ends leaves the socket of another one that took its path")
  func successor() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    let first = try await Self.start([.unix(path: path)])
    try FileManager.default.removeItem(atPath: path)
    let second = try await Self.start([.unix(path: path)])
    await first.close()
    #expect(FileManager.default.fileExists(atPath: path))
    let host = await TransportHarness(RadioChoice.unix(path: path))
    #expect(await host.next() == .opened)
    host.close()
    await second.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("a socket that a dead server left behind is taken over, a live one is not")
  func staleSocket() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    try #require(bound == 0)
    close(descriptor)
    #expect(FileManager.default.fileExists(atPath: path))
    let server = try await Self.start([.unix(path: path)])
    let error = await #expect(throws: RadioServerError.self) {
      try await Self.start([.unix(path: path)])
    }
    #expect(error?.description.contains("another program listens there") == true)
    await server.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}

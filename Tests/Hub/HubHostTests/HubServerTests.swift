import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import EventLoop
import ForkedProcesses
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("A hub on a socket", .timeLimit(.minutes(5)))
struct HubServerTests {
  private let folder: String
  private var path: String { folder + "/hub" }

  init() throws {
    SimulatedRadio.install()
    var template = Array(("/tmp/ambit-hub-" + String(repeating: "X", count: 6)).utf8CString)
    let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(name)
  }

  /// Runs a hub on a simulated radio, with what programs are reported.
  private func withHub(
    _ limits: HubLimits = HubLimits(),
    _ body: (HubServer, AsyncStream<HubReport>) async throws -> Void
  ) async throws {
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(
      at: .path(path), host, limits: limits, version: "1.2.3"
    ) {
      report.yield($0)
    }
    try await body(server, reports)
    await server.close()
    await host.close()
    #expect(access(path, F_OK) != 0, "the socket is removed")
    unlink(path + ".lock")
    rmdir(folder)
  }

  @Test("a program scans, connects, reads and is notified")
  func use() async throws {
    try await withHub { _, _ in
      let program = try await TestProgram.served("guide", at: path)
      let peer = try await program.subscribe()
      #expect(try await program.notification().count >= 2)
      guard
        case .services(let services) = try await program.ask({
          .gatt(peer, .discoverServices(nil), $0)
        }),
        let range = services.first(where: { $0.uuid == BluetoothUUID(0x1800 as UInt16) })?.range,
        case .values(let values) = try await program.ask({
          .gatt(peer, .readByUUID(BluetoothUUID(0x2A00 as UInt16), in: range), $0)
        })
      else {
        Issue.record("no name was read")
        return
      }
      #expect(values.first?.value.isEmpty == false)
    }
  }

  @Test("a program that stops reading costs another one no notifications")
  func stopped() async throws {
    try await withHub { _, _ in
      let stopped = try await TestProgram.served("stopped", at: path)
      _ = try await stopped.subscribe()
      let reading = try await TestProgram.served("reading", at: path)
      _ = try await reading.subscribe()
      await stopped.setReading(false)
      for _ in 0..<4 { _ = try await reading.notification() }
    }
  }

  @Test("the links of a program that is gone end, and those of others stay")
  func killed() async throws {
    try await withHub { server, reports in
      let killed = try await TestProgram.served("killed", at: path)
      _ = try await killed.subscribe()
      let other = try await TestProgram.served("other", at: path)
      _ = try await other.first { $0 == .stateChanged(.poweredOn) ? () : nil }
      await killed.close()
      for await report in reports {
        if case .closed(_, app: "killed", nil) = report { break }
      }
      try await other.first { event -> Void? in
        if case .linkClosed = event { () } else { nil }
      }
      #expect(await server.counts().sessionCount == 1)
    }
  }

  @Test(
    "a program that is killed is gone, although a child of it has its socket, too",
    .enabled(if: pinsPeers, "Linux 6.5 is needed"))
  func forked() async throws {
    try await withHub { server, reports in
      var writer = HubFrameWriter()
      try writer.append(AppMessage.greeting(HubGreeting(app: "forked", abilities: .bluetooth)))
      let forked = try ForkedProgram(sending: writer.takeBytes(), to: path)
      for await report in reports {
        if case .opened(_, app: "forked", _) = report { break }
      }
      #expect(await server.counts().connectionCount == 1)
      forked.killParent()
      for await report in reports {
        if case .closed(_, app: "forked", nil) = report { break }
      }
      #expect(forked.hasChild)
      forked.endChild()
    }
  }

  @Test("ten thousand messages of one program hold up none of another one")
  func burst() async throws {
    try await withHub { _, _ in
      let busy = try await TestProgram.served("busy", at: path)
      let other = try await TestProgram.served("other", at: path)
      try await TestProgram.ping((busy, 10_000), (other, 1))
      let answered = try await other.pong()
      var last = answered
      for _ in 0..<10_000 { last = try await busy.pong() }
      #expect(answered < last)
    }
  }

  @Test("garbage ends the connection with a reason, and other programs go on")
  func garbage() async throws {
    try await withHub { _, _ in
      let other = try await TestProgram.served("other", at: path)
      let hostile = try await TestProgram(at: path)
      await hostile.write([UInt8](repeating: 0xFF, count: 100_000))
      #expect(await hostile.refusal()?.reason == .invalidMessage)
      #expect(try await other.ask { .barrier($0) } == .done)
    }
  }

  @Test("ten thousand connections beyond the limit are refused, while a program is served")
  func crowd() async throws {
    var limits = HubLimits()
    limits.connectionCountPerProcessMax = 2
    try await withHub(limits) { server, _ in
      let served = try await TestProgram.served("served", at: path)
      let second = try await TestProgram.served("second", at: path)
      for _ in 0..<10_000 {
        let refused = try await TestProgram(at: path)
        #expect(await refused.refusal()?.reason == .limitReached)
      }
      #expect(try await served.ask { .barrier($0) } == .done)
      #expect(await server.counts().refusedCount == 10_000)
      await second.close()
    }
  }

  @Test("a second hub at the path of one that runs is refused with a sentence")
  func twice() async throws {
    try await withHub { _, _ in
      let host = try BluetoothHost(radio: .standard)
      await #expect {
        _ = try await HubServer.start(at: .path(path), host)
      } throws: { error in
        guard let error = error as? HubServerError else { return false }
        return error.kind == .isTaken && error.description == "Another hub runs at \(path)."
      }
      await host.close()
      let program = try await TestProgram.served("guide", at: path)
      #expect(try await program.ask { .barrier($0) } == .done)
    }
  }

  @Test("the socket of a hub that was killed is replaced")
  func stale() async throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    close(descriptor)
    try await withHub { _, _ in
      let program = try await TestProgram.served("guide", at: path)
      #expect(try await program.ask { .barrier($0) } == .done)
    }
  }

  @Test("a file that is no socket is kept, and no hub starts there")
  func file() async throws {
    let descriptor = creat(path, 0o600)
    try #require(descriptor >= 0)
    close(descriptor)
    let host = try BluetoothHost(radio: .standard)
    await #expect {
      _ = try await HubServer.start(at: .path(path), host)
    } throws: { ($0 as? HubServerError)?.kind == .failed }
    #expect(access(path, F_OK) == 0)
    await host.close()
    unlink(path)
    unlink(path + ".lock")
    rmdir(folder)
  }

  @Test("the state of a hub has each program with what it holds, and links with all their users")
  func status() async throws {
    try await withHub { _, _ in
      let guide = try await TestProgram.served("guide", at: path)
      let peer = try await guide.subscribe()
      let other = try await TestProgram.served("other", at: path)
      try await other.send(.startScan(ScanOptions()))
      try await other.send(.connect(peer, ConnectOptions()))
      try await other.first { $0 == .connected(peer) ? () : nil }
      let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
      _ = try await other.ask { .addService(service, $0) }
      var advertising = AdvertisingOptions()
      advertising.data = [2, 1, 6]
      let started = try await other.ask { [advertising] in .startAdvertising(advertising, $0) }
      #expect(started == .done)
      let status = try await TestProgram.served("status", at: path).status()
      try #require(status.programs.map(\.app) == ["guide", "other"])
      let (first, second) = (status.programs[0], status.programs[1])
      #expect(first.linkCount == 1 && first.subscriptionCount == 1 && first.serviceCount == 0)
      #expect(first.scanCount == 0 && first.advertisementCount == 0)
      #expect(second.linkCount == 1 && second.subscriptionCount == 0 && second.serviceCount == 1)
      #expect(second.scanCount == 1 && second.advertisementCount == 1)
      #expect(status.programs.allSatisfy { $0.userID == geteuid() && $0.processID == getpid() })
      let link = try #require(status.links.first)
      #expect(status.links.count == 1 && link.peer == peer.description && link.stage == "open")
      #expect(link.users == [first.connection, second.connection] && link.role == .central)
      #expect(status.radio.state == .poweredOn && status.radio.isSimulated)
      #expect(status.radio.problem == nil && status.uptime > .zero)
      #expect(status.version == "1.2.3" && status.processID == getpid())
    }
  }

  @Test(
    "programs with the same service that end together have their own handles when they are back")
  func handles() async throws {
    try await withHub { server, reports in
      let lamp = try await TestProgram.served("lamp", at: path)
      let range = try await lamp.publishBattery()
      let strap = try await TestProgram.served("strap", at: path)
      let other = try await strap.publishBattery()
      #expect(range != other)
      await lamp.close()
      await strap.close()
      var closedCount = 0
      for await case .closed in reports {
        closedCount += 1
        if closedCount == 2 { break }
      }
      let secondStrap = try await TestProgram.served("strap", at: path)
      #expect(try await secondStrap.publishBattery() == other)
      let secondLamp = try await TestProgram.served("lamp", at: path)
      #expect(try await secondLamp.publishBattery() == range)
      withExtendedLifetime((secondStrap, secondLamp)) {}
    }
  }

  @Test("a program that asks for the state again and again holds up no other")
  func questions() async throws {
    try await withHub { _, _ in
      let asker = try await TestProgram.served("asker", at: path)
      for number in 1...10_000 as ClosedRange<UInt64> { try await asker.send(.status(number)) }
      let other = try await TestProgram.served("other", at: path)
      #expect(try await other.ask { .barrier($0) } == .done)
      #expect(try await asker.status(20_000).programs.map(\.app) == ["other"])
    }
  }

  @Test("others than the user can't open the socket, from its beginning")
  func permissions() async throws {
    try await withHub { _, _ in
      var information = stat()
      #expect(lstat(path, &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600)
    }
  }

  @Test("programs of a hub that ends get the reason, and their connections end")
  func end() async throws {
    let host = try BluetoothHost(radio: .standard)
    let server = try await HubServer.start(at: .path(path), host)
    let program = try await TestProgram.served("guide", at: path)
    await server.close()
    #expect(await program.refusal()?.reason == .ending)
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }
}

/// Whether the kernel gives a descriptor of a socket's peer.
private let pinsPeers: Bool = {
  var ends: [Int32] = [-1, -1]
  guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return false }
  defer { for end in ends { close(end) } }
  return PinnedPeer(of: ends[0]) != nil
}()

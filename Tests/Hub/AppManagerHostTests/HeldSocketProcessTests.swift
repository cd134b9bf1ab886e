import AppMachines
import AppSessions
import Essentials
import EventLoop
import Foundation
import Glibc
import Synchronization
import Testing

@testable import AppManagerHost

/// Sockets of real processes that outlive the app's attention: the example `Standby`, over the loopback interface.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct HeldSocketProcessTests {
  private static let id = "com.example.standby"

  /// A manager with the app installed and opened, and its connection.
  private func start(
    limits: AppLimits = TestManager.limits, descriptors: DescriptorStore = .none,
    times: HeldSocketTimes = HeldSocketTimes(), program: String = "standby", word: String = ""
  ) async throws -> (TestManager, TestServer, TestConnection) {
    let manager = try await TestManager.start(
      limits: limits, socketTimes: times, descriptors: descriptors)
    let server = try TestServer()
    try await manager.perform(
      .install(folder: manager.makeStandby(port: server.port, program: program, word: word)))
    try await manager.perform(.open(Self.id, attaches: false))
    let connection = try await server.accept()
    try await manager.until(Self.id) { $0.heldSockets?.count == 1 }
    return (manager, server, connection)
  }

  private func suspend(_ manager: TestManager) async throws -> Int32 {
    try await manager.perform(.background(Self.id))
    let app = try await manager.until(Self.id) { $0.state == .suspended }
    return try #require(app.processID)
  }

  private func terminate(_ manager: TestManager) async throws {
    #expect(try await manager.perform(.terminate(Self.id)) == .done)
    try await manager.until(Self.id) { $0.state == .notRunning }
  }

  private func line(_ text: String, _ manager: TestManager) async throws {
    try await manager.untilLines(of: Self.id) { $0.contains(text) }
  }

  @Test func `A byte wakes a frozen app, which is frozen again afterwards`() async throws {
    let (manager, _, connection) = try await start()
    let process = try await suspend(manager)
    #expect(ProcessTable.isStopped(process))
    for number in 1...3 {
      connection.send("hello \(number)\n")
      try await line("message: hello \(number)", manager)
      let app = try await manager.until(Self.id) { $0.state == .suspended }
      #expect(app.processID == process)
      #expect(app.counts.reasonCounts == [.socket: number])
    }
    #expect(try await manager.app(Self.id).heldSockets?.first?.wakeCount == 3)
    await manager.close()
  }

  @Test func `A terminated app is launched by a message, and reads every byte of it`() async throws
  {
    let (manager, _, connection) = try await start()
    connection.send("one\n")
    try await line("message: one", manager)
    _ = try await suspend(manager)
    try await terminate(manager)
    #expect(connection.isOpen)
    let text = String(repeating: "x", count: 9_000)
    connection.send("\(text)\n")
    try await line("connected (restored)", manager)
    try await manager.untilLines(of: Self.id) { lines in
      lines.reduce(0) { $0 + $1.count { $0 == "x" } } == text.count
    }
    let app = try await manager.until(Self.id) { $0.state == .suspended }
    #expect(app.counts.launchCount == 2 && app.counts.crashCount == 0)
    connection.send("two\n")
    try await line("message: two", manager)
    await manager.close()
  }

  @Test func `The peer of an app that was force-quit learns of it at once`() async throws {
    let (manager, _, connection) = try await start()
    _ = try await suspend(manager)
    try await manager.perform(.forceQuit(Self.id))
    #expect(await connection.receive().isEmpty)
    let app = try await manager.until(Self.id) { $0.state == .notRunning }
    #expect(app.heldSockets == [])
    await manager.close()
  }

  @Test
  func
    `The peer of an app that crashed in the foreground learns of it, and one of the background does not`()
    async throws
  {
    let (manager, server, first) = try await start()
    let process = try #require(try await manager.app(Self.id).processID)
    kill(process, SIGKILL)
    #expect(await first.receive().isEmpty)
    // The mode lets it start by itself.
    let second = try await server.accept()
    try await manager.until(Self.id) { $0.heldSockets?.count == 1 && $0.state == .suspended }
    let next = try #require(try await manager.app(Self.id).processID)
    kill(next, SIGKILL)
    try await manager.until(Self.id) { $0.counts.crashCount == 2 }
    #expect(second.isOpen)
    second.send("still there\n")
    try await line("message: still there", manager)
    await manager.close()
  }

  @Test func `A peer that goes wakes the app, which connects again while it is in the background`()
    async throws
  {
    let (manager, server, connection) = try await start()
    _ = try await suspend(manager)
    shutdown(connection.descriptor, Int32(SHUT_RDWR))
    let next = try await server.accept()
    try await line("the line has ended", manager)
    try await manager.until(Self.id) { $0.state == .suspended && $0.heldSockets?.count == 1 }
    next.send("again\n")
    try await line("message: again", manager)
    await manager.close()
  }

  @Test func `An app whose keys have ended with its process learns which connection it had`()
    async throws
  {
    let (manager, server, first) = try await start(program: "held-streams", word: "keys")
    try await line("holding held", manager)
    _ = try await suspend(manager)
    try await terminate(manager)
    first.send("encrypted")
    let second = try await server.accept()
    #expect(await first.receive().isEmpty)
    try await line("holding replaces(peer: \"127.0.0.1:\(server.port)\")", manager)
    let app = try await manager.until(Self.id) { $0.state == .suspended }
    #expect(app.heldSockets?.count == 1 && app.counts.launchCount == 2)
    #expect(second.isOpen)
    await manager.close()
  }

  @Test func `An app that handles messages in tasks is not suspended before it requests more`()
    async throws
  {
    let (manager, _, connection) = try await start(program: "held-streams", word: "tasks")
    _ = try await suspend(manager)
    for number in 1...2 {
      connection.send("\(number)")
      try await line("handled \(number)", manager)
      let app = try await manager.until(Self.id) { $0.state == .suspended }
      #expect(app.counts.reasonCounts == [.socket: number])
    }
    await manager.close()
  }

  @Test func `An app whose server does not answer is suspended when its time is over`() async throws
  {
    var limits = TestManager.limits
    // The notice comes soon, and the process has long to end its task: one that doesn't in time is ended.
    limits.backgroundTaskTime = .seconds(120)
    limits.expirationNotice = .milliseconds(119_700)
    let manager = try await TestManager.start(limits: limits)
    let server = try TestServer(waitingMax: 0)
    let other = try server.connect()
    defer { close(other) }
    try await manager.perform(
      .install(
        folder: manager.makeStandby(port: server.port, program: "held-streams", word: "tasks"))
    )
    try await manager.perform(.open(Self.id, attaches: false))
    try await manager.until(Self.id) { $0.state == .active }
    try await manager.perform(.background(Self.id))
    let app = try await manager.until(Self.id) { $0.state == .suspended }
    #expect(app.counts.launchCount == 1 && app.counts.crashCount == 0)
    await manager.close()
  }

  @Test(.enabled(if: TestConnection.canVanish, "a peer can't vanish without a sign here"))
  func `A peer that vanishes without a sign is noticed, and the suspended app connects again`()
    async throws
  {
    var times = HeldSocketTimes()
    times.idleSeconds = 1
    times.probeSeconds = 1
    let (manager, server, connection) = try await start(times: times)
    _ = try await suspend(manager)
    try #require(connection.vanish())
    let next = try await server.accept()
    try await manager.until(Self.id) { $0.state == .suspended && $0.heldSockets?.count == 1 }
    next.send("again\n")
    try await line("message: again", manager)
    await manager.close()
  }

  @Test func `A peer that floods is held up by flow control, and other commands are answered`()
    async throws
  {
    var limits = TestManager.limits
    limits.eventTime = .milliseconds(300)
    limits.throttleTime = .seconds(60)
    let (manager, _, connection) = try await start(limits: limits)
    _ = try await suspend(manager)
    _ = await TestServer.onThread { connection.flood() }
    try await manager.until(Self.id) { $0.counts.overstayCount == 1 && $0.state == .suspended }
    // Now nothing is read, until the connection takes no more. How often the app was woken before depends on how far the
    // flood was ahead of it.
    let wakeCount = try await manager.app(Self.id).counts.wakeCount
    _ = await TestServer.onThread { connection.flood() }
    let app = try await manager.app(Self.id)
    #expect(app.counts.wakeCount == wakeCount)
    #expect(app.waitingCount <= 1)
    await manager.close()
  }

  @Test func `The end of the manager closes the held sockets`() async throws {
    let (manager, _, connection) = try await start()
    _ = try await suspend(manager)
    try await terminate(manager)
    #expect(connection.isOpen)
    await manager.close()
    #expect(await connection.receive().isEmpty)
  }

  @Test
  func `Streams with the service type of VoIP are held, and a later process gets their bytes`()
    async throws
  {
    let (manager, _, connection) = try await start(program: "held-streams")
    _ = try await suspend(manager)
    connection.send("abc")
    try await line("byte 99", manager)
    try await manager.until(Self.id) { $0.state == .suspended }
    try await terminate(manager)
    connection.send("def")
    try await line("byte 102", manager)
    let bytes = try await manager.lines(of: Self.id).filter { $0.hasPrefix("byte") }
    #expect(bytes == (97...102).map { "byte \($0)" })
    await manager.close()
  }

  @Test(arguments: [true, false])
  func `Held sockets outlive a restart of the manager if the service manager keeps them`(
    _ isListKept: Bool
  ) async throws {
    let folder = try TestManager.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let service = try TestServiceManager(at: folder + "/notify")
    let (manager, _, connection) = try await start(
      descriptors: DescriptorStore(notifySocket: service.path))
    let name = try await service.receive()
    #expect(name == "held-1")
    _ = try await suspend(manager)
    await manager.server.close()
    #expect(connection.isOpen)
    if !isListKept {
      try FileManager.default.removeItem(
        atPath: AppManagerPlace.sockets(beside: manager.path) + ".json")
    }
    connection.send("hello\n")
    let next = try await TestManager.start(
      after: manager,
      descriptors: DescriptorStore(notifySocket: service.path, inherited: service.take()))
    if isListKept {
      try await line("connected (restored)", next)
      try await line("message: hello", next)
    } else {
      // A socket that is no app's has no owner: its peer learns that.
      #expect(await connection.receive().isEmpty)
      #expect(try await service.receiveRemoval() == "held-1")
    }
    await next.close()
  }

  @Test func `Held sockets are kept while their list can't be read, and go on afterwards`()
    async throws
  {
    let folder = try TestManager.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let service = try TestServiceManager(at: folder + "/notify")
    let (manager, _, connection) = try await start(
      descriptors: DescriptorStore(notifySocket: service.path))
    #expect(try await service.receive() == "held-1")
    _ = try await suspend(manager)
    await manager.server.close()
    let list = AppManagerPlace.sockets(beside: manager.path) + ".json"
    chmod(list, 0o640)
    connection.send("hello\n")
    let descriptors = DescriptorStore(notifySocket: service.path, inherited: service.take())
    for _ in 1...2 {
      // The service manager starts it again, with the same descriptors.
      let refusal = await #expect(throws: AppManagerServerError.self) {
        try await TestManager.start(after: manager, descriptors: descriptors)
      }
      #expect(refusal?.sentence.contains("the list of held sockets") == true)
      #expect(connection.isOpen)
    }
    chmod(list, 0o600)
    let next = try await TestManager.start(after: manager, descriptors: descriptors)
    try await line("connected (restored)", next)
    try await line("message: hello", next)
    await next.close()
  }

  @Test func `A list of held sockets that could not be written is written later`() async throws {
    var times = HeldSocketTimes()
    times.listRetry = .milliseconds(20)
    let folder = try TestManager.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let service = try TestServiceManager(at: folder + "/notify")
    let manager = try await TestManager.start(
      socketTimes: times, descriptors: DescriptorStore(notifySocket: service.path))
    let list = AppManagerPlace.sockets(beside: manager.path) + ".json"
    try FileManager.default.createDirectory(atPath: list, withIntermediateDirectories: false)
    let server = try TestServer()
    try await manager.perform(.install(folder: manager.makeStandby(port: server.port)))
    try await manager.perform(.open(Self.id, attaches: false))
    _ = try await server.accept()
    try await manager.untilReport { $0.contains("the list of held sockets can't be written") }
    try FileManager.default.removeItem(atPath: list)
    try await manager.untilReport { $0 == "the list of held sockets was written" }
    let text = try String(contentsOfFile: list, encoding: .utf8)
    #expect(text.contains(Self.id))
    await manager.close()
  }

  @Test func `A descriptor that is no TCP connection, and a process that is no app, are refused`()
    async throws
  {
    let manager = try await TestManager.start()
    let server = try TestServer()
    let descriptor = try server.connect()
    defer { close(descriptor) }
    let path = AppManagerPlace.sockets(beside: manager.path)
    let hold = HeldSocketRequest.hold(version: 1, identifier: "chat", isPlain: true)
    #expect(
      try await reply(at: path, AppFrame.bytes(of: hold), descriptor) == .refused(.unavailable))
    let unknown = AppFrame.bytes(of: ["fold": ["version": 2]])
    #expect(try await reply(at: path, unknown, nil) == .refused(.unavailable))
    let null = open("/dev/null", O_RDONLY)
    defer { close(null) }
    #expect(!TCPSocketOptions.isConnected(null))
    #expect(TCPSocketOptions.isConnected(descriptor))
    await manager.close()
  }

  @Test func `A request that comes byte by byte, with a descriptor beside each, is answered once`()
    async throws
  {
    let manager = try await TestManager.start()
    let server = try TestServer()
    let descriptor = try server.connect()
    defer { close(descriptor) }
    let client = try UNIXClient(AppManagerPlace.sockets(beside: manager.path))
    for byte in AppFrame.bytes(of: HeldSocketRequest.take(version: 1, identifier: "chat")) {
      #expect(DescriptorMessage.send([byte], with: descriptor, on: client.descriptor))
    }
    let part = await TestServer.onThread {
      DescriptorMessage.receive(4_096, from: client.descriptor)
    }
    var reader = AppFrame.Reader()
    reader.append(try #require(part).bytes)
    #expect(try reader.next(HeldSocketReply.self) == .refused(.unavailable))
    let end = await TestServer.onThread {
      DescriptorMessage.receive(4_096, from: client.descriptor)
    }
    #expect(end?.bytes == [])
    await manager.close()
  }

  private func reply(
    at path: String, _ bytes: [UInt8], _ descriptor: Int32?
  ) async throws -> HeldSocketReply? {
    let client = try UNIXClient(path)
    #expect(DescriptorMessage.send(bytes, with: descriptor, on: client.descriptor))
    let part = await TestServer.onThread {
      DescriptorMessage.receive(4_096, from: client.descriptor)
    }
    var reader = AppFrame.Reader()
    reader.append(try #require(part).bytes)
    return try reader.next(HeldSocketReply.self)
  }
}

/// A connection with a UNIX socket.
final class UNIXClient: Sendable {
  let descriptor: Int32

  init(_ path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    let address = try #require(SocketAddress(path: path))
    let status = address.with { Glibc.connect(descriptor, $0, $1) }
    try #require(status == 0)
  }

  deinit { close(descriptor) }
}

/// A service manager with a descriptor store.
final class TestServiceManager: Sendable {
  let path: String
  private let descriptor: Int32
  private let stored = Mutex<[String: Int32]>([:])

  init(at path: String) throws {
    self.path = path
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    let address = try #require(SocketAddress(path: path))
    let status = address.with { bind(descriptor, $0, $1) }
    try #require(status == 0)
  }

  deinit {
    for descriptor in stored.withLock({ $0 }).values { close(descriptor) }
    close(descriptor)
  }

  /// Waits for a descriptor, and returns its name.
  func receive() async throws -> String {
    let descriptor = descriptor
    let part = await TestServer.onThread { DescriptorMessage.receive(4_096, from: descriptor) }
    let (bytes, descriptors, _) = try #require(part)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    try #require(lines.first == "FDSTORE=1" && lines.contains("FDPOLL=0"))
    let name = try #require(lines.first { $0.hasPrefix("FDNAME=") }).dropFirst(7)
    stored.withLock { $0[String(name)] = descriptors.first }
    return String(name)
  }

  /// Waits for the removal of a descriptor, and returns its name.
  func receiveRemoval() async throws -> String {
    let descriptor = descriptor
    let part = await TestServer.onThread { DescriptorMessage.receive(4_096, from: descriptor) }
    let text = String(decoding: try #require(part).bytes, as: UTF8.self)
    let start = "FDSTOREREMOVE=1\nFDNAME="
    try #require(text.hasPrefix(start), "\(text)")
    return String(text.dropFirst(start.count))
  }

  /// Its descriptors, for the next manager.
  func take() -> [String: Int32] {
    stored.withLock { stored in
      defer { stored = [:] }
      return stored
    }
  }
}

extension TestManager {
  /// The folder of the example that holds a socket, with the program of this build.
  func makeStandby(
    port: UInt16, program name: String = "standby", word: String = ""
  ) throws -> String {
    let place = folder + "/Standby"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).resolvingSymlinksInPath()
    try FileManager.default.createSymbolicLink(
      atPath: place + "/standby", withDestinationPath: program.path)
    try "127.0.0.1 \(port) \(word)\n".write(
      toFile: place + "/server", atomically: true, encoding: .utf8)
    try Self.writePlist(
      [
        "CFBundleIdentifier": "com.example.standby", "CFBundleExecutable": "standby",
        "UIBackgroundModes": ["voip"],
      ], in: place)
    return place
  }
}

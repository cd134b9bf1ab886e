import BluetoothHost
import BluetoothInterface
import Dispatch
import Essentials
import EventLoop
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("A hub that was frozen", .timeLimit(.minutes(5)))
struct FrozenHubTests {
  private let folder: String
  private var path: String { folder + "/hub" }

  init() throws {
    SimulatedRadio.install()
    var template = Array(("/tmp/ambit-frozen-" + String(repeating: "X", count: 6)).utf8CString)
    let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(name)
  }

  /// Connects and greets without waiting for an answer; returns the socket.
  private func greet(_ app: String) throws -> Int32 {
    let descriptor = try connected()
    let bytes = try Self.greeting(of: app)
    try #require(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
    return descriptor
  }

  private func connected() throws -> Int32 {
    let address = try #require(SocketAddress(path: path))
    let descriptor = try address.makeSocket()
    try #require(address.with { unsafe connect(descriptor, $0, $1) } == 0)
    return descriptor
  }

  private static func greeting(of app: String) throws -> [UInt8] {
    var writer = HubFrameWriter()
    try writer.append(AppMessage.greeting(HubGreeting(app: app, abilities: .bluetooth)))
    return writer.takeBytes()
  }

  @Test("programs that have left a frozen hub are not served when it goes on")
  func left() async throws {
    let loop = EpollLoop()
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), host, on: loop) { report.yield($0) }
    let freeze = DispatchSemaphore(value: 0)
    defer { freeze.signal() }
    // The loop accepts nothing from here on; before its work it would handle connections that are ready.
    await withCheckedContinuation { continuation in
      loop.execute {
        continuation.resume()
        freeze.wait()
      }
    }
    // A program that tries again every six seconds does so in a minute.
    for _ in 0..<10 { close(try greet("gone")) }
    let staying = try greet("staying")
    freeze.signal()
    var served: [String] = []
    for await case .opened(_, let app, _) in reports {
      served.append(app)
      if app == "staying" { break }
    }
    #expect(served == ["staying"])
    #expect(await server.counts().connectionCount == 1)
    close(staying)
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }

  /// Whether the hub has refused a program that has not greeted.
  private static func hasAnswer(_ socket: Int32) -> Bool {
    var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) != 0
  }

  @Test("a hub that goes on after the time of a greeting reads the greeting that came meanwhile")
  func lateGreeting() async throws {
    let loop = EpollLoop()
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let greetingTime = TimeSpan.seconds(1)
    var limits = HubLimits()
    limits.greetingTime = greetingTime
    let server = try await HubServer.start(at: .path(path), host, limits: limits, on: loop) {
      report.yield($0)
    }
    let greeting = try Self.greeting(of: "patient")
    var sockets: [Int32] = []
    var isFrozen = false
    while !isFrozen {
      let socket = try connected()
      sockets.append(socket)
      while await server.counts().connectionCount == 0, !Self.hasAnswer(socket) {}
      // Another attempt where a busy machine kept the hub waiting for that second before it froze.
      isFrozen = await withCheckedContinuation { continuation in
        loop.execute {
          guard !Self.hasAnswer(socket) else { return continuation.resume(returning: false) }
          let count = unsafe write(socket, greeting, greeting.count)
          let end = Instant.now + greetingTime
          while Instant.now < end { usleep(10_000) }
          continuation.resume(returning: count == greeting.count)
        }
      }
    }
    for await case let report in reports {
      if case .opened(_, app: "patient", _) = report { break }
      if case .refused = report, await server.counts().connectionCount == 0 {
        Issue.record("the program was refused: \(report)")
        break
      }
    }
    for socket in sockets { close(socket) }
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }
}

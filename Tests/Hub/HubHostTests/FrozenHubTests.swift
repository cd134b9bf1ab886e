import BluetoothHost
import BluetoothInterface
import Dispatch
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
    let address = try #require(SocketAddress(path: path))
    let descriptor = try address.makeSocket()
    try #require(address.with { unsafe connect(descriptor, $0, $1) } == 0)
    var writer = HubFrameWriter()
    try writer.append(AppMessage.greeting(HubGreeting(app: app, abilities: .bluetooth)))
    let bytes = writer.takeBytes()
    try #require(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
    return descriptor
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
}

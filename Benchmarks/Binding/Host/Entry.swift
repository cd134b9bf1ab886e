import Binding
import BindingServer
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Reactive
import ServiceLifecycle

/// A server as a process of its own, so that its memory and its processor time can be measured:
/// `typing`, `desks`, `board DEVICES CHANGES`, `floor BYTES RATE`. Its commands and its output are
/// lines.
@main
struct Entry {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "typing": try await typing()
    case "desks":
      try await serve(site: site("index.html", Pages.typing)) {
        [Page("index.html") { TypingDesk() }]
      }
    case "board":
      let board = await DeviceBoard(count: Int(arguments[1]) ?? 0)
      change(board, perSecond: Int(arguments[2]) ?? 0)
      try await serve(site: site("index.html", Pages.devices)) {
        [Page("index.html", sharing: board)]
      }
    case "floor":
      try await floor(byteCount: Int(arguments[1]) ?? 0, perSecond: Double(arguments[2]) ?? 1)
    default: print("typing, desks, board or floor")
    }
  }

  private static func site(_ files: String...) -> Site {
    var all: [String: [UInt8]] = [:]
    for index in stride(from: 0, to: files.count, by: 2) {
      all[files[index]] = Array(files[index + 1].utf8)
    }
    return .files(all)
  }

  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  // MARK: Servers

  @MainActor
  private static func serve(
    site: Site, port: Int = 0, _ pages: @MainActor () -> [Page]
  ) async throws {
    let server = try await make(site: site, port: port, pages)
    try await server.runService { say("listening \($0)") }
  }

  @MainActor
  private static func make(
    site: Site, port: Int, _ pages: @MainActor () -> [Page]
  ) async throws -> PageServer {
    var configuration = PageServer.Configuration()
    configuration.port = port
    return try await PageServer(site: site, pages: pages(), configuration: configuration)
  }

  /// Serves the typing page; `restart` replaces the server by a new one on the same port. Prints
  /// the time until the page has sent its text again.
  @MainActor
  private static func typing() async throws {
    let files = site("index.html", Pages.typing, "typing.js", Pages.typingScript)
    let (commands, input) = AsyncStream<String>.makeStream()
    Thread.detachNewThread {
      while let line = readLine() { input.yield(line) }
      input.finish()
    }
    var port = 0
    var iterator = commands.makeAsyncIterator()
    repeat {
      let start = MutableProperty<ContinuousClock.Instant?>(nil)
      let server = try await make(site: files, port: port) {
        [
          Page("index.html") {
            let desk = TypingDesk()
            desk.report.signal.observeValues { say("report \($0)") }
            desk.text.signal.take(first: 1).observeValues { _ in
              guard let start = start.value else { return }
              say("typed \((ContinuousClock.now - start) / .milliseconds(1))")
            }
            return desk
          }
        ]
      }
      let group = ServiceGroup(services: [server], logger: Logger(label: "host"))
      let running = Task { try await group.run() }
      port = try await listening(server, from: port)
      start.value = ContinuousClock.now
      say("listening http://127.0.0.1:\(port)/")
      guard await iterator.next() == "restart" else { exit(0) }
      await group.triggerGracefulShutdown()
      _ = try? await running.value
    } while true
  }

  /// Waits until the server has a port.
  @MainActor
  private static func listening(_ server: PageServer, from port: Int) async throws -> Int {
    while true {
      let address = server.makeAddress()
      if let found = URL(string: address)?.port, found != 0, port == 0 || isOpen(found) {
        return found
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  private static func isOpen(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Changes devices in turn, `count` changes in a second, on a thread of its own.
  @MainActor
  private static func change(_ board: DeviceBoard, perSecond count: Int) {
    guard count > 0 else { return }
    let devices = board.devices
    Thread.detachNewThread {
      var number = 0
      while true {
        for _ in 0..<max(1, count / 100) {
          number += 1
          devices.modify { devices in
            let index = number % devices.count
            devices[index].strength = -40 - number % 50
            devices[index].age = number
          }
        }
        usleep(10_000)
      }
    }
  }

  // MARK: The floor

  /// A bare stream of hummingbird's, with events of `byteCount` bytes at a fixed rate to each
  /// client.
  private static func floor(byteCount: Int, perSecond: Double) async throws {
    let event = ByteBuffer(
      string: "data: " + String(repeating: "x", count: max(0, byteCount - 8)) + "\n\n")
    let server = Server(
      childChannelSetup: HTTP1Channel { _, writer, _ in
        var body = try await writer.writeHead(
          HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"]))
        try await body.write(ByteBuffer(string: "event: snap\ndata: 1\n\n"))
        let clock = ContinuousClock()
        var next = clock.now
        while true {
          next += .seconds(1 / perSecond)
          try await clock.sleep(until: next)
          try await body.write(event)
        }
      },
      configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0), backlog: 1_024),
      onServerRunning: { channel in
        say("listening http://127.0.0.1:\(channel.localAddress?.port ?? 0)/")
      }, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "floor"))
    try await server.run()
  }
}

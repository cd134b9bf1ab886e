import Essentials
import EventLoop
import Foundation
import Glibc
import Synchronization
import Testing

/// A TCP server of the loopback interface, driven by a test.
final class TestServer: Sendable {
  let port: UInt16
  private let listener: Int32

  /// - Parameter waitingMax: How many connections wait for ``accept()`` beside the first one. Linux answers no others.
  init(waitingMax: Int32 = 8) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    listener = descriptor
    let isListening = Self.loopback(0).with { bind(descriptor, $0, $1) } == 0
    try #require(isListening && listen(descriptor, waitingMax) == 0)
    port = try #require(SocketAddress(boundTo: descriptor)?.port)
  }

  deinit { close(listener) }

  private static func loopback(_ port: UInt16) -> SocketAddress {
    SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: port)
  }

  /// Waits for the next connection.
  func accept() async throws -> TestConnection {
    let listener = listener
    let descriptor = await Self.onThread { Glibc.accept(listener, nil, nil) }
    try #require(descriptor >= 0)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return TestConnection(descriptor)
  }

  /// A connection of this process with the server.
  func connect() throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let status = Self.loopback(port).with { Glibc.connect(descriptor, $0, $1) }
    try #require(status == 0)
    return descriptor
  }

  /// Runs a call that waits.
  static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }
}

/// The server's end of a connection.
final class TestConnection: Sendable {
  let descriptor: Int32
  private let isClosed = Atomic(false)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { if !isClosed.load(ordering: .relaxed) { close(descriptor) } }

  /// TCP_REPAIR, which Glibc's module does not have.
  private static let repairOption: Int32 = 19

  /// Whether this process may close a connection without a packet (CAP_NET_ADMIN).
  static let canVanish: Bool = {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    return setRepair(descriptor)
  }()

  private static func setRepair(_ descriptor: Int32) -> Bool {
    var value: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    return setsockopt(descriptor, Int32(IPPROTO_TCP), repairOption, &value, size) == 0
  }

  /// Closes it without a packet, as a machine does whose power fails. Returns whether the system lets it do so.
  func vanish() -> Bool {
    guard Self.setRepair(descriptor) else { return false }
    isClosed.store(true, ordering: .relaxed)
    return close(descriptor) == 0
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// Sends without end until the connection takes no more. Returns how much it took.
  func flood() -> Int {
    let bytes = [UInt8](repeating: UInt8(ascii: "\n"), count: 65_536)
    var sent = 0
    while true {
      let count = Glibc.send(
        descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if count <= 0 { return sent }
      sent += count
    }
  }

  /// Waits for bytes; empty at the end, and after a reset.
  func receive() async -> String {
    let descriptor = descriptor
    return await TestServer.onThread {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
  }

  /// Whether the app's side is open, as far as this one has heard.
  var isOpen: Bool {
    var byte: UInt8 = 0
    let flags = Int32(MSG_PEEK | MSG_DONTWAIT)
    let count = recv(descriptor, &byte, 1, flags)
    return count > 0 || count < 0 && errno == EAGAIN
  }
}

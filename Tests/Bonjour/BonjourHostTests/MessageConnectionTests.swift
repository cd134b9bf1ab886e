import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
import PortSharing
import Testing

@testable import BonjourHost

@Suite("Connections between an owner and its clients", .timeLimit(.minutes(5)))
struct SharingConnectionTests {
  @Test("waiting messages keep their order, and sent ones are released")
  func outgoing() {
    var (waiting, all) = (OutgoingBytes(), [UInt8]())
    var sent: [UInt8] = []
    func take(_ count: Int) {
      sent += unsafe waiting.withUnsafeBytes { unsafe Array($0.prefix(count)) }
      waiting.removeFirst(count)
    }
    for round in 0..<100 {
      let more = [UInt8](repeating: UInt8(round), count: 10_000)
      waiting.append(more)
      all += more
      take(100)
    }
    #expect(waiting.count == 990_000)
    while waiting.count > 100 {
      take(min(7_001, waiting.count - 100))
      #expect(waiting.capacity <= 4 * waiting.count + 1_000)
    }
    take(100)
    #expect(waiting.isEmpty && waiting.capacity == 0)
    #expect(sent == all)
  }

  private static func socketPair() throws -> (descriptor: Int32, peer: Peer) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &pair) == 0)
    return (pair[0], Peer(pair[1]))
  }

  @Test(
    "what the system doesn't take now, or takes a part of, is sent later, whole and in order",
    arguments: [EAGAIN, EINTR, ENOBUFS, ENOMEM])
  func shortage(_ error: Int32) async throws {
    let (descriptor, peer) = try Self.socketPair()
    let messages: [OwnerMessage] = [
      .welcome(version: 1), .report(.interfaces([InterfaceIndex(rawValue: 2): "eth0"])), .pong,
    ]
    let connection = try await EpollLoop.shared.make {
      var attemptCount = 0
      let connection = MessageConnection<ClientMessage>(
        descriptor, on: .shared,
        transmit: { descriptor, bytes in
          attemptCount += 1
          // Every other time nothing, in between a few bytes.
          guard attemptCount % 2 == 0 else {
            errno = error
            return -1
          }
          return unsafe send(descriptor, bytes.baseAddress, min(bytes.count, 16), 0)
        }, onEvent: { _, _ in })
      for message in messages { _ = connection?.send(message) }
      connection?.flush()
      return connection
    }
    let expected = messages.flatMap { $0.frame ?? [] }
    var received: [UInt8] = []
    while received.count < expected.count {
      let bytes = try await peer.read()
      try #require(!bytes.isEmpty, "the connection has ended")
      received += bytes
    }
    #expect(received == expected)
    try await EpollLoop.shared.run {
      #expect(connection.value?.isClosing == false && connection.value?.backlogByteCount == 0)
      connection.value?.close()
    }
  }

  @Test("a connection on which something was lost ends, so that nothing follows the gap")
  func lost() async throws {
    let (descriptor, peer) = try Self.socketPair()
    let loop = EpollLoop.shared
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    let connection = try await loop.make {
      let connection = MessageConnection<ClientMessage>(descriptor, on: loop) { _, event in
        if case .closed = event { continuation.finish() }
      }
      // Nothing can be sent any more, though the other end is there.
      shutdown(descriptor, Int32(SHUT_WR))
      _ = connection?.send(OwnerMessage.pong)
      connection?.flush()
      return connection
    }
    for await _ in ends {}
    try await loop.run { #expect(connection.value?.isClosing == true) }
    #expect(try await peer.read().isEmpty)
  }

  @Test("messages that arrive while one is handled can be read before any other work of the loop")
  func readNow() async throws {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &pair) == 0)
    let (descriptor, other) = (pair[0], pair[1])
    let ping = try #require(ClientMessage.ping.frame)
    let leaving = try #require(ClientMessage.leaving.frame)
    let loop = EpollLoop.shared
    let (steps, continuation) = AsyncStream.makeStream(of: String.self)
    let connection = try await loop.make {
      MessageConnection<ClientMessage>(descriptor, on: loop) { connection, event in
        switch event {
        case .message(.ping):
          continuation.yield("ping")
          loop.execute { continuation.yield("other work") }
          _ = unsafe write(other, leaving, leaving.count)
          connection.readNow(withinMessages: true)
          continuation.yield("handled")
        case .message(.leaving): continuation.yield("leaving")
        default: break
        }
      }
    }
    _ = unsafe write(other, ping, ping.count)
    var order: [String] = []
    for await step in steps.prefix(4) { order.append(step) }
    #expect(order == ["ping", "leaving", "handled", "other work"])
    try await loop.run { connection.value?.close() }
    close(other)
  }

  @Test("G12: a client that does not read gets no more than may wait, within one batch too")
  func batch() async throws {
    let path = "/tmp/ambit-test-\(UInt64.random(in: 0 ... .max))"
    let address = try #require(OwnerSocketAddress(path: path))
    let listener = try address.bindAndListen()
    defer { unlink(path) }
    let loop = EpollLoop.shared
    let (events, continuation) = AsyncStream.makeStream(of: OwnerMachine.Event.self)
    let server = try await loop.make {
      let server = OwnerServer(
        on: loop, admits: { _, _ in BonjourAdmission() }, log: nil, onRefusal: { _ in },
        onEvent: { continuation.yield($0) })
      server.start([BonjourSocket(descriptor: listener)])
      return server
    }
    let trust = OwnerMachine.Trust(userID: geteuid())
    let peer = Peer(try #require(address.connect(trust: trust).descriptor))
    var iterator = events.makeAsyncIterator()
    guard case .connected(let id, _, _)? = await iterator.next() else {
      Issue.record("Nobody came.")
      return
    }
    let names = Dictionary(
      uniqueKeysWithValues: (0..<4_000).map { (InterfaceIndex(rawValue: $0), "interface") })
    let message = OwnerMessage.report(.interfaces(names))
    let byteCount = try #require(message.frame).count
    try await loop.run {
      let limit = OwnerServer.Limits.backlogByteCountMax
      for _ in 0..<(limit / byteCount * 3) {
        server.value.send(message, to: id)
        #expect(server.value.backlogByteCount <= limit + byteCount)
      }
      server.value.flush()
      #expect(server.value.backlogByteCount == 0)
    }
    #expect(await iterator.next() == .disconnected(id))
    try await loop.run { server.value.stop() }
    withExtendedLifetime(peer) {}
  }
}

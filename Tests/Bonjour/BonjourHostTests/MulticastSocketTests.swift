import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
import Testing

@testable import BonjourHost

/// Serialized: a packet sent to one socket of a port may be received by another.
@Suite("Sockets of Multicast DNS", .serialized, .timeLimit(.minutes(5)))
struct MulticastSocketTests {
  /// Not 5353, where others may be heard, nor the one of another run.
  private static let port = 20_000 + UInt16(truncatingIfNeeded: getpid() % 10_000)

  /// Links that carry the group here: IPv4 on the interface that every machine has, and all others.
  private static func links() async throws -> [(MulticastLink, InetAddress)] {
    let (lists, continuation) = AsyncStream.makeStream(of: [SystemInterface].self)
    let loop = EpollLoop.shared
    let monitor = try await loop.make {
      let monitor = InterfaceMonitor(on: loop) { continuation.yield($0) }
      monitor.start()
      return monitor
    }
    let first = await lists.first { _ in true }
    try await loop.run { monitor.value.stop() }
    let interfaces = try #require(first)
    let loopback = try #require(interfaces.first { $0.flags.contains([.loopback, .up]) })
    return ([loopback] + interfaces.filter(\.isSuitable)).flatMap { interface in
      interface.forDiscovery.links.compactMap { link in
        interface.usableAddress(link.version).map { (link, $0) }
      }
    }
  }

  private struct Heard: Equatable, Sendable {
    var text: String
    var link: MulticastLink
    var sourcePort: UInt16
    var isMulticast: Bool
  }

  /// Opens a socket, sends to the group and then to whom it heard there, itself, and gives what it
  /// heard.
  private static func converse(
    on link: MulticastLink, from source: InetAddress, port: UInt16
  ) async throws -> (group: Heard, alone: Heard) {
    let loop = EpollLoop.shared
    let (events, continuation) = AsyncStream.makeStream(of: (Heard, Endpoint).self)
    let socket = try await loop.make {
      try MulticastSocket(link, from: source, port: port, on: loop, DatagramReader()) { datagram in
        let heard = Heard(
          text: String(decoding: datagram.bytes, as: UTF8.self), link: datagram.link,
          sourcePort: datagram.source.port, isMulticast: datagram.isMulticast)
        continuation.yield((heard, datagram.source))
      }
    }
    var iterator = events.makeAsyncIterator()
    try await loop.run { socket.value.send(OutgoingPacket(Array("who".utf8), on: link)) }
    let (group, source) = try #require(await iterator.next())
    try await loop.run {
      socket.value.send(OutgoingPacket(Array("you".utf8), on: link, to: .unicast(source)))
    }
    let (alone, _) = try #require(await iterator.next())
    await withCheckedContinuation { continuation in
      loop.execute {
        socket.value.closeWhenSent(within: .seconds(30)) { continuation.resume() }
      }
    }
    return (group, alone)
  }

  @Test("the group is received on its link, and so are unicast packets")
  func bothVersions() async throws {
    for (link, source) in try await Self.links() {
      let heard = try await Self.converse(on: link, from: source, port: Self.port)
      #expect(
        heard.group == Heard(text: "who", link: link, sourcePort: Self.port, isMulticast: true))
      // The kernel may report the interface that has the address.
      #expect(heard.alone.text == "you")
      #expect(!heard.alone.isMulticast)
    }
  }

  @Test("a datagram that the system refuses is lost, and the next is sent")
  func refused() async throws {
    let (link, source) = try #require(try await Self.links().first)
    let loop = EpollLoop.shared
    let (texts, continuation) = AsyncStream.makeStream(of: String.self)
    let socket = try await loop.make {
      try MulticastSocket(
        link, from: source, port: Self.port + 1, on: loop, DatagramReader()
      ) { continuation.yield(String(decoding: $0.bytes, as: UTF8.self)) }
    }
    try await loop.run {
      // There is no port 0.
      let nobody = Endpoint(source, port: 0)
      socket.value.send(OutgoingPacket([1], on: link, to: .unicast(nobody)))
      socket.value.send(OutgoingPacket(Array("next".utf8), on: link))
    }
    #expect(await texts.first { _ in true } == "next")
    try await loop.run { socket.value.close() }
  }

  @Test("an interface that does not exist cannot be listened to")
  func missing() async throws {
    let loop = EpollLoop.shared
    let link = MulticastLink(InterfaceIndex(rawValue: 1_000_000), .v4)
    await #expect(throws: SystemError(number: EADDRNOTAVAIL)) {
      try await loop.run {
        _ = try MulticastSocket(
          link, from: .v4(Inet4Address(127, 0, 0, 1)), port: Self.port, on: loop, DatagramReader()
        ) { _ in }
      }
    }
  }

  @Test("addresses survive the way to the system and back")
  func addresses() throws {
    for text in ["169.254.3.4", "255.255.255.255", "fe80::1:2", "ff02::fb", "2001:db8::ffff"] {
      let endpoint = Endpoint(try #require(InetAddress(text: text)), port: 40_001)
      let system = InternetSocketAddress(endpoint, on: InterfaceIndex(rawValue: 7))
      #expect(system.endpoint == endpoint)
    }
    #expect(InternetSocketAddress(.init(), byteCount: 0).endpoint == nil)
  }
}

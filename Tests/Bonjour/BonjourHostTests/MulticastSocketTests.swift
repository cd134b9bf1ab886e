import DiscoveryMachines
import Essentials
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import BonjourHost

/// One after the other: what is sent to one socket of a port may come in at another.
@Suite("Sockets of Multicast DNS", .serialized, .timeLimit(.minutes(1)))
struct MulticastSocketTests {
  /// Not 5353, where others may be heard, nor the one of another run.
  private static let port = 20_000 + UInt16(truncatingIfNeeded: getpid() % 10_000)

  /// Links that carry the group here: IPv4 on the interface that every machine has, and whatever
  /// else there is.
  private static func links() async throws -> [(Link, IPAddress)] {
    let (lists, continuation) = AsyncStream.makeStream(of: [SystemInterface].self)
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let monitor = try await eventLoop.submit {
      let monitor = InterfaceMonitor(on: eventLoop) { continuation.yield($0) }
      monitor.start()
      return NIOLoopBound(monitor, eventLoop: eventLoop)
    }.get()
    let first = await lists.first { _ in true }
    try await eventLoop.submit { monitor.value.stop() }.get()
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
    var link: Link
    var sourcePort: UInt16
    var isMulticast: Bool
  }

  /// Opens a socket, sends to the group and then to whom it heard there, itself, and gives what it
  /// heard.
  private static func converse(
    on link: Link, from source: IPAddress, port: UInt16
  ) async throws -> (group: Heard, alone: Heard) {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let (events, continuation) = AsyncStream.makeStream(of: (Heard, Endpoint).self)
    let socket = try await eventLoop.flatSubmit {
      MulticastSocket.open(link, from: source, port: port, on: eventLoop) { datagram in
        let heard = Heard(
          text: String(buffer: datagram.bytes), link: datagram.link,
          sourcePort: datagram.source.port, isMulticast: datagram.isMulticast)
        continuation.yield((heard, datagram.source))
      }.map { NIOLoopBound($0, eventLoop: eventLoop) }
    }.get()
    var iterator = events.makeAsyncIterator()
    try await eventLoop.submit {
      socket.value.send(OutgoingPacket(Array("who".utf8), on: link))
      socket.value.flush()
    }.get()
    let (group, source) = try #require(await iterator.next())
    try await eventLoop.submit {
      socket.value.send(OutgoingPacket(Array("you".utf8), on: link, to: .unicast(source)))
      socket.value.flush()
    }.get()
    let (alone, _) = try #require(await iterator.next())
    try await eventLoop.flatSubmit { socket.value.closeWhenSent(within: .seconds(30)) }.get()
    return (group, alone)
  }

  @Test("the group is heard on its link, and so is what is sent to the host alone")
  func bothVersions() async throws {
    for (link, source) in try await Self.links() {
      let heard = try await Self.converse(on: link, from: source, port: Self.port)
      #expect(
        heard.group == Heard(text: "who", link: link, sourcePort: Self.port, isMulticast: true))
      // The kernel may say that it came from the interface that has the address.
      #expect(heard.alone.text == "you")
      #expect(!heard.alone.isMulticast)
    }
  }

  @Test("a socket that ends because the system refuses a datagram tells that it did")
  func refused() async throws {
    let (link, source) = try #require(try await Self.links().first)
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let socket = try await eventLoop.flatSubmit {
      MulticastSocket.open(link, from: source, port: Self.port, on: eventLoop) { _ in }
        .map { NIOLoopBound($0, eventLoop: eventLoop) }
    }.get()
    await withCheckedContinuation { continuation in
      eventLoop.execute {
        socket.value.whenClosed { continuation.resume() }
        // There is no port 0.
        let nobody = Endpoint(source, port: 0)
        socket.value.send(OutgoingPacket([1], on: link, to: .unicast(nobody)))
        socket.value.flush()
      }
    }
  }

  @Test("the sockets of a port are counted, of both versions of IP")
  func table() throws {
    let table = """
         sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout
         71: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0
        200: 0100007F:0035 00000000:14E9 07 00000000:00000000 00:00000000 00000000     0        0
      1000: 00000000000000000000000000000000:14E9 00000000000000000000000000000000:0000 07

      """
    #expect(PortTable.socketCount(5_353, inTable: Array(table.utf8)) == 2)
    #expect(PortTable.socketCount(53, inTable: Array(table.utf8)) == 1)
    #expect(PortTable.socketCount(9, inTable: Array(table.utf8)) == 0)
    #expect(PortTable.socketCount(9, inTable: []) == 0)
    #expect(PortTable.socketCount(Self.port) == 0)
  }

  @Test("an interface that does not exist cannot be listened to")
  func missing() async throws {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let link = Link(InterfaceIndex(rawValue: 1_000_000), .v4)
    await #expect(throws: (any Error).self) {
      try await eventLoop.flatSubmit {
        MulticastSocket.open(
          link, from: .v4(IPv4Address(127, 0, 0, 1)), port: Self.port, on: eventLoop
        ) { _ in }.map { _ in }
      }.get()
    }
  }

  @Test("addresses survive the way to the system and back")
  func addresses() throws {
    for text in ["169.254.3.4", "255.255.255.255", "fe80::1:2", "ff02::fb", "2001:db8::ffff"] {
      let endpoint = Endpoint(try #require(IPAddress(text: text)), port: 40_001)
      let system = SocketAddress(endpoint, on: InterfaceIndex(rawValue: 7))
      #expect(Endpoint(system) == endpoint)
      #expect(system.port == 40_001)
    }
  }
}

import Essentials
import Glibc
import Testing

@testable import EventLoop

@Suite("Addresses of sockets")
struct SocketAddressTests {
  @Test(
    "an internet address, its port and its scope are read back from the system's form",
    arguments: [
      (InetAddress.v4(Inet4Address(192, 0, 2, 7)), UInt32(0)),
      (.v6(Inet6Address(high: 0x2001_0DB8_0000_0001, low: 2)), 0),
      (.v6(Inet6Address(high: 0xFE80_0000_0000_0000, low: 0x0102_0304_0506_0708)), 0x0A0B),
    ])
  func internetAddress(_ address: InetAddress, _ scope: UInt32) {
    let system = SocketAddress(address, port: 0x1234, scope: scope)
    #expect(system.internetAddress == address)
    #expect(system.port == 0x1234)
    #expect(system.scope == scope)
  }

  @Test("a socket has the internet address that it was bound to, and its peer is connected to that")
  func bound() throws {
    let any = SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: 0)
    let (listener, client) = try (any.makeSocket(), any.makeSocket())
    defer { for descriptor in [listener, client] { close(descriptor) } }
    try #require(any.with { unsafe bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
    let address = try #require(SocketAddress(boundTo: listener))
    #expect(address == SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: address.port ?? 0))
    _ = address.with { unsafe connect(client, $0, $1) }
    var connecting = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
    try #require(unsafe poll(&connecting, 1, 50_000) == 1)
    #expect(SocketAddress(connectedTo: client) == address)
  }

  @Test("an abstract name leads to the socket that has it, and is never that of another length")
  func abstractName() throws {
    let name = "ambit-test-\(UInt64.random(in: 0 ... .max))"
    let address = try #require(SocketAddress(abstractName: name))
    let longer = try #require(SocketAddress(abstractName: name + "x"))
    let (listener, client) = try (address.makeSocket(), address.makeSocket())
    defer { for descriptor in [listener, client] { close(descriptor) } }
    try #require(address.with { unsafe bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
    #expect(SocketAddress(boundTo: listener) == address)
    #expect(longer.with { unsafe connect(client, $0, $1) } != 0)
    #expect(address.with { unsafe connect(client, $0, $1) } == 0)
    #expect(SocketAddress(abstractName: String(repeating: "x", count: 107)) != nil)
    #expect(SocketAddress(abstractName: String(repeating: "x", count: 108)) == nil)
  }

  @Test("a socket of rtnetlink receives the groups that were named, and doesn't block")
  func netlinkGroups() throws {
    let descriptor = try Netlink.openRoute([.interfaces, .addresses, .routes])
    defer { close(descriptor) }
    let address = try #require(SocketAddress(boundTo: descriptor))
    #expect(address.family == AF_NETLINK)
    // 0x1, 0x10, 0x40, 0x100 and 0x400 of linux/rtnetlink.h, in the order of a little-endian host.
    #expect(address.bytes.suffix(4).elementsEqual([0x51, 0x05, 0, 0]))
    #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }
}

import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix

/// Port 5353 on one link: hears the group there, and what is sent to the host alone. On one event
/// loop.
///
/// The port is shared with whoever else shares it, so a datagram to the host alone may come in at
/// any socket of it: `Datagram.link` tells where it really arrived.
final class MulticastSocket {
  /// What arrived.
  struct Datagram {
    var bytes: ByteBuffer
    var link: Link
    var source: Endpoint
    var isMulticast: Bool
  }

  let link: Link
  private let channel: any Channel
  private let handler: Handler
  private let group: SocketAddress
  /// Ends when the system has taken what was sent last, and so all of it.
  private var lastSent: EventLoopFuture<Void>?

  private init(_ link: Link, channel: any Channel, _ handler: Handler, port: UInt16) {
    self.link = link
    self.channel = channel
    self.handler = handler
    group = SocketAddress(Endpoint(.multicastDNS(link.version), port: port), on: link.interface)
  }

  /// Opens the port on a link and joins the group.
  ///
  /// - Parameters:
  ///   - source: an address of the interface, which over IPv4 the system would take from any other
  ///     than this one.
  ///   - port: 5353 unless a test says otherwise.
  ///   - onDatagram: Told on the event loop what arrives; whose interface and sender are not known
  ///     is dropped.
  static func open(
    _ link: Link, from source: IPAddress, port: UInt16 = multicastDNSPort,
    on eventLoop: any EventLoop,
    onDatagram: @escaping (Datagram) -> Void
  ) -> EventLoopFuture<MulticastSocket> {
    let handler = NIOLoopBound(Handler(link.version, onDatagram), eventLoop: eventLoop)
    let wildcard = link.version == .v4 ? "0.0.0.0" : "::"
    return DatagramBootstrap(group: eventLoop)
      .channelOption(.socketOption(.so_reuseaddr), value: 1)
      .channelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: 1)
      .channelOption(.receivePacketInfo, value: true)
      .channelOption(.datagramVectorReadMessageCount, value: readMessageCount)
      .channelOption(
        .recvAllocator,
        value: FixedSizeRecvByteBufferAllocator(capacity: readMessageCount * readByteCount)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          channel.closeOnExec()
          try channel.pipeline.syncOperations.addHandler(handler.value)
        }.flatMap { channel.apply(SocketSetting.beforeBinding(link)) }
      }
      .bind(host: wildcard, port: Int(port))
      .flatMap { channel in
        channel.apply(SocketSetting.afterBinding(link, from: source)).map { channel }
          .flatMapError { error in
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
          }
      }
      .assumeIsolated()
      .map { MulticastSocket(link, channel: $0, handler.value, port: port) }
      .nonisolated()
  }

  /// The longest message there may be (RFC 6762, §17), with the headers of IP and UDP.
  private static let readByteCount = 9_000
  private static let readMessageCount = 16

  /// Sends a datagram with the next ``flush()``; one that the system does not take is lost, as on the
  /// network, and may be the end of the socket (see ``whenClosed(_:)``).
  func send(_ packet: OutgoingPacket) {
    var destination = group
    if case .unicast(let endpoint) = packet.destination {
      destination = SocketAddress(endpoint, on: link.interface)
    }
    let envelope = AddressedEnvelope(
      remoteAddress: destination, data: ByteBuffer(bytes: packet.bytes))
    let isSent = channel.eventLoop.makePromise(of: Void.self)
    channel.write(envelope, promise: isSent)
    lastSent = isSent.futureResult
    handler.isFlushNeeded = true
  }

  /// Sends what was given to `send`, all at once; what answers a burst of datagrams, after the last
  /// of them.
  func flush() {
    if !handler.isReading { handler.flush(channel) }
  }

  /// Calls back when it is closed, which is not only when it was asked for: swift-nio closes a socket
  /// with the first datagram that the system refuses, as it does without a route, or behind a
  /// firewall.
  func whenClosed(_ call: @escaping () -> Void) {
    channel.closeFuture.assumeIsolated().whenComplete { _ in call() }
  }

  /// Leaves the group and the port, at once.
  func close() { channel.close(promise: nil) }

  /// Leaves the group and the port once the system has taken what was sent, which it may not have at
  /// once, or when that has taken too long.
  func closeWhenSent(within limit: TimeAmount) -> EventLoopFuture<Void> {
    guard let lastSent else {
      close()
      return channel.closeFuture
    }
    let tooLate = channel.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.close() }
    lastSent.assumeIsolated().whenComplete { _ in
      tooLate.cancel()
      self.close()
    }
    return channel.closeFuture
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let version: IPVersion
    private let onDatagram: (Datagram) -> Void
    /// Whether more may come before `channelReadComplete`.
    private(set) var isReading = false
    var isFlushNeeded = false

    init(_ version: IPVersion, _ onDatagram: @escaping (Datagram) -> Void) {
      self.version = version
      self.onDatagram = onDatagram
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      isReading = true
      let envelope = unwrapInboundIn(data)
      guard let source = Endpoint(envelope.remoteAddress),
        let arrival = envelope.metadata?.packetInfo,
        let index = UInt32(exactly: arrival.interfaceIndex),
        let destination = Endpoint(arrival.destinationAddress)
      else { return }
      onDatagram(
        Datagram(
          bytes: envelope.data, link: Link(InterfaceIndex(rawValue: index), version),
          source: source, isMulticast: destination.address == .multicastDNS(version)))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      isReading = false
      flush(context.channel)
    }

    func flush(_ channel: any Channel) {
      guard isFlushNeeded else { return }
      isFlushNeeded = false
      channel.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // Such as that an earlier datagram of ours was refused: nothing that concerns the next.
    }
  }
}

/// What is set on a socket of Multicast DNS, beyond what NIO has words for.
///
/// Neither NIO nor Glibc's module names most of these options (ip(7), ipv6(7)).
private enum SocketSetting {
  case number(NIOBSDSocket.OptionLevel, Int32, Int32)
  case membership(Int32, IPv4Membership)
  case membership6(Int32, IPv6Membership)

  /// struct ip_mreqn: the group, the host's own address or zero, the interface.
  typealias IPv4Membership = (group: UInt32, own: UInt32, interface: Int32)
  /// struct ipv6_mreq: the group in two halves, the interface.
  typealias IPv6Membership = (high: UInt64, low: UInt64, interface: UInt32)

  static func beforeBinding(_ link: Link) -> [SocketSetting] {
    link.version == .v6 ? [.number(.ipv6, 26, 1)] : []  // IPV6_V6ONLY
  }

  /// Sends to and hears one link's group, with the highest TTL (RFC 6762, §11), and is heard by
  /// others on this host.
  static func afterBinding(_ link: Link, from source: IPAddress) -> [SocketSetting] {
    let index = Int32(bitPattern: link.interface.rawValue)
    switch link.version {
    case .v4:
      let group = Essentials.IPv4Address.multicastDNS.rawValue.bigEndian
      var own: UInt32 = 0
      if case .v4(let address) = source { own = address.rawValue.bigEndian }
      let membership: IPv4Membership = (group, own, index)
      return [
        .number(.ip, 49, 0),  // IP_MULTICAST_ALL: not what others on this host joined
        .membership(32, membership),  // IP_MULTICAST_IF
        .number(.ip, 33, 255),  // IP_MULTICAST_TTL
        .number(.ip, 2, 255),  // IP_TTL
        .number(.ip, 34, 1),  // IP_MULTICAST_LOOP
        .membership(35, membership),  // IP_ADD_MEMBERSHIP
      ]
    case .v6:
      let group = Essentials.IPv6Address.multicastDNS
      let membership: IPv6Membership = (
        group.high.bigEndian, group.low.bigEndian, link.interface.rawValue
      )
      return [
        .number(.ipv6, 29, 0),  // IPV6_MULTICAST_ALL
        .number(.ipv6, 17, index),  // IPV6_MULTICAST_IF
        .number(.ipv6, 18, 255),  // IPV6_MULTICAST_HOPS
        .number(.ipv6, 16, 255),  // IPV6_UNICAST_HOPS
        .number(.ipv6, 19, 1),  // IPV6_MULTICAST_LOOP
        .membership6(20, membership),  // IPV6_JOIN_GROUP
      ]
    }
  }
}

extension Channel {
  fileprivate func apply(_ settings: [SocketSetting]) -> EventLoopFuture<Void> {
    guard let socket = self as? any SocketOptionProvider else {
      return eventLoop.makeFailedFuture(SystemError(number: ENOTSOCK))
    }
    // Not memory-safe, says NIO, if the type is not the one that the kernel takes for the option.
    let applied = settings.map { setting in
      switch setting {
      case .number(let level, let option, let value):
        socket.unsafeSetSocketOption(
          level: level, name: .init(rawValue: option), value: value)
      case .membership(let option, let value):
        socket.unsafeSetSocketOption(
          level: .ip, name: .init(rawValue: option), value: value)
      case .membership6(let option, let value):
        socket.unsafeSetSocketOption(
          level: .ipv6, name: .init(rawValue: option), value: value)
      }
    }
    return EventLoopFuture.andAllSucceed(applied, on: eventLoop)
  }
}

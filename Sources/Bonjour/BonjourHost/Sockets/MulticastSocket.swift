import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import EventLoop

/// Port 5353 on one link: receives multicast packets of the group there, and unicast packets. Used
/// on one event loop, until it is closed.
///
/// It has two sockets, because packets to hosts that do not answer ARP fill the queue of their
/// socket for seconds, and must not delay multicast packets. Unicast packets are never queued here:
/// one that the system does not take is lost, as on the network.
///
/// Other processes may share the port, so a unicast datagram may arrive at any of its sockets:
/// `Datagram.link` is the link on which it arrived.
final class MulticastSocket {
  let link: MulticastLink
  private let group: InternetSocketAddress
  private let loop: EpollLoop
  private let reader: DatagramReader
  private let onDatagram: (Datagram) -> Void
  /// The member of the group, which sends multicast packets.
  private var multicast: WatchedDescriptor?
  /// Sends unicast packets; receives some of them, as all sockets of a port do.
  private var unicast: WatchedDescriptor?
  /// Multicast packets that the system did not take yet.
  private var waiting: [OutgoingPacket] = []
  private var onClose: (() -> Void)?
  private var tooLate: (any LoopTimer)?

  /// At most this many multicast packets wait; further ones are lost.
  private static let waitingCountMax = 1_024
  /// How many times datagrams are read before something else is done.
  private static let readCountMax = 4

  /// Opens the port on a link and joins the group.
  ///
  /// - Parameters:
  ///   - source: An address of the interface. Over IPv4 the system might use one of another
  ///     interface.
  ///   - port: 5353, except in tests.
  ///   - reader: Reads for all sockets of the loop.
  ///   - onDatagram: Called on the event loop with each datagram of known interface and sender.
  init(
    _ link: MulticastLink, from source: InetAddress, port: UInt16 = multicastDNSPort,
    on loop: EpollLoop,
    _ reader: DatagramReader, onDatagram: @escaping (Datagram) -> Void
  ) throws(SystemError) {
    self.link = link
    self.loop = loop
    self.reader = reader
    self.onDatagram = onDatagram
    group = InternetSocketAddress(
      Endpoint(.multicastDNS(link.version), port: port), on: link.interface)
    let member = try Self.openDescriptor(link, from: source, port: port, joinsGroup: true)
    multicast = try WatchedDescriptor(owning: member, on: loop) { [weak self] readiness in
      if readiness.contains(.writable) { self?.sendWaiting() }
      if readiness.contains(.readable) { self?.read(self?.multicast) }
    }
    do throws(SystemError) {
      let other = try Self.openDescriptor(link, from: source, port: port, joinsGroup: false)
      unicast = try WatchedDescriptor(owning: other, on: loop) { [weak self] _ in
        self?.read(self?.unicast)
      }
    } catch {
      multicast?.close()
      throw error
    }
  }

  private static func openDescriptor(
    _ link: MulticastLink, from source: InetAddress, port: UInt16, joinsGroup: Bool
  ) throws(SystemError) -> Int32 {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(link.version == .v4 ? AF_INET : AF_INET6, type, 0)
    guard descriptor >= 0 else { throw .current }
    do throws(SystemError) {
      for setting in SocketSetting.beforeBinding(link) { try setting.apply(to: descriptor) }
      let address = InternetSocketAddress(
        Endpoint(boundAddress(link, joinsGroup: joinsGroup), port: port), on: link.interface)
      let status = address.withPointer { unsafe bind(descriptor, $0, $1) }
      guard status == 0 else { throw .current }
      for setting in SocketSetting.afterBinding(link, from: source) {
        try setting.apply(to: descriptor)
      }
      if joinsGroup { try SocketSetting.joining(link, from: source).apply(to: descriptor) }
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The address that a socket is bound to.
  ///
  /// Over IPv6 the system passes a packet to a member of its group, whichever interface it has joined
  /// it on. With 200 interfaces, each packet would be read 200 times. A socket that is bound to the
  /// group's link-local address receives packets from its own interface only.
  private static func boundAddress(_ link: MulticastLink, joinsGroup: Bool) -> InetAddress {
    switch link.version {
    case .v4: .v4(.any)
    case .v6: joinsGroup ? .multicastDNS(.v6) : .v6(.any)
    }
  }

  /// Leaves the group and the port, at once.
  func close() {
    multicast?.close()
    unicast?.close()
    // The timer holds this socket.
    tooLate?.cancel()
    tooLate = nil
    waiting = []
    let closed = onClose
    onClose = nil
    closed?()
  }

  /// Leaves the group and the port once the system has taken all sent packets, or when `limit` has
  /// passed; then calls `completion`.
  func closeWhenSent(within limit: TimeSpan, _ completion: @escaping () -> Void) {
    onClose = completion
    if waiting.isEmpty { return close() }
    tooLate = loop.makeTimer { self.close() }
    tooLate?.set(.now + limit)
  }

  private func read(_ watched: WatchedDescriptor?) {
    guard let watched else { return }
    for _ in 0..<Self.readCountMax where watched.isOpen {
      let mayHaveMore = reader.read(watched.descriptor, link.version) { datagram in
        // One before it may have closed the socket.
        if watched.isOpen { onDatagram(datagram) }
      }
      if !mayHaveMore { return }
    }
  }

  // MARK: Sending

  /// Sends a datagram: a multicast one now or as soon as the system takes it, a unicast one now or
  /// never. One that the system refuses, without a route or behind a firewall, is lost.
  func send(_ packet: OutgoingPacket) {
    if case .unicast(let receiver) = packet.destination {
      if let unicast, unicast.isOpen { _ = transmit(packet, over: unicast) }
      // An ordinary resolver sends its next question as soon as it has an answer.
      if receiver.port != multicastDNSPort { loop.expectPromptEvent() }
      return
    }
    guard let multicast, multicast.isOpen else { return }
    if waiting.isEmpty, transmit(packet, over: multicast) { return }
    guard waiting.count < Self.waitingCountMax else { return }
    waiting.append(packet)
    multicast.interest = [.readable, .writable]
  }

  private func sendWaiting() {
    guard let multicast else { return }
    let sentCount = waiting.firstIndex { !transmit($0, over: multicast) } ?? waiting.count
    waiting.removeSubrange(..<sentCount)
    guard waiting.isEmpty else { return }
    multicast.interest = .readable
    if onClose != nil { close() }
  }

  /// False if the system has no room for it now.
  private func transmit(_ packet: OutgoingPacket, over watched: WatchedDescriptor) -> Bool {
    var destination = group
    if case .unicast(let endpoint) = packet.destination {
      destination = InternetSocketAddress(endpoint, on: link.interface)
    }
    let count = unsafe destination.withPointer { address, byteCount in
      unsafe sendto(
        watched.descriptor, packet.bytes, packet.bytes.count, 0, address, byteCount)
    }
    return count >= 0 || errno != EAGAIN
  }
}

/// An option of a Multicast DNS socket. Most of them (ip(7), ipv6(7)) have no names in Glibc's
/// module.
private enum SocketSetting {
  case number(Level, Int32, Int32)
  case membership(Int32, IPv4Membership)
  case membership6(Int32, IPv6Membership)

  /// What an option belongs to.
  enum Level {
    case socket, ip, ipv6

    var number: Int32 {
      switch self {
      case .socket: SOL_SOCKET
      case .ip: Int32(IPPROTO_IP)
      case .ipv6: Int32(IPPROTO_IPV6)
      }
    }
  }

  /// struct ip_mreqn: the group, the host's own address or zero, the interface.
  typealias IPv4Membership = (group: UInt32, own: UInt32, interface: Int32)
  /// struct ipv6_mreq: the group in two halves, the interface.
  typealias IPv6Membership = (high: UInt64, low: UInt64, interface: UInt32)

  /// Shares the port, and requests the interface of each datagram.
  static func beforeBinding(_ link: MulticastLink) -> [SocketSetting] {
    let shared: [SocketSetting] = [
      .number(.socket, SO_REUSEADDR, 1), .number(.socket, SO_REUSEPORT, 1),
    ]
    switch link.version {
    case .v4: return shared + [.number(.ip, IP_PKTINFO, 1)]
    case .v6:
      return shared + [.number(.ipv6, IPV6_V6ONLY, 1), .number(.ipv6, IPV6_RECVPKTINFO, 1)]
    }
  }

  /// Sends over the link with the highest TTL (RFC 6762, §11), and loops packets back to other
  /// programs of this host.
  static func afterBinding(_ link: MulticastLink, from source: InetAddress) -> [SocketSetting] {
    switch link.version {
    case .v4:
      return [
        .number(.ip, IP_MULTICAST_ALL, 0),  // Not what others on this host joined.
        .membership(IP_MULTICAST_IF, ipv4Membership(link, source)),
        .number(.ip, IP_MULTICAST_TTL, 255),
        .number(.ip, IP_TTL, 255),
        .number(.ip, IP_MULTICAST_LOOP, 1),
      ]
    case .v6:
      let index = Int32(bitPattern: link.interface.rawValue)
      return [
        .number(.ipv6, IPV6_MULTICAST_ALL, 0),
        .number(.ipv6, IPV6_MULTICAST_IF, index),
        .number(.ipv6, IPV6_MULTICAST_HOPS, 255),
        .number(.ipv6, IPV6_UNICAST_HOPS, 255),
        .number(.ipv6, IPV6_MULTICAST_LOOP, 1),
      ]
    }
  }

  /// Joins the group of the link.
  static func joining(_ link: MulticastLink, from source: InetAddress) -> SocketSetting {
    switch link.version {
    case .v4: return .membership(IP_ADD_MEMBERSHIP, ipv4Membership(link, source))
    case .v6:
      let group = Essentials.Inet6Address.multicastDNS
      return .membership6(
        IPV6_JOIN_GROUP, (group.high.bigEndian, group.low.bigEndian, link.interface.rawValue))
    }
  }

  private static func ipv4Membership(
    _ link: MulticastLink, _ source: InetAddress
  ) -> IPv4Membership {
    var own: UInt32 = 0
    if case .v4(let address) = source { own = address.rawValue.bigEndian }
    return (
      Essentials.Inet4Address.multicastDNS.rawValue.bigEndian, own,
      Int32(bitPattern: link.interface.rawValue)
    )
  }

  func apply(to descriptor: Int32) throws(SystemError) {
    switch self {
    case .number(let level, let option, let value):
      try Self.set(descriptor, level, option, value)
    case .membership(let option, let value): try Self.set(descriptor, .ip, option, value)
    case .membership6(let option, let value): try Self.set(descriptor, .ipv6, option, value)
    }
  }

  /// The value has to be of the type that the kernel takes for the option.
  private static func set<Value: BitwiseCopyable>(
    _ descriptor: Int32, _ level: Level, _ option: Int32, _ value: Value
  ) throws(SystemError) {
    let status = unsafe withUnsafeBytes(of: value) { bytes in
      unsafe setsockopt(
        descriptor, level.number, option, bytes.baseAddress, socklen_t(bytes.count))
    }
    guard status == 0 else { throw .current }
  }
}

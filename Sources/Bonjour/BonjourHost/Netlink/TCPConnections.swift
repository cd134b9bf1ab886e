import CNetlink
import Essentials
import EventLoop
import Glibc

/// The TCP connections of this host, through sock_diag(7).
enum TCPConnections {
  /// Resets all connections from an address, at both ends. Listening sockets stay.
  static func reset(from address: Inet4Address) throws(SystemError) {
    let socket = try NetlinkSocket(.sockets)
    for family in Family.allCases {
      let connections = try socket.dump(request(SOCK_DIAG_BY_FAMILY, .dump, family))
        .compactMap { Connection($0.body) }
      for connection in connections where connection.source == address {
        // One may have ended by itself meanwhile.
        try? socket.perform(request(SOCK_DESTROY, .acknowledge, family, connection.id))
      }
    }
  }

  /// IPv6 sockets may speak IPv4.
  private enum Family: CaseIterable {
    case v4, v6

    var number: UInt8 { UInt8(self == .v4 ? AF_INET : AF_INET6) }
  }

  /// Every state but that of listening, the tenth of the kernel's (net/tcp_states.h).
  private static let states = ~(UInt32(1) << 10)

  private static func request(
    _ type: Int32, _ flags: NetlinkRequest.Flags, _ family: Family,
    _ id: ArraySlice<UInt8> = ArraySlice(repeating: 0, count: Connection.idByteCount)
  ) -> NetlinkRequest {
    // struct inet_diag_req_v2: family, TCP, no extensions, padding, states, which socket.
    var head = ByteWriter()
    head.append([family.number, UInt8(IPPROTO_TCP), 0, 0])
    head.uint32(states)
    head.append(id)
    return NetlinkRequest(type: UInt16(type), flags: flags, head: head.bytes)
  }

  /// A connection as the kernel reports it.
  struct Connection {
    /// struct inet_diag_sockid.
    static let idByteCount = 48

    let id: ArraySlice<UInt8>
    /// This end's IPv4 address; nil for an IPv6 connection.
    let source: Inet4Address?

    /// Reads struct inet_diag_msg; nil where it is cut short.
    init?(_ body: ByteReader) {
      var body = body
      do throws(Truncated) {
        _ = try body.slice(4)  // family, state, timer, retransmissions
        id = try body.slice(Self.idByteCount)
        var reader = ByteReader(id)
        _ = try reader.slice(4)  // the two ports
        source = Self.address(try reader.slice(16))
      } catch { return nil }
    }

    /// The first four of sixteen bytes, or the last four of an IPv4-mapped IPv6 address.
    private static func address(_ bytes: ArraySlice<UInt8>) -> Inet4Address? {
      let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
      if bytes.starts(with: mapped) { return Inet4Address(bytes: bytes.suffix(4)) }
      return bytes.dropFirst(4).allSatisfy { $0 == 0 } ? Inet4Address(bytes: bytes.prefix(4)) : nil
    }
  }
}

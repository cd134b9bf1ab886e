import Essentials
import EventLoop

/// The TCP connections of this host, through sock_diag(7).
enum TCPConnections {
  /// Resets all connections from an address, at both ends. Listening sockets stay.
  static func reset(from address: Inet4Address) throws(SystemError) {
    let socket = try NetlinkSocket(.sockets)
    for family in Family.allCases {
      let connections = try socket.dump(request(20, .dump, family))  // SOCK_DIAG_BY_FAMILY
        .compactMap { Connection($0.body) }
      for connection in connections where connection.source == address {
        // One may have ended by itself meanwhile.
        try? socket.perform(request(21, .acknowledge, family, connection.id))  // SOCK_DESTROY
      }
    }
  }

  /// IPv6 sockets may speak IPv4.
  private enum Family: UInt8, CaseIterable {
    case v4 = 2
    case v6 = 10
  }

  /// Every state but that of listening (TCP_LISTEN, 10).
  private static let states = ~(UInt32(1) << 10)

  private static func request(
    _ type: UInt16, _ flags: NetlinkRequest.Flags, _ family: Family,
    _ id: ArraySlice<UInt8> = ArraySlice(repeating: 0, count: Connection.idByteCount)
  ) -> NetlinkRequest {
    // struct inet_diag_req_v2: family, TCP, no extensions, padding, states, which socket.
    var head = ByteWriter()
    head.append([family.rawValue, 6, 0, 0])
    head.uint32(states)
    head.append(id)
    return NetlinkRequest(type: type, flags: flags, head: head.bytes)
  }

  /// A connection as the kernel reports it.
  struct Connection {
    /// struct inet_diag_sockid.
    static let idByteCount = 48

    let id: ArraySlice<UInt8>
    /// This end's address; nil if it is none of IPv4.
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

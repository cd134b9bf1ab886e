import DNSWire
import DiscoveryMachines
import Essentials
import Glibc

/// A datagram that arrived.
struct Datagram {
  var bytes: [UInt8]
  var link: MulticastLink
  var source: Endpoint
  var isMulticast: Bool
}

/// Reads datagrams, with the interface of arrival, into memory that is reused. On one event loop.
final class DatagramReader {
  /// Room for struct cmsghdr, in6_pktinfo and other control messages.
  private static let controlByteCountMax = 256

  private var bytes = [UInt8](repeating: 0, count: DNSMessageEncoder.Limits.packetByteCountMax)
  private var control = [UInt8](repeating: 0, count: controlByteCountMax)

  /// What came of reading.
  enum Outcome {
    case datagram(Datagram)
    /// A datagram of unknown interface or sender, or an error of an earlier packet.
    case nothing
    /// There is no more.
    case empty
  }

  /// Reads one datagram.
  func read(_ descriptor: Int32, _ version: IPVersion) -> Outcome {
    var source = InternetSocketAddress()
    let (byteCount, controlByteCount) = receive(descriptor, from: &source)
    guard byteCount >= 0 else { return errno == EAGAIN ? .empty : .nothing }
    guard let source = source.endpoint,
      let arrival = arrival(version, controlByteCount)
    else { return .nothing }
    return .datagram(
      Datagram(
        bytes: Array(bytes[..<byteCount]),
        link: MulticastLink(arrival.interface, version), source: source,
        isMulticast: arrival.destination == .multicastDNS(version)))
  }

  private func receive(_ descriptor: Int32, from source: inout InternetSocketAddress) -> (Int, Int)
  {
    var header = msghdr()
    var byteCount = -1
    unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe control.withUnsafeMutableBytes { control in
        var vector = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        unsafe withUnsafeMutablePointer(to: &vector) { vector in
          unsafe header.msg_iov = vector
          header.msg_iovlen = 1
          unsafe header.msg_control = control.baseAddress
          header.msg_controllen = control.count
          source.write { name, nameByteCount in
            unsafe header.msg_name = name
            header.msg_namelen = nameByteCount
            byteCount = unsafe recvmsg(descriptor, &header, 0)
            return header.msg_namelen
          }
        }
      }
    }
    return (byteCount, header.msg_controllen)
  }

  /// The interface and address of arrival: struct in_pktinfo (ip(7)) or in6_pktinfo (ipv6(7)), in
  /// one of the control messages, each of which begins with a struct cmsghdr.
  private func arrival(
    _ version: IPVersion, _ byteCount: Int
  ) -> (interface: InterfaceIndex, destination: InetAddress)? {
    var reader = ByteReader(control.prefix(byteCount))
    do throws(Truncated) {
      while !reader.isAtEnd {
        let length = Int(clamping: try reader.uint64())
        let (level, type) = (try reader.uint32(), try reader.uint32())
        guard length >= 16 else { return nil }
        var body = ByteReader(try reader.slice(length - 16))
        switch (Int32(bitPattern: level), Int32(bitPattern: type)) {
        case (Int32(IPPROTO_IP), IP_PKTINFO) where version == .v4:
          let index = InterfaceIndex(rawValue: try body.uint32())
          _ = try body.uint32()  // The host's own address on the way back.
          return (index, .v4(Inet4Address(rawValue: UInt32(try body.bigEndian(4)))))
        case (Int32(IPPROTO_IPV6), IPV6_PKTINFO) where version == .v6:
          let address = Inet6Address(high: try body.bigEndian(8), low: try body.bigEndian(8))
          return (InterfaceIndex(rawValue: try body.uint32()), .v6(address))
        default: _ = try reader.slice(min(reader.count, (8 - length % 8) % 8))
        }
      }
    } catch {}
    return nil
  }
}

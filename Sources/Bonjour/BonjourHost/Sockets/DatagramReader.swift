import CLinux
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

/// Reads datagrams, with the interface of arrival, several in one call of the system, into memory that
/// is reused. On one event loop.
final class DatagramReader {
  /// How many are read in one call.
  private static let countMax = 8
  /// Room for struct cmsghdr, in6_pktinfo and other control messages.
  private static let controlByteCountMax = 256
  private static let byteCountMax = DNSMessageEncoder.Limits.packetByteCountMax

  // Room for the calls of the system, which get pointers from one part into others.
  private let bytes: UnsafeMutableRawBufferPointer
  private let control: UnsafeMutableRawBufferPointer
  private let sources: UnsafeMutableBufferPointer<InternetSocketAddress.Storage>
  private let vectors: UnsafeMutableBufferPointer<iovec>
  private let messages: UnsafeMutableBufferPointer<received_message>

  init() {
    let count = Self.countMax
    unsafe bytes = .allocate(byteCount: count * Self.byteCountMax, alignment: 8)
    unsafe control = .allocate(byteCount: count * Self.controlByteCountMax, alignment: 8)
    unsafe sources = .allocate(capacity: count)
    unsafe sources.initialize(repeating: InternetSocketAddress.Storage())
    unsafe vectors = .allocate(capacity: count)
    unsafe messages = .allocate(capacity: count)
    for index in 0..<count {
      let slot = unsafe bytes.baseAddress?.advanced(by: index * Self.byteCountMax)
      unsafe vectors.initializeElement(
        at: index, to: iovec(iov_base: slot, iov_len: Self.byteCountMax))
      unsafe messages.initializeElement(at: index, to: received_message())
      unsafe messages[index].header.msg_iov = vectors.baseAddress?.advanced(by: index)
      unsafe messages[index].header.msg_iovlen = 1
      unsafe messages[index].header.msg_name = UnsafeMutableRawPointer(
        sources.baseAddress?.advanced(by: index))
      unsafe messages[index].header.msg_control = control.baseAddress?.advanced(
        by: index * Self.controlByteCountMax)
    }
  }

  deinit {
    unsafe bytes.deallocate()
    unsafe control.deallocate()
    unsafe sources.deallocate()
    unsafe vectors.deallocate()
    unsafe messages.deallocate()
  }

  /// Reads up to eight datagrams, and calls this with each whose interface and sender are known.
  /// Nothing may be read with this reader meanwhile.
  ///
  /// - Returns: Whether there may be more.
  func read(
    _ descriptor: Int32, _ version: IPVersion, _ body: (Datagram) -> Void
  ) -> Bool {
    for index in 0..<Self.countMax {
      unsafe messages[index].header.msg_namelen =
        socklen_t(MemoryLayout<InternetSocketAddress.Storage>.size)
      unsafe messages[index].header.msg_controllen = Self.controlByteCountMax
    }
    let count = unsafe receive_messages(
      descriptor, messages.baseAddress, UInt32(Self.countMax), 0, nil)
    // Another error is that of a packet that was sent before.
    guard count >= 0 else { return errno != EAGAIN }
    for index in 0..<Int(count) {
      if let datagram = datagram(at: index, version) { body(datagram) }
    }
    return count == Self.countMax
  }

  /// The datagram at an index of the last read; nil if its interface or sender is unknown.
  private func datagram(at index: Int, _ version: IPVersion) -> Datagram? {
    let (byteCount, header) = unsafe (
      Int(messages[index].byte_count), messages[index].header
    )
    let source = unsafe InternetSocketAddress(sources[index], byteCount: header.msg_namelen)
    let control = unsafe UnsafeRawBufferPointer(
      start: header.msg_control, count: header.msg_controllen)
    guard let source = source.endpoint, let arrival = unsafe arrival(version, control)
    else { return nil }
    let start = index * Self.byteCountMax
    return Datagram(
      bytes: unsafe Array(bytes[start..<start + byteCount]),
      link: MulticastLink(arrival.interface, version), source: source,
      isMulticast: arrival.destination == .multicastDNS(version))
  }

  /// The interface and address of arrival: struct in_pktinfo (ip(7)) or in6_pktinfo (ipv6(7)), in
  /// one of the control messages, each of which begins with a struct cmsghdr.
  private func arrival(
    _ version: IPVersion, _ control: UnsafeRawBufferPointer
  ) -> (interface: InterfaceIndex, destination: InetAddress)? {
    func load<Value: BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
      unsafe control.loadUnaligned(fromByteOffset: offset, as: type)
    }
    let headerByteCount = MemoryLayout<cmsghdr>.size
    var start = 0
    while control.count - start >= headerByteCount {
      let length = Int(clamping: load(start, as: UInt64.self))
      guard (headerByteCount...(control.count - start)).contains(length) else { return nil }
      let body = start + headerByteCount
      switch (load(start + 8, as: Int32.self), load(start + 12, as: Int32.self)) {
      case (Int32(IPPROTO_IP), IP_PKTINFO) where version == .v4 && length >= headerByteCount + 12:
        // Between them: the host's own address on the way back.
        let address = UInt32(bigEndian: load(body + 8, as: UInt32.self))
        return (
          InterfaceIndex(rawValue: load(body, as: UInt32.self)),
          .v4(Inet4Address(rawValue: address))
        )
      case (Int32(IPPROTO_IPV6), IPV6_PKTINFO)
      where version == .v6 && length >= headerByteCount + 20:
        let address = Inet6Address(
          high: UInt64(bigEndian: load(body, as: UInt64.self)),
          low: UInt64(bigEndian: load(body + 8, as: UInt64.self)))
        return (InterfaceIndex(rawValue: load(body + 16, as: UInt32.self)), .v6(address))
      default: start += (length + 7) / 8 * 8
      }
    }
    return nil
  }
}

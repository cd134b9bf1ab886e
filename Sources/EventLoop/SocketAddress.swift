package import Essentials
package import Glibc

/// The address of a socket in the system's form.
package struct SocketAddress: Hashable, Sendable {
  /// `AF_INET`, `AF_INET6`, `AF_UNIX` or `AF_NETLINK`.
  package let family: Int32
  /// `struct sockaddr_in`, `sockaddr_in6`, `sockaddr_un` or `sockaddr_nl`.
  package let bytes: [UInt8]

  /// The maximum length of a UNIX socket's path: a `sockaddr_un` on Linux has 108 bytes, the last
  /// of them zero.
  package static let unixPathByteCountMax = 107

  init(_ address: UnsafePointer<sockaddr>, byteCount: Int) {
    family = Int32(unsafe address.pointee.sa_family)
    bytes = unsafe Array(UnsafeRawBufferPointer(start: address, count: byteCount))
  }

  /// Copies an address of the system's lists, such as that of getifaddrs(3); nil unless it is one of
  /// IPv4 or IPv6.
  package init?(internetAddress address: UnsafePointer<sockaddr>) {
    switch Int32(unsafe address.pointee.sa_family) {
    case AF_INET: unsafe self.init(address, byteCount: MemoryLayout<sockaddr_in>.size)
    case AF_INET6: unsafe self.init(address, byteCount: MemoryLayout<sockaddr_in6>.size)
    default: return nil
    }
  }

  /// The address of a port; `scope` is the index of the interface of a link-local address, 0 for any.
  package init(_ address: InetAddress, port: UInt16, scope: UInt32 = 0) {
    var bytes = ByteWriter()
    switch address {
    case .v4(let address):
      family = AF_INET
      // Family, port, address, padding.
      bytes.uint16(UInt16(AF_INET))
      bytes.bigEndian(UInt64(port), count: 2)
      bytes.append(address.bytes)
      bytes.append([UInt8](repeating: 0, count: 8))
    case .v6(let address):
      family = AF_INET6
      // Family, port, flow, address, scope.
      bytes.uint16(UInt16(AF_INET6))
      bytes.bigEndian(UInt64(port), count: 2)
      bytes.uint32(0)
      bytes.append(address.bytes)
      bytes.uint32(scope)
    }
    self.bytes = bytes.bytes
  }

  /// The address of a UNIX socket; nil if the path is empty or too long.
  package init?(path: String) {
    let path = Array(path.utf8)
    guard !path.isEmpty, path.count <= Self.unixPathByteCountMax, !path.contains(0) else {
      return nil
    }
    self.init(unixName: path + [0])
  }

  /// The address of a UNIX socket with an abstract name (unix(7)); nil if the name is too long.
  package init?(abstractName name: String) {
    // A zero, the name. Its length counts: there is no zero behind.
    guard name.utf8.count <= Self.unixPathByteCountMax else { return nil }
    self.init(unixName: [0] + Array(name.utf8))
  }

  private init(unixName: [UInt8]) {
    family = AF_UNIX
    bytes = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + unixName
  }

  /// The address of a netlink socket that receives messages of groups, under a number that the kernel
  /// chooses (netlink(7)).
  init(netlinkGroups: UInt32) {
    family = AF_NETLINK
    // Family and padding, number, groups.
    var bytes = ByteWriter()
    for number in [UInt32(AF_NETLINK), 0, netlinkGroups] { bytes.uint32(number) }
    self.bytes = bytes.bytes
  }

  /// The address that a socket is bound to; nil if the system reports an error.
  package init?(boundTo descriptor: Int32) {
    unsafe self.init(of: descriptor, getsockname)
  }

  /// The address that a socket is connected to; nil if the system reports an error.
  package init?(connectedTo descriptor: Int32) {
    unsafe self.init(of: descriptor, getpeername)
  }

  private init?(
    of descriptor: Int32,
    _ read: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let address = unsafe withUnsafeMutablePointer(to: &storage) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe read(descriptor, address, &size) == 0
          ? SocketAddress(address, byteCount: Int(size)) : nil
      }
    }
    guard let address else { return nil }
    self = address
  }

  /// The path of a UNIX socket; nil for other families, and for a socket without one.
  package var path: String? {
    // Behind the family, without what follows the first zero (unix(7)).
    let path = bytes.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
    return family == AF_UNIX && !path.isEmpty ? String(validating: path, as: UTF8.self) : nil
  }

  /// The port of an IPv4 or IPv6 address; nil for a UNIX socket.
  package var port: UInt16? {
    guard [AF_INET, AF_INET6].contains(family), bytes.count >= 4 else { return nil }
    return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
  }

  /// The address without its port and scope; nil for a UNIX socket.
  package var internetAddress: InetAddress? {
    func number(at index: Int) -> UInt64 {
      bytes[index..<index + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    switch (family, bytes.count) {
    case (AF_INET, 8...):
      return .v4(Inet4Address(bytes[4], bytes[5], bytes[6], bytes[7]))
    case (AF_INET6, 24...): return .v6(Inet6Address(high: number(at: 8), low: number(at: 16)))
    default: return nil
    }
  }

  /// The index of the interface to which an IPv6 address is scoped; 0 for any, and for other families.
  package var scope: UInt32 {
    guard family == AF_INET6, bytes.count >= 28 else { return 0 }
    return bytes[24..<28].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// A new stream socket of this family, which doesn't block and isn't inherited by other programs.
  package func makeSocket() throws(SystemError) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { throw .current }
    if family != AF_UNIX { setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY) }
    return descriptor
  }

  /// Hands the address to `bind` or `connect`.
  package func with(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return unsafe call(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}

/// Sets an option of a socket to one, where the system has it.
func setOption(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
  var value: Int32 = 1
  _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}

extension SocketAddress {
  /// Whether a program has a stream socket at this UNIX socket address. Doesn't block.
  package var isListenedAt: Bool {
    // Where a program has one, a socket of another type is refused as such, and the program doesn't notice.
    if connectionError(of: Int32(SOCK_SEQPACKET.rawValue)) == EPROTOTYPE { return true }
    // Unless the connection is refused, there is one, even if its queue is full (EAGAIN).
    return connectionError(of: Int32(SOCK_STREAM.rawValue)) != ECONNREFUSED
  }

  /// The error of an attempt to connect a socket of a type; 0 for none.
  private func connectionError(of type: Int32) -> Int32 {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, type | flags, 0)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    return with { unsafe connect(descriptor, $0, $1) } == 0 ? 0 : errno
  }
}

import CNetlink
import Essentials
import Glibc
import EventLoop

/// A netlink(7) socket on which the kernel performs a request before `send` returns, so that there
/// is no waiting.
struct NetlinkSocket: ~Copyable {
  /// What part of the kernel is spoken to.
  enum Part {
    /// Interfaces, addresses, routes.
    case route
    /// Sockets.
    case sockets
    /// The packet filter.
    case filter

    fileprivate var protocolNumber: Int32 {
      switch self {
      case .route: NETLINK_ROUTE
      case .sockets: NETLINK_SOCK_DIAG
      case .filter: NETLINK_NETFILTER
      }
    }
  }

  /// No message the kernel sends is longer (netlink(7)).
  static let readByteCount = 32_768

  private let descriptor: Int32

  /// Opens a socket. That needs no privilege; requests may.
  init(_ part: Part) throws(SystemError) { descriptor = try Netlink.open(part.protocolNumber) }

  deinit { close(descriptor) }

  /// Sends requests, one or several.
  func send(_ bytes: [UInt8]) throws(SystemError) {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count == bytes.count else { throw .current }
  }

  /// The kernel's next messages; none if there are no more now.
  func receive() throws(SystemError) -> [NetlinkMessage] {
    var buffer = [UInt8](repeating: 0, count: Self.readByteCount)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count >= 0 else {
      if errno == EAGAIN { return [] }
      throw .current
    }
    var reader = ByteReader(buffer[..<count])
    var messages: [NetlinkMessage] = []
    do throws(Truncated) {
      while !reader.isAtEnd { messages.append(try NetlinkMessage.read(&reader)) }
    } catch { throw SystemError(number: EBADMSG) }
    return messages
  }

  /// Has one thing done.
  func perform(_ request: NetlinkRequest) throws(SystemError) {
    try send(request.bytes())
    for message in try receive() {
      guard let number = message.errorNumber, number != 0 else { continue }
      throw SystemError(number: number)
    }
  }

  /// All that the kernel knows of something.
  func dump(_ request: NetlinkRequest) throws(SystemError) -> [NetlinkMessage] {
    try send(request.bytes())
    var all: [NetlinkMessage] = []
    while true {
      let messages = try receive()
      if let number = messages.lazy.compactMap(\.errorNumber).first(where: { $0 != 0 }) {
        throw SystemError(number: number)
      }
      all += messages.filter { !$0.isDone }
      if messages.isEmpty || messages.contains(where: \.isDone) { return all }
    }
  }
}

/// Binds a socket to an address that is given as the bytes of a structure of C.
func bindSocket(_ descriptor: Int32, to address: [UInt8]) throws(SystemError) {
  let status = unsafe address.withUnsafeBytes { bytes in
    guard let start = bytes.baseAddress else { return Int32(-1) }
    // An array's storage is aligned for any address.
    return unsafe bind(
      descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
  }
  guard status == 0 else { throw .current }
}

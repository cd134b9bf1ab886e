import AppMachines
package import Essentials
import EventLoop
import Glibc

/// How soon a peer is given up that answers nothing (tcp(7)). Options that the app has set itself stay.
package struct HeldSocketTimes: Hashable, Sendable {
  /// The time without a byte after which the peer is probed (`TCP_KEEPIDLE`), in seconds.
  package var idleSeconds = 120
  /// The time between probes (`TCP_KEEPINTVL`), in seconds.
  package var probeSeconds = 30
  /// The time without an answer after which the connection has failed (`TCP_USER_TIMEOUT`), in milliseconds.
  package var unansweredMilliseconds = 180_000
  /// When the list of held sockets is written again that could not be written.
  package var listRetry = TimeSpan.seconds(30)

  package init() {}
}

/// The state and the options of TCP sockets.
enum TCPSocketOptions {
  /// Whether it is a TCP socket with a connection from which bytes may come.
  static func isConnected(_ descriptor: Int32) -> Bool {
    let family = value(descriptor, SOL_SOCKET, SO_DOMAIN)
    guard value(descriptor, SOL_SOCKET, SO_PROTOCOL) == Int32(IPPROTO_TCP),
      family == AF_INET || family == AF_INET6,
      let state = information(descriptor).first
    else { return false }
    return state == established || state == closeWait
  }

  /// Whether it is a TCP socket, also one whose connection has ended.
  static func isConnection(_ descriptor: Int32) -> Bool {
    value(descriptor, SOL_SOCKET, SO_PROTOCOL) == Int32(IPPROTO_TCP)
      && value(descriptor, SOL_SOCKET, SO_ACCEPTCONN) == 0
  }

  // The kernel's states (net/tcp_states.h), as in `tcpi_state`.
  private static let established: UInt8 = 1
  private static let closed: UInt8 = 7
  private static let closeWait: UInt8 = 8

  /// The counts of a socket. Its error, if it has one, is left to the app.
  static func reading(of descriptor: Int32) -> HeldSocketReading {
    let information = information(descriptor)
    var unread: Int32 = 0
    if ioctl(descriptor, UInt(FIONREAD), &unread) != 0 { unread = 0 }
    let waiting = UInt64(max(0, unread))
    // `tcpi_bytes_received`, since Linux 4.1, behind the C library's structure.
    let received =
      information.count >= receivedCountEnd
      ? information.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: receivedCountStart, as: UInt64.self)
      } : waiting
    let state = information.first ?? closed
    let sinceReceived =
      information.count >= sinceReceivedEnd
      ? information.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: sinceReceivedStart, as: UInt32.self)
      } : nil
    return HeldSocketReading(
      receivedCount: received, readCount: received - min(received, waiting),
      hasEnded: state == closed || state == closeWait,
      sinceReceived: sinceReceived.map { .milliseconds(Int64($0)) })
  }

  /// `tcpi_last_data_recv`, in milliseconds.
  private static let sinceReceivedStart = 52
  private static let sinceReceivedEnd = 56
  private static let receivedCountStart = 128
  private static let receivedCountEnd = 136

  /// `struct tcp_info` as far as the kernel has it; empty for another kind of socket.
  private static func information(_ descriptor: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 256)
    var size = socklen_t(bytes.count)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &bytes, &size) == 0 else {
      return []
    }
    return Array(bytes.prefix(Int(size)))
  }

  /// Has silent and vanished peers noticed.
  static func setTimes(_ times: HeldSocketTimes, of descriptor: Int32) {
    let tcp = Int32(IPPROTO_TCP)
    if value(descriptor, SOL_SOCKET, SO_KEEPALIVE) == 0 {
      set(descriptor, tcp, TCP_KEEPIDLE, times.idleSeconds)
      set(descriptor, tcp, TCP_KEEPINTVL, times.probeSeconds)
      set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    }
    if value(descriptor, tcp, TCP_USER_TIMEOUT) == 0 {
      set(descriptor, tcp, TCP_USER_TIMEOUT, times.unansweredMilliseconds)
    }
  }

  private static func value(_ descriptor: Int32, _ level: Int32, _ option: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, level, option, &value, &size) == 0 ? value : nil
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int) {
    var value = Int32(clamping: value)
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The peer's address and port, for people.
  static func peer(of descriptor: Int32) -> String {
    guard let address = SocketAddress(connectedTo: descriptor),
      let host = address.internetAddress, let port = address.port
    else { return "" }
    return switch host {
    case .v4: "\(host):\(port)"
    case .v6: "[\(host)]:\(port)"
    }
  }
}

import EventLoop
import Glibc
import HubPlaces

/// The service manager that started the program, if it is one with systemd's protocols (sd_notify(3),
/// sd_listen_fds(3)).
package enum ServiceManager {
  /// The first descriptor that it passes.
  private static let firstDescriptor: Int32 = 3

  /// The sockets that it opened for a hub.
  package struct Sockets: Hashable, Sendable {
    /// Those of the radio.
    package var radio: [HubSocket.OpenSocket] = []
    /// Those of Multicast DNS: their paths end as ``HubPlaces/HubPath/bonjour(beside:)`` has it.
    package var network: [HubSocket.OpenSocket] = []
  }

  /// The listening UNIX sockets that it opened for the program, with the names of `FileDescriptorName=`; none if it
  /// opened none.
  ///
  /// - Throws: If it passed something else.
  package static func sockets() throws(HubServerError) -> Sockets {
    guard let process = ProcessEnvironment.value("LISTEN_PID"), Int32(process) == getpid(),
      let text = ProcessEnvironment.value("LISTEN_FDS"), let count = Int32(text), count > 0
    else { return Sockets() }
    // Before the descriptors are looked at, of which there may be fewer.
    guard count <= socketCountMax else {
      throw HubServerError(.failed, "A hub has at most \(socketCountMax) sockets.")
    }
    let names = names(ProcessEnvironment.value("LISTEN_FDNAMES"), count: Int(count))
    var sockets = Sockets()
    for (index, name) in names.enumerated() {
      let descriptor = firstDescriptor + Int32(index)
      guard isListening(descriptor) else {
        throw HubServerError(
          .failed, "The service manager must open UNIX stream sockets only for the hub.")
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      let socket = HubSocket.OpenSocket(descriptor: descriptor, name: name)
      if isOfNetwork(descriptor) {
        sockets.network.append(socket)
      } else {
        sockets.radio.append(socket)
      }
    }
    return sockets
  }

  private static func isOfNetwork(_ descriptor: Int32) -> Bool {
    SocketAddress(boundTo: descriptor)?.path?.hasSuffix(HubPath.bonjour(beside: "")) == true
  }

  /// One socket for each policy; more are a mistake.
  private static let socketCountMax: Int32 = 64

  /// The names of sockets, separated by colons. Without one for each, none is believed.
  static func names(_ text: String?, count: Int) -> [String?] {
    let names = (text ?? "").split(separator: ":", omittingEmptySubsequences: false)
    guard names.count == count else { return [String?](repeating: nil, count: count) }
    return names.map { $0.isEmpty ? nil : String($0) }
  }

  private static func isListening(_ descriptor: Int32) -> Bool {
    func option(_ name: Int32) -> Int32? {
      var value: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
    return option(SO_ACCEPTCONN) == 1 && option(SO_DOMAIN) == AF_UNIX
      && option(SO_TYPE) == Int32(SOCK_STREAM.rawValue)
  }

  /// Notifies it of a state, such as "READY=1"; does nothing without one.
  package static func notify(_ state: String) {
    if let name = ProcessEnvironment.value("NOTIFY_SOCKET") { notify(state, at: name) }
  }

  /// Sends a state to the socket with a name. What the socket doesn't take at once is lost.
  static func notify(_ state: String, at name: String) {
    var path = Array(name.utf8)
    // An abstract name begins with a zero, for which "@" is written.
    let isAbstract = path.first == UInt8(ascii: "@")
    guard isAbstract || path.first == UInt8(ascii: "/"),
      path.count <= SocketAddress.unixPathByteCountMax
    else { return }
    if isAbstract { path[0] = 0 } else { path.append(0) }
    let address = unsafe withUnsafeBytes(of: sa_family_t(AF_UNIX)) { unsafe Array($0) } + path
    let descriptor = Glibc.socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(state.utf8)
    _ = unsafe address.withUnsafeBytes { address -> Int in
      guard let start = address.baseAddress else { return -1 }
      return unsafe sendto(
        descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL),
        start.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
    }
  }
}

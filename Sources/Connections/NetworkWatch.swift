internal import CLinux
internal import Dispatch
internal import Essentials
internal import Glibc
internal import EventLoop
internal import Synchronization

/// Reports changes of interfaces, addresses or routes of this host (rtnetlink(7)), until it is
/// released. On a system without rtnetlink, nothing is reported.
package final class NetworkWatch: Sendable {
  private let number: UInt64

  /// - Parameter onChange: Called on a system thread, once for all changes within a tenth of a
  ///   second.
  package init(onChange: @escaping @Sendable () -> Void) {
    number = NetworkSocket.shared.add(onChange)
  }

  deinit { NetworkSocket.shared.remove(number) }
}

/// The process's one socket for that, opened when it is needed first.
private final class NetworkSocket: Sendable {
  static let shared = NetworkSocket()

  private struct State {
    var observers: [UInt64: @Sendable () -> Void] = [:]
    var lastNumber: UInt64 = 0
    var watch: ReadinessWatch?
    var isTelling = false
  }

  private let state = Mutex(State())

  // NETLINK_ROUTE
  private static let routeProtocol: Int32 = 0
  // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, _ROUTE, RTMGRP_IPV6_IFADDR, _ROUTE
  private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
  /// Changes within this time are reported together.
  private static let pause = DispatchTimeInterval.milliseconds(100)

  func add(_ observer: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = observer
      if state.watch == nil { state.watch = open() }
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) {
    let old = state.withLock { $0.observers.removeValue(forKey: number) }
    withExtendedLifetime(old) {}
  }

  private func open() -> ReadinessWatch? {
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let number = socket(AF_NETLINK, type, Self.routeProtocol)
    guard number >= 0 else { return nil }
    let descriptor = Descriptor(number)
    // struct sockaddr_nl: family, padding, the sender, groups.
    var address = ByteWriter()
    for number in [UInt32(AF_NETLINK), 0, Self.groups] { address.uint32(number) }
    let result = address.bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        bind(number, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
    }
    guard result == 0 else { return nil }
    let watch = try? ReadinessWatch(.reading, descriptor) { [self] in take(from: descriptor) }
    watch?.arm()
    return watch
  }

  /// The content of the messages doesn't matter, only that there are some, or that some were lost.
  private func take(from descriptor: Descriptor) {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    while true {
      let count = recv(descriptor.number, &bytes, bytes.count, 0)
      guard count > 0 || (count < 0 && (errno == ENOBUFS || errno == EINTR)) else { break }
    }
    let isFirst = state.withLock { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    if isFirst {
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.pause) { self.notify() }
    }
    state.withLock { $0.watch }?.arm()
  }

  private func notify() {
    let observers = state.withLock { state in
      state.isTelling = false
      return state.observers
    }
    for number in observers.keys.sorted() { observers[number]?() }
  }
}

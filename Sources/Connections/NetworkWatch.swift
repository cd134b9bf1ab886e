internal import Essentials
internal import Glibc
internal import EventLoop
internal import Synchronization

/// Reports changes of interfaces, addresses or routes of this host (rtnetlink(7)), until it is
/// released. On a system without rtnetlink, nothing is reported.
package final class NetworkWatch: Sendable {
  private let number: UInt64

  /// - Parameter onChange: Called on ``EpollLoop/shared``, once for all changes within a tenth of a
  ///   second. It must not wait.
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
    var isOpen = false
  }

  private let state = Mutex(State())
  private let loop = EpollLoop.shared

  /// Changes within this time are reported together.
  private static let pause = TimeSpan.milliseconds(100)

  func add(_ observer: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = observer
      if !state.isOpen { state.isOpen = open() }
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) {
    let old = state.withLock { $0.observers.removeValue(forKey: number) }
    withExtendedLifetime(old) {}
  }

  /// Opens the socket at once, so that the kernel keeps what changes before the loop watches it.
  private func open() -> Bool {
    guard let descriptor = try? Netlink.openRoute([.interfaces, .addresses, .routes]) else {
      return false
    }
    loop.execute { [self] in watch(descriptor) }
    return true
  }

  private func watch(_ descriptor: Int32) {
    var isNotifying = false
    let timer = loop.makeTimer { [self] in
      isNotifying = false
      notify()
    }
    do throws(SystemError) {
      _ = try WatchedDescriptor(owning: descriptor, on: loop) { _ in
        Self.takeMessages(of: descriptor)
        guard !isNotifying else { return }
        isNotifying = true
        timer.set(.now + Self.pause)
      }
    } catch {
      state.withLock { $0.isOpen = false }
    }
  }

  /// The content of the messages doesn't matter, only that there are some, or that some were lost.
  private static func takeMessages(of descriptor: Int32) {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    // The descriptor is readable again while there are more.
    for _ in 0..<16 {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      guard count > 0 || (count < 0 && (errno == ENOBUFS || errno == EINTR)) else { break }
    }
  }

  private func notify() {
    let observers = state.withLock { $0.observers }
    for number in observers.keys.sorted() { observers[number]?() }
  }
}

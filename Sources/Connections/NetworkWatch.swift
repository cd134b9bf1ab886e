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
    /// Whether another attempt to open it is scheduled.
    var isRetrying = false
  }

  private let state = Mutex(State())
  private let loop = EpollLoop.shared

  /// Changes within this time are reported together.
  private static let pause = TimeSpan.milliseconds(100)
  /// How long to wait where the system has no descriptor for the socket.
  private static let retryDelay = TimeSpan.seconds(1)

  func add(_ observer: @escaping @Sendable () -> Void) -> UInt64 {
    let (number, shortage) = state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = observer
      return (state.lastNumber, openIfNeeded(&state))
    }
    if let shortage { DescriptorShortage.report(shortage) }
    return number
  }

  func remove(_ number: UInt64) {
    let old = state.withLock { $0.observers.removeValue(forKey: number) }
    withExtendedLifetime(old) {}
  }

  /// Opens the socket at once, so that the kernel keeps what changes before the loop watches it. In a shortage of
  /// descriptors, it is tried again until that is over, or nobody observes.
  ///
  /// - Returns: The error number of a shortage, to be reported outside the lock.
  private func openIfNeeded(_ state: inout State, isRetry: Bool = false) -> Int32? {
    guard !state.isOpen, !state.isRetrying else { return nil }
    do throws(SystemError) {
      let descriptor = try Netlink.openRoute([.interfaces, .addresses, .routes])
      state.isOpen = true
      loop.execute { [self] in watch(descriptor, isRetry: isRetry) }
      return nil
    } catch {
      guard DescriptorShortage(errorNumber: error.number) != nil else { return nil }
      retryLater(&state)
      return error.number
    }
  }

  private func retryLater(_ state: inout State) {
    state.isRetrying = true
    loop.execute { [self] in loop.schedule(in: Self.retryDelay) { self.retry() } }
  }

  private func retry() {
    let shortage = state.withLock { state -> Int32? in
      state.isRetrying = false
      return state.observers.isEmpty ? nil : openIfNeeded(&state, isRetry: true)
    }
    if let shortage { DescriptorShortage.report(shortage) }
  }

  private func watch(_ descriptor: Int32, isRetry: Bool) {
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
      // Changes were missed before.
      if isRetry { notify() }
    } catch {
      // The system has no room for another descriptor in epoll; it may have later.
      state.withLock { state in
        state.isOpen = false
        retryLater(&state)
      }
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

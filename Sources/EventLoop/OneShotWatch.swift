import CLinux
import Essentials
import Glibc
import Synchronization

/// Reports that a descriptor is ready, once for each call of ``arm()``. May be used from any thread.
///
/// Arming a watch wakes no thread: epoll(7) may be changed while the loop waits. Releasing the watch
/// ends it.
package final class OneShotWatch: Sendable {
  /// The entry of a watch in epoll.
  struct Entry: Sendable {
    var epoll: Int32
    var number: UInt64
  }

  private struct State {
    var isArmed = false
    var isCancelled = false
    /// Nil until the loop has added the descriptor.
    var entry: Entry?
  }

  private let loop: EpollLoop
  private let descriptor: Int32
  /// Keeps the descriptor open for as long as epoll has it.
  private let owner: any AnyObject & Sendable
  private let events: UInt32
  private let onReady: @Sendable () -> Void
  private let state = Mutex(State())

  /// How long to wait before a descriptor that epoll refused is added again.
  private static let retryDelay = TimeSpan.seconds(1)

  /// Creates a watch that is not armed.
  ///
  /// - Parameters:
  ///   - descriptor: A descriptor that has no other watch.
  ///   - owner: An object that keeps the descriptor open. It is released with the watch.
  ///   - readiness: The readiness that is reported; errors and the end are reported, too.
  ///   - loop: The loop that watches the descriptor.
  ///   - onReady: Called on the loop; it must not wait.
  package init(
    _ descriptor: Int32, ownedBy owner: any AnyObject & Sendable, for readiness: Readiness,
    on loop: EpollLoop, onReady: @escaping @Sendable () -> Void
  ) {
    self.loop = loop
    self.descriptor = descriptor
    self.owner = owner
    events = readiness.events
    self.onReady = onReady
    loop.execute { [weak self] in self?.add() }
  }

  deinit { cancel() }

  /// Requests one report.
  package func arm() {
    state.withLock { state in
      guard !state.isArmed, !state.isCancelled else { return }
      state.isArmed = true
      if let entry = state.entry { control(EPOLL_CTL_MOD, entry, events) }
    }
  }

  /// Ends the watch. A report that is being made on the loop is completed.
  package func cancel() {
    let entry = state.withLock { state -> Entry? in
      state.isCancelled = true
      defer { state.entry = nil }
      if let entry = state.entry { control(EPOLL_CTL_DEL, entry, 0) }
      return state.entry
    }
    guard let entry else { return }
    loop.execute { [loop] in loop.forget(entry.number) }
  }

  /// Adds the descriptor to epoll. On the loop.
  private func add() {
    let isRefused = state.withLock { state in
      guard !state.isCancelled else { return false }
      let entry = loop.makeEntry(for: self)
      let isAdded = control(EPOLL_CTL_ADD, entry, state.isArmed ? events : 0)
      if isAdded { state.entry = entry } else { loop.forget(entry.number) }
      return !isAdded
    }
    guard isRefused else { return }
    // The system has no room for another; it may have later.
    loop.schedule(in: Self.retryDelay) { [weak self] in self?.add() }
  }

  /// On the loop.
  func isReady() {
    let isAwaited = state.withLock { state in
      defer { state.isArmed = false }
      return state.isArmed && !state.isCancelled
    }
    if isAwaited { onReady() }
  }

  @discardableResult
  private func control(_ operation: Int32, _ entry: Entry, _ events: UInt32) -> Bool {
    var event = epoll_event()
    event.events = events | EPOLLONESHOT.rawValue
    event.data.u64 = entry.number
    return unsafe epoll_ctl(entry.epoll, operation, descriptor, &event) == 0
  }
}

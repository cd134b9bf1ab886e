internal import CLinux
internal import Dispatch
internal import Glibc
internal import EventLoop
internal import Synchronization

/// Reports that a descriptor is ready, once for each call of `arm`.
final class ReadinessWatch: Sendable {
  enum Kind: Sendable { case reading, writing }

  private let kind: Kind
  /// Stays open for as long as the poller knows it.
  private let descriptor: Descriptor
  private let number: UInt64
  private let onReady: @Sendable () -> Void
  private let state = Mutex(State())

  private struct State {
    var isArmed = false
    var isCancelled = false
  }

  /// - Parameter onReady: Called on the poller's thread; it must not wait.
  init(
    _ kind: Kind, _ descriptor: Descriptor, onReady: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    self.kind = kind
    // epoll knows each descriptor once.
    self.descriptor = kind == .reading ? descriptor : try descriptor.duplicate()
    self.onReady = onReady
    number = Poller.shared.nextNumber()
    try Poller.shared.add(self.descriptor, number)
    Poller.shared.know(self, number)
  }

  deinit { cancel() }

  /// Requests one report.
  func arm() {
    state.withLock { state in
      guard !state.isArmed, !state.isCancelled else { return }
      state.isArmed = true
      Poller.shared.arm(descriptor, number, kind == .reading ? EPOLLIN : EPOLLOUT)
    }
  }

  /// Ends the watch. A report that is being made on another thread is completed.
  func cancel() {
    let isFirst = state.withLock { state in
      defer { state.isCancelled = true }
      return !state.isCancelled
    }
    if isFirst { Poller.shared.remove(descriptor, number) }
  }

  /// On the poller's thread.
  fileprivate func isReady() {
    let isAwaited = state.withLock { state in
      defer { state.isArmed = false }
      return state.isArmed && !state.isCancelled
    }
    if isAwaited { onReady() }
  }
}

/// Waits for all descriptors that are watched, in one thread of the process (epoll(7)).
///
/// Dispatch's sources would do the same, but on Linux they crash now and then where many sockets
/// come and go at once (Swift 6.3.1).
private final class Poller: Sendable {
  static let shared = Poller()

  private struct Reference: Sendable {
    weak let watch: ReadinessWatch?
  }

  private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
  private let watches = Mutex<[UInt64: Reference]>([:])
  private let lastNumber = Atomic<UInt64>(0)

  /// Events taken at once.
  private static let eventsMax = 64

  private init() {
    // Without a descriptor for it no watch can be made, which is reported there.
    guard epoll >= 0 else { return }
    DispatchQueue(label: "ambit.poller").async { [self] in
      while true { poll() }
    }
  }

  func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

  func know(_ watch: ReadinessWatch, _ number: UInt64) {
    watches.withLock { $0[number] = Reference(watch: watch) }
  }

  func add(_ descriptor: Descriptor, _ number: UInt64) throws(SystemError) {
    guard control(EPOLL_CTL_ADD, descriptor, number, 0) == 0 else { throw .current }
  }

  func arm(_ descriptor: Descriptor, _ number: UInt64, _ event: EPOLL_EVENTS) {
    _ = control(EPOLL_CTL_MOD, descriptor, number, event.rawValue)
  }

  func remove(_ descriptor: Descriptor, _ number: UInt64) {
    _ = control(EPOLL_CTL_DEL, descriptor, number, 0)
    watches.withLock { $0[number] = nil }
  }

  private func control(
    _ operation: Int32, _ descriptor: Descriptor, _ number: UInt64, _ events: UInt32
  ) -> Int32 {
    var event = epoll_event()
    event.events = events | EPOLLONESHOT.rawValue
    event.data.u64 = number
    return epoll_ctl(epoll, operation, descriptor.number, &event)
  }

  private func poll() {
    var events = [epoll_event](repeating: epoll_event(), count: Self.eventsMax)
    let count = epoll_wait(epoll, &events, Int32(events.count), -1)
    guard count > 0 else { return }
    for event in events.prefix(Int(count)) {
      // One that was removed meanwhile is not known any more.
      let watch = watches.withLock { $0[event.data.u64]?.watch }
      watch?.isReady()
    }
  }
}

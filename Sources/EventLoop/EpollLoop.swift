import CLinux
package import Essentials
import Glibc
import Synchronization

/// An event loop: a thread that waits for descriptors and timers (epoll(7)), and handles them
/// serially.
///
/// The thread blocks signals, starts with the first enqueued work, and never ends. All methods
/// except ``execute(_:)`` must be called on the loop.
package final class EpollLoop: @unchecked Sendable {
  // Sendable because the inbox is locked, and everything else that changes is touched on the loop's
  // thread only.

  package typealias Work = @Sendable () -> Void

  /// The loop that is shared in this process.
  package static let shared = EpollLoop()

  private struct WeakWatch {
    weak let watch: OneShotWatch?
  }

  private struct Inbox {
    var work: [Work] = []
    var hasThread = false
    /// Whether the thread waits, or is about to, and has not been woken yet.
    var isWaiting = false
    /// An eventfd(2) that ends the wait.
    var bell: Int32 = -1
  }

  private let inbox = Mutex(Inbox())
  /// The thread of this loop; 0 before it runs.
  private let thread = Atomic<UInt>(0)
  private var descriptor: Int32 = -1
  private var timers = TimerList<EpollTimer>()
  /// By numbers that are never reused, unlike descriptors, so that an event that was ready before
  /// its descriptor was closed is not reported to another.
  private var watched: [UInt64: WatchedDescriptor] = [:]
  /// The watches that any thread may arm, by the same numbers.
  private var oneShotWatches: [UInt64: WeakWatch] = [:]
  private var lastNumber: UInt64 = 0
  /// Storage of work that was done, used again.
  private var spareWork: [Work] = []
  private var busyWaitPolicy = BusyWaitPolicy()
  private let busyWaitSpan: TimeSpan
  /// Where descriptors are read to before the bytes are copied out, once for all of them.
  private lazy var readBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: Self.readByteCountMax, alignment: 16)

  /// The maximum number of bytes of one read: a burst of small packets, or the largest packet.
  package static let readByteCountMax = 128 * 1024

  /// How many ready descriptors are handled before the loop polls again.
  private static let eventCountMax = 64
  /// How long to wait before something that the system refused is tried again.
  private static let retryMilliseconds: Int32 = 1_000

  /// Creates a loop whose thread is not started.
  ///
  /// - Parameter busyWaitSpan: The maximum time to poll before sleeping, after an event of a
  ///   descriptor with ``WatchedDescriptor/expectsPromptEvents``.
  package init(busyWaitSpan: TimeSpan = BusyWaitPolicy.span) {
    self.busyWaitSpan = busyWaitSpan
  }

  /// Whether the calling thread is the loop's.
  package var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

  /// Enqueues work on the loop, after work enqueued earlier. May be called from any thread.
  package func execute(_ work: @escaping Work) {
    let bell = inbox.withLock { inbox -> Int32? in
      inbox.work.append(work)
      if !inbox.hasThread { inbox.hasThread = startThread() }
      guard inbox.isWaiting else { return nil }
      inbox.isWaiting = false
      return inbox.bell
    }
    if let bell { eventfd_write(bell, 1) }
  }

  /// Runs a closure on the loop after a delay.
  package func schedule(in span: TimeSpan, _ work: @escaping () -> Void) {
    makeTimer(work).set(.now + span)
  }

  /// Creates a timer that fires on the loop. It is retained while it is set.
  package func makeTimer(_ onFire: @escaping () -> Void) -> any LoopTimer {
    EpollTimer(self, onFire)
  }

  // MARK: Descriptors and timers

  /// Begins to look at a descriptor, and gives its number here.
  func add(_ watched: WatchedDescriptor) throws(SystemError) -> UInt64 {
    lastNumber += 1
    try control(EPOLL_CTL_ADD, watched.descriptor, lastNumber, watched.interest)
    self.watched[lastNumber] = watched
    return lastNumber
  }

  func change(_ watched: WatchedDescriptor, _ number: UInt64) {
    // It has a place already, so that nothing has to be had for this.
    try? control(EPOLL_CTL_MOD, watched.descriptor, number, watched.interest)
  }

  func remove(_ watched: WatchedDescriptor, _ number: UInt64) {
    try? control(EPOLL_CTL_DEL, watched.descriptor, number, [])
    self.watched[number] = nil
  }

  private func control(
    _ operation: Int32, _ other: Int32, _ number: UInt64, _ interest: Readiness
  ) throws(SystemError) {
    var event = epoll_event()
    event.events = interest.events
    event.data.u64 = number
    guard unsafe epoll_ctl(descriptor, operation, other, &event) == 0 else { throw .current }
  }

  /// Makes a number for a watch, which adds the descriptor itself.
  func makeEntry(for watch: OneShotWatch) -> OneShotWatch.Entry {
    lastNumber += 1
    oneShotWatches[lastNumber] = WeakWatch(watch: watch)
    return OneShotWatch.Entry(epoll: descriptor, number: lastNumber)
  }

  /// Forgets a watch whose descriptor is not in epoll any more.
  func forget(_ number: UInt64) { oneShotWatches[number] = nil }

  func set(_ timer: EpollTimer, at time: Instant) { timers.insert(timer, at: time) }

  func cancel(_ timer: EpollTimer, at time: Instant) { timers.remove(timer, at: time) }

  // MARK: The thread

  /// False where the system gives no thread; the next work tries again.
  private func startThread() -> Bool { DetachedThread.start { self.run() } }

  private func run() {
    thread.store(pthread_self(), ordering: .relaxed)
    openDescriptors()
    var events = [epoll_event](repeating: epoll_event(), count: Self.eventCountMax)
    while true {
      doWork()
      ringTimers()
      let count = wait(&events)
      for event in events.prefix(count) { handle(event) }
    }
  }

  /// Where the process has no descriptors left, waits until it has.
  private func openDescriptors() {
    while true {
      descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
      let bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
      if descriptor >= 0, bell >= 0,
        (try? control(EPOLL_CTL_ADD, bell, 0, .readable)) != nil
      {
        return inbox.withLock { $0.bell = bell }
      }
      let error = SystemError.current
      for opened in [descriptor, bell] where opened >= 0 { close(opened) }
      if error.number == EMFILE, DescriptorLimit.hasRoom() { continue }
      DescriptorShortage.report(error.number)
      poll(nil, 0, Self.retryMilliseconds)
    }
  }

  private func doWork() {
    var work = spareWork
    spareWork = []
    inbox.withLock { swap(&$0.work, &work) }
    for item in work { item() }
    work.removeAll(keepingCapacity: true)
    spareWork = work
  }

  private func ringTimers() {
    guard let next = timers.next, case let now = Instant.now, next <= now else { return }
    // At most as many as there are: those that ring may set others for now, and other things have to
    // be done too.
    for _ in 0..<timers.count { timers.popDue(now)?.ring() }
  }

  private func handle(_ event: epoll_event) {
    guard event.data.u64 != 0 else {
      var calls: UInt64 = 0
      _ = unsafe eventfd_read(inbox.withLock { $0.bell }, &calls)
      return
    }
    guard let watched = watched[event.data.u64] else {
      // One that was cancelled meanwhile is not known any more.
      oneShotWatches[event.data.u64]?.watch?.isReady()
      return
    }
    if watched.expectsPromptEvents { expectPromptEvent() }
    watched.onReady(Readiness(events: event.events))
  }

  /// Makes the loop poll for a short time before it sleeps the next time, because an event is
  /// likely to follow within microseconds. On the loop only.
  package func expectPromptEvent() { busyWaitPolicy.expectEvent() }

  /// Reads what a descriptor has.
  ///
  /// - Parameter byteCountMax: How much at most, up to ``readByteCountMax``.
  /// - Returns: The bytes; none at the end of the input; nil where there is nothing to read now.
  func read(
    _ descriptor: Int32, byteCountMax: Int = readByteCountMax
  ) throws(SystemError) -> [UInt8]? {
    let count = unsafe Glibc.read(
      descriptor, readBuffer.baseAddress, min(byteCountMax, readBuffer.count))
    if count >= 0 { return unsafe [UInt8](readBuffer.prefix(count)) }
    let error = SystemError.current
    guard [EAGAIN, EINTR].contains(error.number) else { throw error }
    return nil
  }

  /// Polls the descriptors for a moment, where that is worth it, without sleeping.
  ///
  /// It gives the processor away between two looks, so that a peer on the same processor can answer.
  /// - Returns: How many are ready, 0 where there is other work; nil to sleep.
  private func busyWait(_ events: inout [epoll_event]) -> Int? {
    guard busyWaitPolicy.shouldPoll(hasWork: inbox.withLock { !$0.work.isEmpty }) else {
      return nil
    }
    var last = Instant.now
    let end = last + busyWaitSpan
    while inbox.withLock({ $0.work.isEmpty }) {
      let count = unsafe epoll_wait(descriptor, &events, Int32(events.count), 0)
      let now = Instant.now
      // If another process kept the processor meanwhile, the events were not found in time.
      if now >= end {
        if now - last >= busyWaitSpan {
          busyWaitPolicy.lostProcessor()
        } else {
          busyWaitPolicy.polled(foundEvents: false)
        }
        return count > 0 ? Int(count) : nil
      }
      last = now
      if count > 0 {
        busyWaitPolicy.polled(foundEvents: true)
        return Int(count)
      }
      if let next = timers.next, next <= now { break }
      sched_yield()
    }
    busyWaitPolicy.polled(foundEvents: nil)
    return 0
  }

  /// Waits until there is something to do, and gives how many descriptors are ready.
  private func wait(_ events: inout [epoll_event]) -> Int {
    if let count = busyWait(&events) { return count }
    let hasWork = inbox.withLock { inbox in
      inbox.isWaiting = inbox.work.isEmpty
      return !inbox.isWaiting
    }
    let count = unsafe epoll_wait(
      descriptor, &events, Int32(events.count), hasWork ? 0 : millisecondsLeft)
    let isRefused = count < 0 && errno != EINTR
    inbox.withLock { $0.isWaiting = false }
    if isRefused { poll(nil, 0, Self.retryMilliseconds) }
    return max(0, Int(count))
  }

  /// Until the next timer rings, not less; -1 if none is set.
  private var millisecondsLeft: Int32 {
    guard let next = timers.next else { return -1 }
    let span = next - .now
    return span <= .zero ? 0 : Int32(clamping: (span.nanoseconds - 1) / 1_000_000 + 1)
  }
}

/// A timer of a loop.
final class EpollTimer: LoopTimer {
  private let loop: EpollLoop
  private let onFire: () -> Void
  private var time: Instant?

  init(_ loop: EpollLoop, _ onFire: @escaping () -> Void) {
    self.loop = loop
    self.onFire = onFire
  }

  func set(_ time: Instant) {
    cancel()
    self.time = time
    loop.set(self, at: time)
  }

  func cancel() {
    if let time { loop.cancel(self, at: time) }
    time = nil
  }

  /// The loop's list has it no more. One that was cancelled by another that rang before does not ring.
  func ring() {
    guard time != nil else { return }
    time = nil
    onFire()
  }
}

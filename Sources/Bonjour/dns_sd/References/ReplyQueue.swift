import CDNSServiceDiscovery
import CLinux
import Glibc
import Synchronization

/// One call of a client's callback.
struct Reply: Sendable {
  /// The reference that it belongs to.
  let reference: Reference
  var flags: DNSServiceFlags
  /// Calls the callback with these flags.
  let call: @Sendable (DNSServiceFlags) -> Void
}

/// Replies that wait for a client, behind one descriptor that is readable while there are any.
final class ReplyQueue: Sendable {
  enum Limits {
    /// A client that never reads gets nothing more after this many replies; each takes about half a
    /// kilobyte.
    static let repliesMax = 100_000
  }

  private struct State {
    /// Those before `next` were taken.
    var replies: [Reply?] = []
    var next = 0
    /// How many replies each reference has.
    var counts: [DNSServiceRef: Int] = [:]
    /// The references whose replies are queued here.
    var members: [DNSServiceRef: Reference] = [:]
    /// The client has no more use for it.
    var isClosed = false
    /// The client did not listen.
    var isOverrun = false
    /// Whether that was reported on the dispatch queue.
    var isOverrunReported = false
    var isReadable = false
    var dispatchQueue: ClientDispatchQueue?
    /// Whether a call on the dispatch queue is scheduled.
    var isScheduled = false

    var count: Int { replies.count - next }
  }

  private let state = Mutex(State())

  /// What the client waits on: eventfd(2).
  let descriptor: dnssd_sock_t

  init() throws(ServiceError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC))
    guard descriptor >= 0 else { throw .noMemory }
  }

  deinit { close(descriptor) }

  // MARK: Filling

  /// Adds a reference whose replies are queued here.
  func join(_ reference: Reference) {
    state.withLock { state in
      if !state.isClosed { state.members[reference.handle] = reference }
    }
  }

  /// Whether the client did not read, and gets nothing more.
  var isOverrun: Bool { state.withLock { $0.isOverrun } }

  /// Adds replies that come together.
  func append(_ replies: [Reply]) {
    let queue: ClientDispatchQueue? = state.withLock { state in
      guard !state.isClosed, !state.isOverrun, !replies.isEmpty else { return nil }
      if state.count + replies.count > Limits.repliesMax {
        state.replies = []
        state.next = 0
        state.counts = [:]
        state.isOverrun = true
        Self.reportOverrun(&state)
      } else {
        Self.add(replies, &state)
      }
      update(&state)
      return Self.queueToTell(&state)
    }
    if let queue { schedule(on: queue) }
  }

  private static func add(_ replies: [Reply], _ state: inout State) {
    for reply in replies where !reply.reference.isEnded {
      state.replies.append(reply)
      state.counts[reply.reference.handle, default: 0] += 1
    }
  }

  /// With a dispatch queue, `DNSServiceProcessResult` isn't called: all references report the
  /// failure.
  private static func reportOverrun(_ state: inout State) {
    guard state.isOverrun, state.dispatchQueue != nil, !state.isOverrunReported else { return }
    state.isOverrunReported = true
    add(state.members.values.flatMap { $0.failures(.notRunning) }, &state)
  }

  /// Removes the waiting replies of a reference.
  func removeReplies(of reference: Reference) {
    state.withLock { state in
      state.members[reference.handle] = nil
      guard state.counts.removeValue(forKey: reference.handle) != nil else { return }
      state.replies = state.replies[state.next...].filter { $0?.reference !== reference }
      state.next = 0
      update(&state)
    }
  }

  /// Removes everything, and wakes threads that wait.
  func end() {
    let members = state.withLock { state in
      defer { state.members = [:] }
      state.isClosed = true
      state.replies = []
      state.next = 0
      state.counts = [:]
      state.dispatchQueue = nil
      update(&state)
      return state.members
    }
    // Released outside the lock.
    withExtendedLifetime(members) {}
  }

  /// Brings the descriptor in line with the state.
  private func update(_ state: inout State) {
    let isReadable = state.count > 0 || state.isClosed || state.isOverrun
    guard isReadable != state.isReadable else { return }
    state.isReadable = isReadable
    if isReadable {
      eventfd_write(descriptor, 1)
    } else {
      drain()
    }
  }

  /// Also if the client did that already, which it should not.
  private func drain() {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, 0) == 1 else { return }
    var value: eventfd_t = 0
    eventfd_read(descriptor, &value)
  }

  // MARK: Reporting

  private func take() -> Reply? {
    state.withLock { state in
      guard state.count > 0, var reply = state.replies[state.next] else { return nil }
      state.replies[state.next] = nil
      state.next += 1
      let left = (state.counts[reply.reference.handle] ?? 1) - 1
      state.counts[reply.reference.handle] = left > 0 ? left : nil
      if left > 0 { reply.flags |= .moreComing }
      // Also where it is never empty because more keeps coming.
      if state.next > state.count {
        state.replies = Array(state.replies[state.next...])
        state.next = 0
      }
      update(&state)
      return reply
    }
  }

  /// Calls the callbacks of all replies that there are; if there are none, waits for some.
  func process() throws(ServiceError) {
    var count = try pendingCount()
    while count == 0 {
      // A client that made the descriptor non-blocking does not wait.
      if fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0 { return }
      wait()
      count = try pendingCount()
    }
    // No more than there were, so that it ends.
    while count > 0, let reply = take() {
      reply.call(reply.flags)
      count -= 1
    }
  }

  private func pendingCount() throws(ServiceError) -> Int {
    let count: Int? = state.withLock { state in
      state.isClosed || state.isOverrun ? nil : state.count
    }
    guard let count else { throw .notRunning }
    return count
  }

  private func wait() {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, -1) == 1 else { return }
    // Readable without replies: the client wrote to it.
    state.withLock { state in
      if !state.isReadable { drain() }
    }
  }

  // MARK: Dispatch queues

  /// Has the callbacks called on a queue from now on. False if there is one already.
  func use(_ queue: ClientDispatchQueue) -> Bool {
    let (isNew, replies): (Bool, ClientDispatchQueue?) = state.withLock { state in
      guard state.dispatchQueue == nil, !state.isClosed else { return (false, nil) }
      state.dispatchQueue = queue
      Self.reportOverrun(&state)
      return (true, Self.queueToTell(&state))
    }
    if let replies { schedule(on: replies) }
    return isNew
  }

  /// Whether callbacks are called on a queue.
  var usesDispatch: Bool { state.withLock { $0.dispatchQueue != nil } }

  private static func queueToTell(_ state: inout State) -> ClientDispatchQueue? {
    guard let queue = state.dispatchQueue, !state.isScheduled, state.count > 0 else { return nil }
    state.isScheduled = true
    return queue
  }

  private func schedule(on queue: ClientDispatchQueue) {
    queue.async(Unmanaged.passRetained(self).toOpaque()) { context in
      guard let context else { return }
      Unmanaged<ReplyQueue>.fromOpaque(context).takeRetainedValue().processOnQueue()
    }
  }

  private func processOnQueue() {
    while let reply = take() { reply.call(reply.flags) }
    let queue: ClientDispatchQueue? = state.withLock { state in
      state.isScheduled = false
      return Self.queueToTell(&state)
    }
    if let queue { schedule(on: queue) }
  }
}

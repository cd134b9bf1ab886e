internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The one serialisation of a stream: of the root at which its events enter, and of every signal
/// that is derived from that root.
///
/// At most one thread holds the gate. Only the holder delivers events or changes the list of
/// observers. A thread that arrives while another holds the gate, or while it holds it itself,
/// leaves its operation in the inbox, and the holder performs it before it leaves. So operations
/// happen in the order in which they were submitted, and recursion costs no stack.
///
/// The inbox is bounded: a thread that has submitted a value waits while there are more than
/// ``backlogMax`` operations in it. Threads that wait take turns at performing them: the holder
/// hands the gate to one of them when it has performed as many for others. A thread doesn't wait if
/// it holds the gate itself, nor where the holder waits for a gate that this thread holds: two
/// streams that feed each other don't deadlock. Nor does it inside a property's `modify` or
/// `withValue`, as an observer of the stream may wait for that.
@usableFromInline
final class Gate: @unchecked Sendable {
  typealias Operation = () -> Void

  /// Zero when the gate is free; otherwise the thread that holds it, with `pendingFlag` when the
  /// inbox or the list of retired objects is not empty.
  private let holder = Synchronization.Atomic<UInt>(0)
  private static var pendingFlag: UInt { 1 }

  /// How operations get from one thread to another.
  private struct Inbox {
    var operations: [Operation] = []
    var waiters: [GateWaiter] = []
  }
  private let inbox = Locked(Inbox())

  /// Retained until the gate is free, as they may be running. Only for the holder.
  private var retired: [AnyObject] = []
  /// Whether the holder only changes the graph, and nothing is running.
  private var isQuiet = false

  /// How often a thread that finds the gate held tries again before it submits its operation: for
  /// about half a microsecond. Two threads that do nothing but send submit 3 % of their events
  /// then; with 64 attempts it was 60 %, each of which costs several deliveries.
  private static var spinLimit: Int { 512 }

  /// How many operations the inbox holds before threads that submit values wait; and how many a
  /// thread performs for others before it hands the gate to a waiting one.
  static var backlogMax: Int { 256 }

  static var currentThread: UInt {
    // Thread descriptors are aligned: bit 0 is free for `pendingFlag`.
    UInt(pthread_self())
  }

  /// Takes the gate if it is free. Must be followed by ``leave()``.
  @inline(__always)
  func enter() -> Bool {
    let (entered, current) = holder.compareExchange(
      expected: 0, desired: Gate.currentThread, successOrdering: .acquiring,
      failureOrdering: .relaxed)
    return entered || enterSpinning(seeing: current)
  }

  @inline(never)
  private func enterSpinning(seeing first: UInt) -> Bool {
    let thread = Gate.currentThread
    if first & ~Gate.pendingFlag == thread { return false }
    for _ in 0..<Gate.spinLimit {
      guard holder.load(ordering: .relaxed) == 0 else { continue }
      if holder.compareExchange(expected: 0, desired: thread, ordering: .acquiring).exchanged {
        return true
      }
    }
    return false
  }

  /// Performs the operations that were submitted in the meantime, and frees the gate.
  @inline(__always)
  func leave() {
    let (left, _) = holder.compareExchange(
      expected: Gate.currentThread, desired: 0, successOrdering: .releasing,
      failureOrdering: .relaxed)
    if !left { emptyInbox() }
  }

  @inline(never)
  private func emptyInbox() {
    let thread = Gate.currentThread
    var dead: [AnyObject] = []
    var performed = 0
    repeat {
      // First the mark, then the inbox: an operation submitted in between sets the mark again.
      holder.store(thread, ordering: .sequentiallyConsistent)
      if performed >= Gate.backlogMax, handOver() { break }
      let taken = takeInbox()
      for waiter in taken.waiters { waiter.wake() }
      for operation in taken.operations { operation() }
      performed += taken.operations.count
      dead += retired
      retired = []
    } while !holder.compareExchange(
      expected: thread, desired: 0, ordering: .acquiringAndReleasing
    ).exchanged
    // Deinitialisers run user code: outside.
    withExtendedLifetime(dead) {}
  }

  private func takeInbox() -> Inbox {
    inbox.withLock { inbox in
      defer { inbox = Inbox() }
      return inbox
    }
  }

  /// Makes a thread that waits the holder, if there is one: it goes on where this one stops.
  private func handOver() -> Bool {
    let next = inbox.withLock { $0.waiters.isEmpty ? nil : $0.waiters.removeFirst() }
    guard let next else { return false }
    next.wake { holder.store(next.thread, ordering: .releasing) }
    return true
  }

  /// Waits until the inbox has room. To be called when a value has been submitted.
  func waitForRoom() {
    guard !isHeldHere, !ThreadMark.locked.isSet else { return }
    guard !ThreadMark.composing.isSet else { return waitForTurn() }
    let waiter = inbox.withLock { inbox -> GateWaiter? in
      guard inbox.operations.count > Gate.backlogMax else { return nil }
      let waiter = GateWaiter(for: self)
      if let waiter { inbox.waiters.append(waiter) }
      return waiter
    }
    guard let waiter else { return }
    waiter.wait()
    if holderThread == waiter.thread { emptyInbox() }
  }

  /// Waits until everything has been performed that was submitted before.
  private func waitForTurn() {
    guard let waiter = GateWaiter(for: self) else { return }
    submit { waiter.wake() }
    waiter.wait()
  }

  /// The thread that holds the gate; zero if it is free.
  var holderThread: UInt { holder.load(ordering: .acquiring) & ~Gate.pendingFlag }

  /// Has an operation performed after everything that was submitted before it.
  func submit(_ operation: @escaping Operation) {
    enqueue(operation)
    wake()
  }

  /// The first half of ``submit(_:)``, which never calls out and so may be done under a lock.
  func enqueue(_ operation: @escaping Operation) {
    inbox.withLock { $0.operations.append(operation) }
  }

  /// The second half of ``submit(_:)``: performs the enqueued operations, or marks them for the
  /// holder.
  func wake() {
    let thread = Gate.currentThread
    var current = holder.load(ordering: .relaxed)
    while true {
      if current & Gate.pendingFlag != 0 { return }
      let desired = current == 0 ? thread : current | Gate.pendingFlag
      let (exchanged, seen) = holder.compareExchange(
        expected: current, desired: desired, ordering: .acquiringAndReleasing)
      if exchanged {
        if current == 0 { emptyInbox() }
        return
      }
      current = seen
    }
  }

  /// Whether the calling thread holds the gate.
  var isHeldHere: Bool { holder.load(ordering: .relaxed) & ~Gate.pendingFlag == Gate.currentThread }

  /// How a thread came to hold the gate.
  enum Admission {
    /// It held the gate already, somewhere up its stack.
    case nested
    /// It took the gate, and must leave.
    case entered
  }

  /// Enters the gate to change the graph; the thread may hold it already. Nil if another thread
  /// holds it: the change must then be submitted. Must be followed by ``close(_:)``.
  @inline(__always)
  func open() -> Admission? {
    let thread = Gate.currentThread
    let (entered, current) = holder.compareExchange(
      expected: 0, desired: thread, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !entered {
      if current & ~Gate.pendingFlag == thread { return .nested }
      guard enterSpinning(seeing: current) else { return nil }
    }
    isQuiet = true
    return .entered
  }

  /// Leaves, if the admission was not nested.
  @inline(__always)
  func close(_ admission: Admission) {
    guard admission == .entered else { return }
    isQuiet = false
    leave()
  }

  /// Retains an object that was removed from the graph, and may be running, until the gate is free.
  /// Only for the holder.
  func retire(_ object: AnyObject) {
    guard !isQuiet else { return }
    retired.append(object)
    holder.bitwiseOr(Gate.pendingFlag, ordering: .relaxed)
  }
}

internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The one serialisation of a stream: of the root at which its events enter, and of every signal
/// that is derived from that root.
///
/// Whoever is inside delivers an event, or changes who observes; nobody else does either. A thread
/// that comes while another is inside, or while it is inside itself, doesn't wait: it leaves its
/// operation in the inbox, and the one inside performs it before going out. So operations happen
/// in the order in which they were submitted, recursion costs no stack, and there is no lock for
/// two streams that feed each other to deadlock on.
@usableFromInline
final class Gate: @unchecked Sendable {
  typealias Operation = () -> Void

  /// Zero when nobody is inside; otherwise the thread inside, with `mail` when the inbox or the
  /// list of the retired needs looking after.
  private let holder = Synchronization.Atomic<UInt>(0)
  private static var mail: UInt { 1 }

  // Operations are handed from thread to thread only through this lock.
  private struct Inbox: @unchecked Sendable {
    var operations: [Operation] = []
  }
  private let inbox = Locked(Inbox())

  /// Kept until nobody is inside, as they may be running. Only for the thread inside.
  @exclusivity(unchecked)
  private var retired: [AnyObject] = []
  /// Whether the thread inside changes the graph only, and nothing is running.
  @exclusivity(unchecked)
  private var isQuiet = false

  /// How often a thread that finds another inside looks again before it leaves its operation: for
  /// about half a microsecond. Two threads that do nothing but send leave 3 % of their events then;
  /// with 64 looks it was 60 %, each of which costs several deliveries.
  private static var patience: Int { 512 }

  static var currentThread: UInt {
    // Thread descriptors are aligned: bit 0 is free for `mail`.
    UInt(pthread_self())
  }

  /// Goes in, if nobody is inside. Must be followed by ``leave()``.
  @inline(__always)
  func enter() -> Bool {
    let (entered, current) = holder.compareExchange(
      expected: 0, desired: Gate.currentThread, successOrdering: .acquiring,
      failureOrdering: .relaxed)
    return entered || enterPatiently(seeing: current)
  }

  @inline(never)
  private func enterPatiently(seeing first: UInt) -> Bool {
    let thread = Gate.currentThread
    if first & ~Gate.mail == thread { return false }
    for _ in 0..<Gate.patience {
      guard holder.load(ordering: .relaxed) == 0 else { continue }
      if holder.compareExchange(expected: 0, desired: thread, ordering: .acquiring).exchanged {
        return true
      }
    }
    return false
  }

  /// Performs what others have submitted in the meantime, and goes out.
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
    repeat {
      // First the mark, then the inbox: what is submitted in between sets the mark again.
      holder.store(thread, ordering: .sequentiallyConsistent)
      let operations = inbox.withLock { inbox in
        let operations = inbox.operations
        inbox.operations = []
        return UncheckedTransfer(operations)
      }.value
      for operation in operations { operation() }
      dead += retired
      retired = []
    } while !holder.compareExchange(
      expected: thread, desired: 0, ordering: .acquiringAndReleasing
    ).exchanged
    // Deinitialisers run user code: outside.
    withExtendedLifetime(dead) {}
  }

  /// Has an operation performed after everything that was submitted before it.
  func submit(_ operation: @escaping Operation) {
    enqueue(operation)
    wake()
  }

  /// The first half of ``submit(_:)``, which never calls out and so may be done under a lock.
  func enqueue(_ operation: @escaping Operation) {
    let transfer = UncheckedTransfer(operation)
    inbox.withLock { $0.operations.append(transfer.value) }
  }

  /// The second half of ``submit(_:)``: performs what has been enqueued, or leaves word for the
  /// thread inside.
  func wake() {
    let thread = Gate.currentThread
    var current = holder.load(ordering: .relaxed)
    while true {
      if current & Gate.mail != 0 { return }
      let desired = current == 0 ? thread : current | Gate.mail
      let (exchanged, seen) = holder.compareExchange(
        expected: current, desired: desired, ordering: .acquiringAndReleasing)
      if exchanged {
        if current == 0 { emptyInbox() }
        return
      }
      current = seen
    }
  }

  /// Whether the calling thread is inside.
  var isHeldHere: Bool { holder.load(ordering: .relaxed) & ~Gate.mail == Gate.currentThread }

  /// How a thread came to be inside.
  enum Admission {
    /// It was inside already, somewhere up its stack.
    case nested
    /// It came in, and must leave.
    case entered
  }

  /// Goes in to change the graph, from outside or from inside. Nil if another thread is inside:
  /// the change is then to be submitted. Must be followed by ``close(_:)``.
  @inline(__always)
  func open() -> Admission? {
    let thread = Gate.currentThread
    let (entered, current) = holder.compareExchange(
      expected: 0, desired: thread, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !entered {
      if current & ~Gate.mail == thread { return .nested }
      guard enterPatiently(seeing: current) else { return nil }
    }
    isQuiet = true
    return .entered
  }

  /// Goes out again, if the admission was an entrance.
  @inline(__always)
  func close(_ admission: Admission) {
    guard admission == .entered else { return }
    isQuiet = false
    leave()
  }

  /// Keeps an object that was taken out of the graph, and may be running, until nobody is inside.
  /// Only for the thread inside.
  func retire(_ object: AnyObject) {
    guard !isQuiet else { return }
    retired.append(object)
    holder.bitwiseOr(Gate.mail, ordering: .relaxed)
  }
}

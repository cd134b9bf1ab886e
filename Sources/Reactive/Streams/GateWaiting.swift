internal import Dispatch

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A thread that waits until there is room in the inbox of a ``Gate``.
final class GateWaiter: Sendable {
  let thread: UInt
  private let semaphore = DispatchSemaphore(value: 0)

  /// Which gate each of the threads that wait waits for.
  private static let gates = Locked<[UInt: Gate]>([:])

  /// Notes that the calling thread is going to wait for `gate`.
  ///
  /// - Returns: Nil if the holder of the gate waits, by way of others perhaps, for a gate that the
  ///   calling thread holds: then neither would ever go on.
  init?(for gate: Gate) {
    let thread = Gate.currentThread
    self.thread = thread
    let isSafe = Self.gates.withLock { gates in
      var next = gate
      while true {
        let holder = next.holderThread
        if holder == thread { return false }
        guard let further = gates[holder] else { break }
        next = further
      }
      gates[thread] = gate
      return true
    }
    if !isSafe { return nil }
  }

  func wait() { semaphore.wait() }

  func wake() {
    let thread = thread
    Self.gates.withLock { gates in _ = gates.removeValue(forKey: thread) }
    semaphore.signal()
  }
}

/// Which threads run code of the user's with a property's lock: inside `modify` or `withValue`.
///
/// Such a thread waits for no gate. The holder of that gate may be about to use the property, whose
/// lock it would get only when this thread goes on.
enum LockedThread {
  /// Not nil on a thread that has such a lock.
  private static let mark: pthread_key_t = {
    var key = pthread_key_t()
    guard pthread_key_create(&key, nil) == 0 else {
      fatalError("no more keys for data of threads are left")
    }
    return key
  }()

  static var isCurrent: Bool { pthread_getspecific(mark) != nil }

  /// To be called with the lock, before the user's code.
  ///
  /// - Returns: Whether the thread had no such lock yet: the argument for ``end(_:)``.
  static func begin() -> Bool {
    guard !isCurrent else { return false }
    pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1))
    return true
  }

  /// To be called after the user's code.
  static func end(_ isOutermost: Bool) {
    if isOutermost { pthread_setspecific(mark, nil) }
  }
}

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

  /// - Parameter handOver: Makes the thread the holder of the gate, which it doesn't wait for any more.
  func wake(_ handOver: () -> Void = {}) {
    let thread = thread
    Self.gates.withLock { gates in _ = gates.removeValue(forKey: thread) }
    handOver()
    semaphore.signal()
  }
}

/// What a thread is doing, which decides whether it may, or must, wait for a ``Gate``.
struct ThreadMark: Sendable {
  /// It runs code of the user's with a property's lock: inside `modify` or `withValue`.
  ///
  /// Such a thread waits for no gate. The holder of that gate may be about to use the property, whose
  /// lock it would get only when this thread goes on.
  static let locked = ThreadMark()

  /// The thread starts a property composed of others, which must have sent a value when the start
  /// returns.
  ///
  /// Such a thread waits for its turn while another thread, which changes one of those properties,
  /// is inside the composition.
  static let composing = ThreadMark()

  private let key: pthread_key_t

  private init() {
    var key = pthread_key_t()
    guard pthread_key_create(&key, nil) == 0 else {
      fatalError("no more keys for data of threads are left")
    }
    self.key = key
  }

  /// Whether the calling thread has the mark.
  var isSet: Bool { pthread_getspecific(key) != nil }

  /// To be called before.
  ///
  /// - Returns: Whether the thread had no such mark yet: the argument for ``end(_:)``.
  func begin() -> Bool {
    guard !isSet else { return false }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    return true
  }

  /// To be called afterwards.
  func end(_ isOutermost: Bool) {
    if isOutermost { pthread_setspecific(key, nil) }
  }
}

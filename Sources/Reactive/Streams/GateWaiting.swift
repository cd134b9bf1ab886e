internal import Dispatch

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

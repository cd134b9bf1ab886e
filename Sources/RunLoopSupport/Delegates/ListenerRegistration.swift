internal import Synchronization

/// Ends what a bridge has registered with an object, such as an observer or a request.
///
/// What is added after it was cancelled ends at once: a registration may report its last event
/// before the call returns that makes it.
package final class ListenerRegistration: Sendable {
  /// Nil once cancelled.
  private let ends: Mutex<[@Sendable () -> Void]?>

  /// Creates an empty registration.
  package init() { ends = Mutex([]) }

  /// - Parameter end: Called once, by the thread that cancels.
  package init(_ end: @escaping @Sendable () -> Void) { ends = Mutex([end]) }

  /// Adds something to end, in the order of the calls.
  package func add(_ end: @escaping @Sendable () -> Void) {
    let isCancelled = ends.withLock { ends in
      ends?.append(end)
      return ends == nil
    }
    if isCancelled { end() }
  }

  /// Adds a registration, which is cancelled with this one.
  package func add(_ other: ListenerRegistration?) {
    if let other { add { other.cancel() } }
  }

  /// Ends everything. Only the first call has an effect.
  package func cancel() {
    let ends = ends.withLock { ends in
      defer { ends = nil }
      return ends ?? []
    }
    for end in ends { end() }
  }
}

/// An event for the consumer of a registration: a stream or a producer.
package enum ListenerEvent<Value: Sendable, Failure: Error>: Sendable {
  case value(Value)
  case completed
  case failed(Failure)
}

/// The observers of an object's events, which are called in the order in which they were added.
package final class EventObservers<Event: Sendable>: Sendable {
  package typealias Observer = @Sendable (Event) -> Void

  private struct State: Sendable {
    var observers: [(number: UInt64, observe: Observer)] = []
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Creates an object without observers.
  package init() {}

  /// Adds an observer, until the registration is cancelled. A call that another thread has begun may
  /// come after that.
  package func add(_ observer: @escaping Observer) -> ListenerRegistration {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.observers.append((state.lastNumber, observer))
      return state.lastNumber
    }
    return ListenerRegistration { [self] in
      // Released without the lock: what the observer captured may end with it.
      let old = state.withLock { state -> Observer? in
        guard let index = state.observers.firstIndex(where: { $0.number == number })
        else { return nil }
        return state.observers.remove(at: index).observe
      }
      _ = old
    }
  }

  /// Calls the observers, on this thread and without a lock.
  package func send(_ event: Event) {
    for observer in state.withLock({ $0.observers }) { observer.observe(event) }
  }
}

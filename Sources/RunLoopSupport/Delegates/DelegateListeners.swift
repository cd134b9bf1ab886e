internal import Synchronization

/// Receives an object's calls of its delegate: it reports them to any number of observers, and
/// forwards them to the delegate that the object has at that moment.
package protocol DelegateListener: AnyObject, Sendable {
  /// The type whose calls it receives.
  associatedtype Owner: AnyObject, Sendable

  /// Creates a listener that is not attached.
  init()

  /// Receives the owner's calls from now on. Does nothing if it does already.
  func attach(to owner: Owner)

  /// Receives no calls of the owner any more.
  func detach(from owner: Owner)
}

/// The listeners of one kind that are in use: one for each owner, attached while a stream, a
/// producer's run or a request needs it.
package final class DelegateListeners<Listener: DelegateListener>: Sendable {
  private struct Entry: Sendable {
    let listener: Listener
    var useCount: Int
  }

  /// By owner. Each user of a listener retains its owner, so that the identifier stays valid.
  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  /// Creates an empty collection.
  package init() {}

  /// The number of users of the owner's listener, for tests.
  package func useCount(for owner: Listener.Owner) -> Int {
    entries.withLock { $0[ObjectIdentifier(owner)]?.useCount ?? 0 }
  }

  /// Returns the owner's listener, which is attached if needed. The caller must retain the owner
  /// until it calls `release(for:)`.
  package func retain(for owner: Listener.Owner) -> Listener {
    entries.withLock { entries in
      let key = ObjectIdentifier(owner)
      let listener = entries[key]?.listener ?? Listener()
      entries[key, default: Entry(listener: listener, useCount: 0)].useCount += 1
      listener.attach(to: owner)
      return listener
    }
  }

  /// Detaches the owner's listener after the last call of `release` that matches a `retain`.
  package func release(for owner: Listener.Owner) {
    let old = entries.withLock { entries -> Listener? in
      let key = ObjectIdentifier(owner)
      guard let entry = entries[key] else { return nil }
      guard entry.useCount == 1 else {
        entries[key]?.useCount -= 1
        return nil
      }
      entries[key] = nil
      entry.listener.detach(from: owner)
      return entry.listener
    }
    _ = old  // Released without the lock: its end may run any code.
  }

  /// Registers something with the owner's listener. Owner and listener are retained until the
  /// registration is cancelled.
  package func registration(
    for owner: Listener.Owner, _ register: (Listener) -> ListenerRegistration?
  ) -> ListenerRegistration {
    let registration = ListenerRegistration()
    registration.add(register(retain(for: owner)))
    registration.add { [self] in release(for: owner) }
    return registration
  }
}

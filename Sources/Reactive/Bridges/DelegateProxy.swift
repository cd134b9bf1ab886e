/// Receives an object's calls of its delegate: it sends them as events to any number of producers,
/// and forwards them to the delegate that the object has at that moment.
package protocol DelegateProxy: AnyObject, Sendable {
  /// The type whose calls it receives.
  associatedtype Owner: AnyObject, Sendable

  /// A proxy that is not attached.
  init()

  /// Receives the owner's calls from now on. Does nothing if it does already.
  func attach(to owner: Owner)

  /// Receives no calls of the owner any more.
  func detach(from owner: Owner)
}

/// The proxies of one kind that are in use: one for each owner, attached while a run needs it.
package final class DelegateProxies<Proxy: DelegateProxy>: Sendable {
  private struct Entry: Sendable {
    let proxy: Proxy
    var useCount: Int
  }

  /// By owner. A run that uses a proxy retains its owner, so that the identifier stays valid.
  private let entries = Locked<[ObjectIdentifier: Entry]>([:])

  /// Creates an empty collection.
  package init() {}

  /// The number of users of the owner's proxy, for tests.
  package func useCount(for owner: Proxy.Owner) -> Int {
    entries.withLock { $0[ObjectIdentifier(owner)]?.useCount ?? 0 }
  }

  /// Returns the owner's proxy, which is attached if needed. The caller must retain the owner until
  /// it calls `release(for:)`.
  package func retain(for owner: Proxy.Owner) -> Proxy {
    entries.withLock { entries in
      let key = ObjectIdentifier(owner)
      let proxy = entries[key]?.proxy ?? Proxy()
      entries[key, default: Entry(proxy: proxy, useCount: 0)].useCount += 1
      proxy.attach(to: owner)
      return proxy
    }
  }

  /// Detaches the owner's proxy after the last call of `release` that matches a `retain`.
  package func release(for owner: Proxy.Owner) {
    let old = entries.withLock { entries -> Proxy? in
      let key = ObjectIdentifier(owner)
      guard let entry = entries[key] else { return nil }
      guard entry.useCount == 1 else {
        entries[key]?.useCount -= 1
        return nil
      }
      entries[key] = nil
      entry.proxy.detach(from: owner)
      return entry.proxy
    }
    _ = old  // Released without the lock: its end may run any code.
  }

  /// A producer whose runs use the owner's proxy.
  ///
  /// - Parameters:
  ///   - owner: The owner, retained by the producer.
  ///   - register: See ``SignalProducer/init(registering:)``.
  package func producer<Value, Error: Swift.Error>(
    of owner: Proxy.Owner,
    _ register:
      @escaping @Sendable (
        _ proxy: Proxy, _ notify: @escaping @Sendable (Signal<Value, Error>.Event) -> Void
      ) -> (any Disposable)?
  ) -> SignalProducer<Value, Error> {
    SignalProducer(registering: { notify in
      let registration = register(self.retain(for: owner), notify)
      return AnyDisposable {
        registration?.dispose()
        self.release(for: owner)
      }
    })
  }
}

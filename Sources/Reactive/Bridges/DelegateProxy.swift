/// A delegate that takes the place of an object's own: it sends the calls it receives as events to
/// any number of producers, and forwards them to the previous delegate.
package protocol DelegateProxy: AnyObject, Sendable {
  /// The type whose delegate it is.
  associatedtype Owner: AnyObject, Sendable

  /// A proxy that is not attached.
  init()

  /// Becomes the owner's delegate, if it isn't already, and stores the previous one.
  ///
  /// - Returns: The previous delegate, so that the caller can release it without a lock.
  func attach(to owner: Owner) -> AnyObject?

  /// Restores the owner's previous delegate, unless another one was set meanwhile.
  ///
  /// - Returns: The delegate to release without a lock.
  func detach(from owner: Owner) -> AnyObject?
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
    let (proxy, old) = entries.withLock { entries in
      let key = ObjectIdentifier(owner)
      let proxy = entries[key]?.proxy ?? Proxy()
      entries[key, default: Entry(proxy: proxy, useCount: 0)].useCount += 1
      return (proxy, proxy.attach(to: owner))
    }
    _ = old  // Its end may run any code.
    return proxy
  }

  /// Detaches the owner's proxy after the last call of `release` that matches a `retain`.
  package func release(for owner: Proxy.Owner) {
    let old = entries.withLock { entries -> (Proxy, AnyObject?)? in
      let key = ObjectIdentifier(owner)
      guard let entry = entries[key] else { return nil }
      guard entry.useCount == 1 else {
        entries[key]?.useCount -= 1
        return nil
      }
      entries[key] = nil
      return (entry.proxy, entry.proxy.detach(from: owner))
    }
    _ = old
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

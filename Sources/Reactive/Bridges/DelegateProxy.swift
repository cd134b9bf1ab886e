/// A delegate that takes the place of an object's own: it sends the calls it receives as events to
/// any number of producers, and forwards them to the previous delegate.
package protocol DelegateProxy: AnyObject, Sendable {
  /// Whose delegate it is.
  associatedtype Owner: AnyObject, Sendable

  /// A proxy that is not attached.
  init()

  /// Becomes the owner's delegate, if it isn't, and remembers the one that was there.
  ///
  /// - Returns: The delegate that was there, so that the caller can release it without a lock.
  func attach(to owner: Owner) -> AnyObject?

  /// Gives the owner its delegate back, unless it was given another one meanwhile.
  ///
  /// - Returns: As above.
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

  /// No proxy is in use.
  package init() {}

  /// How many proxies are in use, for tests.
  package func useCount(for owner: Proxy.Owner) -> Int {
    entries.withLock { $0[ObjectIdentifier(owner)]?.useCount ?? 0 }
  }

  /// The owner's proxy, attached. The caller holds the owner until it calls `release(for:)`.
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

  /// Detaches the owner's proxy when this was the last matching call of `release` for `retain`.
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
  ///   - owner: Held by the producer.
  ///   - register: As of ``SignalProducer/init(registering:)``.
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

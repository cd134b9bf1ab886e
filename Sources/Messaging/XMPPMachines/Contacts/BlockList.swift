#if Messaging
  package import XMPPWire

  /// An address that is blocked (XEP-0191), or was.
  package struct BlockedAddress: Hashable, Sendable {
    package var jid: JID
    /// The time since which this device knows it, by this machine's clock.
    package var since: WallTime
    /// The time when it was unblocked; nil while it is blocked.
    package var until: WallTime?

    package init(_ jid: JID, since: WallTime, until: WallTime? = nil) {
      self.jid = jid
      self.since = since
      self.until = until
    }
  }

  /// The blocked addresses of an account, and those that were blocked: messages of that time don't come back from the
  /// archive.
  package struct BlockList: Hashable, Sendable {
    private(set) var entries: [JID: BlockedAddress] = [:]
    /// The number of blocked addresses.
    private(set) var count = 0

    package init() {}

    /// Addresses that are blocked, in order.
    package var addresses: [JID] {
      entries.values.filter { $0.until == nil }.map(\.jid).sorted { $0.precedes($1) }
    }

    /// The addresses by which one is blocked (XEP-0191, §2): itself, its account, its domain.
    private func names(of jid: JID) -> [JID] {
      let domain = JID(local: nil, domain: jid.domain, resource: nil)
      return [jid, jid.bare, domain].compactMap { $0 }
    }

    /// Whether stanzas of an address are kept away now.
    package func isBlocked(_ jid: JID) -> Bool {
      guard !entries.isEmpty else { return false }
      return names(of: jid).contains { name in entries[name].map { $0.until == nil } ?? false }
    }

    /// Whether an address was blocked at a time, by the server's clock, or is now.
    package func isBlocked(_ jid: JID, at date: WallTime) -> Bool {
      guard !entries.isEmpty else { return false }
      return names(of: jid).contains { name in
        guard let entry = entries[name] else { return false }
        return entry.until.map { (entry.since...max(entry.since, $0)).contains(date) } ?? true
      }
    }

    func contains(_ jid: JID) -> Bool { entries[jid].map { $0.until == nil } ?? false }

    mutating func set(_ entry: BlockedAddress) {
      forget(entry.jid)
      entries[entry.jid] = entry
      if entry.until == nil { count += 1 }
    }

    mutating func forget(_ jid: JID) {
      guard let old = entries.removeValue(forKey: jid) else { return }
      if old.until == nil { count -= 1 }
    }

    /// Those that were blocked, the oldest first.
    var ended: [BlockedAddress] {
      entries.values.filter { $0.until != nil }.sorted {
        $0.until == $1.until ? $0.jid.precedes($1.jid) : ($0.until ?? 0) < ($1.until ?? 0)
      }
    }
  }
#endif

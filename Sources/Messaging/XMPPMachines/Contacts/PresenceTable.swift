#if Messaging
  import XMPPWire

  /// The available resources of accounts.
  struct PresenceTable: Sendable {
    private let limits: ContactLimits
    private(set) var byAccount: [JID: [JID: Availability]] = [:]
    private(set) var count = 0

    init(_ limits: ContactLimits) { self.limits = limits }

    /// Keeps a resource; false beyond the bounds.
    mutating func set(_ resource: AvailableResource) -> Bool {
      let account = resource.jid.bare
      if byAccount[account]?[resource.jid] == nil {
        guard count < limits.resourceCountMax,
          byAccount[account]?.count ?? 0 < limits.resourcesPerContactMax
        else { return false }
        count += 1
      }
      byAccount[account, default: [:]][resource.jid] = resource.availability
      return true
    }

    /// Removes a resource, or with a bare address all of an account, and returns those that were there.
    mutating func remove(_ jid: JID) -> [JID] {
      guard let resources = byAccount[jid.bare] else { return [] }
      let removed = jid.isBare ? Array(resources.keys) : resources[jid] == nil ? [] : [jid]
      for resource in removed { byAccount[jid.bare]?[resource] = nil }
      if byAccount[jid.bare]?.isEmpty ?? false { byAccount[jid.bare] = nil }
      count -= removed.count
      return removed.sorted { $0.precedes($1) }
    }

    /// Forgets all, and returns the accounts that had resources.
    mutating func removeAll() -> [JID] {
      defer {
        byAccount = [:]
        count = 0
      }
      return byAccount.keys.sorted { $0.precedes($1) }
    }

    /// The highest priority comes first.
    func resources(of account: JID) -> [AvailableResource] {
      (byAccount[account.bare] ?? [:]).map { AvailableResource($0.key, $0.value) }.sorted {
        let (a, b) = ($0.availability.priority, $1.availability.priority)
        return a == b ? $0.jid.precedes($1.jid) : a > b
      }
    }

    func violations() -> [String] {
      var found: [String] = []
      if count > limits.resourceCountMax { found.append("too many resources are available") }
      if byAccount.isEmpty != (count == 0) { found.append("resources are counted wrongly") }
      return found
    }
  }
#endif

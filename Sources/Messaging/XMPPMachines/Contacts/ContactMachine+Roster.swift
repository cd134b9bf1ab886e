#if Messaging
  import Essentials
  import XMPPWire

  /// The roster (RFC 6121, §2).
  extension ContactMachine {
    mutating func requestRoster(_ now: Instant, _ actions: inout [ContactAction]) {
      // It would end each connection.
      guard !isRosterTooLong else {
        return actions.append(.notice(.problem(.rosterTooLarge)))
      }
      let isVersioned = online?.offersRosterVersions ?? false
      let query = RosterQuery(version: isVersioned ? rosterVersion ?? "" : nil)
      ask(
        .get, query.element, .roster(isVersioned: isVersioned), now + limits.answerTime, &actions)
    }

    /// The answer to the request for the roster. Without content the version that the store has is the latest (§2.6.3).
    mutating func takeRoster(
      _ iq: IQStanza, isVersioned: Bool, _ actions: inout [ContactAction]
    ) {
      guard let query = iq[RosterQuery.self] else {
        guard isVersioned, rosterVersion != nil else { return replaceRoster([], nil, &actions) }
        isRosterFresh = true
        return actions.append(.notice(.rosterLoaded))
      }
      guard query.items.count <= limits.contactCountMax else {
        return actions.append(.notice(.problem(.rosterTooLarge)))
      }
      let badCount = query.unreadableCount + query.items.count { $0.isCut }
      // An incomplete roster is read again by the next session.
      replaceRoster(query.items, badCount == 0 ? query.version : nil, &actions)
      if badCount > 0 {
        actions.append(.notice(.problem(.rosterIncomplete(count: badCount))))
      }
    }

    private mutating func replaceRoster(
      _ items: [RosterItem], _ version: String?, _ actions: inout [ContactAction]
    ) {
      let old = roster
      roster = [:]
      actions.append(.change(.clearContacts))
      for item in items where item.subscription != .remove { roster[item.jid] = item }
      for item in contacts {
        actions.append(.change(.setContact(item)))
        if old[item.jid] != item { actions.append(.notice(.contact(item.jid, item))) }
      }
      for jid in old.keys.sorted(by: { $0.precedes($1) }) where roster[jid] == nil {
        actions.append(.notice(.contact(jid, nil)))
      }
      set(version, &actions)
      isRosterFresh = true
      actions.append(.notice(.rosterLoaded))
    }

    private mutating func set(_ version: String?, _ actions: inout [ContactAction]) {
      rosterVersion = version
      actions.append(.change(.setRosterVersion(version)))
    }

    /// A push has exactly one item (§2.1.6). False if it can't be read: the next session reads the whole roster.
    mutating func takePush(_ query: RosterQuery, _ actions: inout [ContactAction]) -> Bool {
      guard query.items.count == 1, query.unreadableCount == 0, let item = query.items.first else {
        set(nil, &actions)
        actions.append(
          .notice(.problem(.rosterIncomplete(count: max(1, query.unreadableCount)))))
        return false
      }
      if item.subscription == .remove {
        roster[item.jid] = nil
        actions.append(.change(.removeContact(item.jid)))
        actions.append(.notice(.contact(item.jid, nil)))
      } else if roster[item.jid] == nil, roster.count >= limits.contactCountMax {
        set(nil, &actions)
        actions.append(.notice(.problem(.rosterTooLarge)))
        return true
      } else {
        roster[item.jid] = item
        actions.append(.change(.setContact(item)))
        actions.append(.notice(.contact(item.jid, item)))
      }
      if !mayShowPresence(item.jid) { removePresence(item.jid.bare, &actions) }
      if item.isCut {
        set(nil, &actions)
        actions.append(.notice(.problem(.rosterIncomplete(count: 1))))
      } else if query.version != rosterVersion, rosterVersion != nil || query.version != nil {
        // Without a version of the push the stored one no longer names this roster.
        set(query.version, &actions)
      }
      return true
    }
  }
#endif

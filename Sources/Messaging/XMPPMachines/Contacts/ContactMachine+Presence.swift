#if Messaging
  import Essentials
  import XMPPWire

  /// Subscriptions and presences (RFC 6121, §3 and §4).
  extension ContactMachine {
    var ownPresence: PresenceStanza { PresenceStanza(payload: availability.elements) }

    mutating func forgetPresences(_ actions: inout [ContactAction]) {
      let accounts = presences.removeAll()
      guard !accounts.isEmpty else { return }
      actions.append(.change(.clearResources))
      for jid in accounts { actions.append(.notice(.presence(jid, []))) }
    }

    /// Sends a stanza about a subscription. The server has no answer to them but a push of the roster.
    mutating func subscription(
      _ request: ContactRequest, _ actions: inout [ContactAction]
    ) -> ContactFailure? {
      guard let jid = request.address?.bare else { return nil }
      var presence: PresenceStanza
      switch request {
      case .subscribe(_, let text):
        presence = PresenceStanza(.subscribe, to: jid)
        if !text.isEmpty {
          presence.payload = [XMLElement("status", Namespace.client, text: text)]
        }
      case .unsubscribe: presence = PresenceStanza(.unsubscribe, to: jid)
      case .approve:
        // A server without approval in advance ignores it (§3.4).
        guard requests[jid] != nil || online?.offersPreApproval ?? false else {
          return .unsupported
        }
        presence = PresenceStanza(.subscribed, to: jid)
        close(jid, &actions)
      case .deny:
        presence = PresenceStanza(.unsubscribed, to: jid)
        close(jid, &actions)
      default: return .unsupported
      }
      actions.append(.send(presence.element))
      return nil
    }

    /// Whether presences of an address are kept: others could fill the memory. Without a roster all are.
    func mayShowPresence(_ jid: JID) -> Bool {
      guard isRosterFresh || !roster.isEmpty else { return true }
      if jid.isSameAccount(as: account) { return true }
      let item = roster[jid.bare] ?? roster[jid]
      return item?.subscription == .to || item?.subscription == .both
    }

    private mutating func close(_ jid: JID, _ actions: inout [ContactAction]) {
      guard requests.removeValue(forKey: jid) != nil else { return }
      actions.append(.change(.removeRequest(jid)))
      actions.append(.notice(.request(jid, nil)))
    }

    mutating func take(_ presence: PresenceStanza, _ actions: inout [ContactAction]) {
      guard let from = presence.from, !blocks.isBlocked(from) else { return }
      switch presence.kind {
      case .available:
        guard mayShowPresence(from) else { return }
        let resource = AvailableResource(from, Availability(in: presence.payload))
        guard presences.set(resource) else {
          return actions.append(.notice(.problem(.tooManyResources)))
        }
        actions.append(.change(.setResource(resource)))
        actions.append(.notice(.presence(from.bare, resources(of: from))))
      case .unavailable: removePresence(from, &actions)
      // A server that can't reach the contact reports it for all of its resources.
      case .error: removePresence(from.bare, &actions)
      case .subscribe: request(from.bare, presence, &actions)
      case .unsubscribe: close(from.bare, &actions)
      case .unsubscribed:
        // The contact's presence is no longer shown, in any order of stanzas.
        removePresence(from.bare, &actions)
      case .subscribed, .probe: break
      }
    }

    mutating func removePresence(_ jid: JID, _ actions: inout [ContactAction]) {
      let removed = presences.remove(jid)
      guard !removed.isEmpty else { return }
      for resource in removed {
        actions.append(.change(.removeResource(resource)))
        endActivity(of: resource, &actions)
      }
      actions.append(.notice(.presence(jid.bare, resources(of: jid))))
    }

    private mutating func request(
      _ jid: JID, _ presence: PresenceStanza, _ actions: inout [ContactAction]
    ) {
      guard jid != account else { return }
      let text = Availability(in: presence.payload).status
      let new = SubscriptionRequest(jid, text: text)
      // The server repeats requests in each session.
      guard requests[jid] != new else { return }
      guard requests[jid] != nil || requests.count < limits.requestCountMax else {
        return actions.append(.notice(.problem(.tooManyRequests)))
      }
      requests[jid] = new
      actions.append(.change(.setRequest(new)))
      actions.append(.notice(.request(jid, new)))
    }
  }
#endif

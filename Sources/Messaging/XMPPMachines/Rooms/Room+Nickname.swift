#if Messaging
  import Essentials
  import XMPPWire

  /// Another nickname during a stay (XEP-0045, §7.6).
  extension Room {
    /// The app wishes for another nickname in a room that it has joined, or is joining.
    mutating func rename(_ name: String, _ ticket: UInt64, _ shared: inout RoomShared) {
      renaming = Renaming(nickname: name, tickets: (renaming?.tickets ?? []) + [ticket])
      requestNickname(&shared)
    }

    mutating func requestNickname(_ shared: inout RoomShared) {
      guard phase == .ready, shared.isOnline, renaming != nil, renaming?.request == nil,
        let name = renaming?.nickname
      else { return }
      guard let occupant = JID(local: jid.local, domain: jid.domain, resource: name) else {
        return renamed(.ended(.nicknameRefused), &shared)
      }
      let id = shared.makeID()
      renaming?.request = (id, shared.now + shared.limits.answerTime)
      shared.send(PresenceStanza(id: StanzaID(id), to: occupant).element)
    }

    /// The room has changed the nickname, or hasn't: then later sessions use the one of now.
    mutating func renamed(_ failure: RoomFailure?, _ shared: inout RoomShared) {
      guard let renaming else { return }
      self.renaming = nil
      if failure != nil {
        stored.nickname = nickname
        shared.change(.setRoom(stored))
      }
      for ticket in renaming.tickets { shared.actions.append(.answer(ticket: ticket, failure)) }
    }

    /// The stay, or the session, has ended: the next join is under the new nickname, and answers.
    mutating func stopRenaming() {
      joinTickets += renaming?.tickets ?? []
      renaming = nil
    }
  }
#endif

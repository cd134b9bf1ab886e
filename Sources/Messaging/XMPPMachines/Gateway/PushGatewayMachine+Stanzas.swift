#if Messaging
  import Essentials
  import XMPPWire

  extension PushGatewayMachine {
    /// The stanzas that were under way leave again, in their order.
    mutating func returnUnderWay() {
      stanzaQueue = (underWay + stanzaQueue).sorted()
      underWay = []
      ping = nil
    }

    /// Sends a window of stanzas, and a ping to the own address: the server returns it after the stanzas before it. A
    /// component's stream has no acknowledgements (XEP-0198).
    mutating func sendStanzas(_ now: Instant, _ wall: WallTime, _ commit: inout GatewayCommit) {
      guard isConnected, underWay.isEmpty, !stanzaQueue.isEmpty else { return }
      let next = Array(stanzaQueue.prefix(limits.windowCountMax))
      stanzaQueue.removeFirst(next.count)
      for number in next {
        guard let row = rows[number] else { continue }
        guard !isExpired(number, wall) else {
          set(.stanza, of: number, .failed("expired"), &commit)
          continue
        }
        underWay.append(number)
        commit.then.append(.send(Self.element(row.message)))
      }
      guard !underWay.isEmpty else { return }
      pingCount += 1
      let id = "\(pingPrefix)\(pingCount)"
      ping = (id, now + limits.answer)
      guard let stanzaID = StanzaID(id) else { return }
      let request = IQStanza(
        .get, id: stanzaID, from: domain, to: domain, payload: [Ping().element])
      commit.then.append(.send(request.element))
    }

    static func element(_ message: GatewayMessage) -> XMLElement {
      let id = StanzaID(message.id)
      var payload = [XMLElement("body", Namespace.client, text: message.body)]
      if let id { payload.append(OriginID(id).element) }
      payload += [Receipt.request.element, ProcessingHint.store.element]
      return MessageStanza(
        .chat, id: id, from: message.sender, to: message.recipient, payload: payload
      ).element
    }

    mutating func receive(_ stanza: Stanza, _ now: Instant, _ commit: inout GatewayCommit) {
      switch stanza {
      case .iq(let iq): receive(iq, &commit)
      case .message(let message): receive(message, now, &commit)
      case .presence: break
      }
    }

    private mutating func receive(_ iq: IQStanza, _ commit: inout GatewayCommit) {
      if iq.from == domain {
        guard let ping, iq.id.text == ping.id else { return noteForeign(iq, &commit) }
        self.ping = nil
        let handled = underWay
        underWay = []
        for number in handled { set(.stanza, of: number, .done("sent"), &commit) }
        return
      }
      guard iq.isRequest else { return }
      var answer = iq.refusal(StanzaError(.cancel, .serviceUnavailable))
      if iq.kind == .get, iq[Ping.self] != nil {
        answer = iq.result()
      } else if iq.kind == .get, let info = iq[DiscoInfo.self], info.node == nil {
        answer = iq.result(
          DiscoInfo(
            identities: [.init(category: "pubsub", type: "push", name: "Ambit")],
            features: [Namespace.discoInfo, Namespace.ping, Namespace.push]
          ).element)
      } else if iq.kind == .set, let publication = iq[PushPublication.self] {
        answer = requestWake(publication.node).map(iq.refusal) ?? iq.result()
      }
      answer.from = iq.to ?? domain
      commit.then.append(.send(answer.element))
    }

    /// Another program has the domain, too, if the server hands its pings to this one: a server that distributes stanzas
    /// gives each a part of the answers. One ping may be of a process before this one.
    private mutating func noteForeign(_ iq: IQStanza, _ commit: inout GatewayCommit) {
      guard iq.isRequest, !iq.id.text.hasPrefix(pingPrefix) else { return }
      foreignPingCount += 1
      if foreignPingCount == 2 { commit.then.append(.yield) }
    }

    private mutating func receive(
      _ message: MessageStanza, _ now: Instant, _ commit: inout GatewayCommit
    ) {
      if message.kind == .error {
        guard let number = sent(message.id?.text, to: message.from) else { return }
        return cameBack(number, message.error, now, &commit)
      }
      if case .received(let id)? = message[Receipt.self] {
        confirmed(id.text, "received", by: message.from, &commit)
      } else if let marker = message.payload.first(where: {
        $0.has("displayed", Namespace.chatMarkers)
      }) {
        confirmed(marker["id"], "displayed", by: message.from, &commit)
      } else if message.body != nil, message.kind != .headline {
        // A program reads no answers: the person learns that.
        var refusal = message
        (refusal.kind, refusal.from, refusal.to) = (.error, message.to ?? domain, message.from)
        refusal.payload = [StanzaError(.cancel, .serviceUnavailable).element]
        commit.then.append(.send(refusal.element))
      }
    }

    /// A stanza has come back. One that can't be taken now leaves again later (RFC 6120, §8.3.2).
    private mutating func cameBack(
      _ number: Int64, _ error: StanzaError?, _ now: Instant, _ commit: inout GatewayCommit
    ) {
      // After a receipt, another resource of the account has it.
      guard let row = rows[number], [.waiting, .done("sent")].contains(row.stanza) else { return }
      takeOut(number)
      let hasRoom =
        !row.isSettled
        || openCount < limits.openCountMax
          && openByteCount + row.message.byteCount <= limits.openByteCountMax
      guard error?.kind == .wait, hasRoom, !row.message.isBodyForgotten else {
        let condition = error?.condition ?? .undefinedCondition
        return set(.stanza, of: number, .failed(condition.rawValue), &commit)
      }
      let count = bounceCounts[number, default: 0]
      bounceCounts[number] = count + 1
      let doubled = limits.bouncePause * (1 << Int64(min(20, count)))
      let due = now + min(limits.longestPause, doubled)
      bounced[number] = due
      bounceWake = min(bounceWake ?? due, due)
      set(.stanza, of: number, .waiting, &commit)
    }

    /// Stanzas that came back leave again.
    mutating func wakeBounced(_ now: Instant) {
      guard let wake = bounceWake, wake <= now else { return }
      let due = bounced.filter { $0.value <= now }.keys
      for number in due { bounced[number] = nil }
      bounceWake = bounced.values.min()
      stanzaQueue = (stanzaQueue + due).sorted()
    }

    private mutating func takeOut(_ number: Int64) {
      stanzaQueue.removeAll { $0 == number }
      underWay.removeAll { $0 == number }
      bounced[number] = nil
    }

    /// The app has the message: a notification that still waits would show what the person has seen.
    private mutating func confirmed(
      _ id: String?, _ word: String, by peer: JID?, _ commit: inout GatewayCommit
    ) {
      guard let number = sent(id, to: peer), rows[number]?.stanza != .done("displayed") else {
        return
      }
      takeOut(number)
      set(.stanza, of: number, .done(word), &commit)
      dropNotification(number, .done("notNeeded"), &commit)
    }

    /// The row with an id, if it is for this account.
    private func sent(_ id: String?, to peer: JID?) -> Int64? {
      guard let id, let row = row(of: id), let peer, peer.bare == row.message.recipient else {
        return nil
      }
      return row.number
    }
  }
#endif

#if Messaging
  import Essentials
  import XMPPWire

  /// Chat states (XEP-0085) and display markers (XEP-0333). Both go only to peers that have shown them.
  extension ContactMachine {
    /// A message of a peer shows its app's abilities.
    mutating func note(_ message: InboundMessage, _ actions: inout [ContactAction]) {
      guard message.showsChatStates || message.isMarkable, let sender = message.sender,
        sender != accountText, !message.isBlocked
      else { return }
      var peer = chats.peers[sender] ?? ChatPeer(sender)
      let old = peer
      if message.showsChatStates { peer.showsStates = true }
      if message.isMarkable { peer.takesMarkers = true }
      if peer != old { set(peer, &actions) }
    }

    private mutating func set(_ peer: ChatPeer, _ actions: inout [ContactAction]) {
      actions.append(.change(.setChatPeer(peer)))
      guard let oldest = chats.set(peer) else { return }
      actions.append(.change(.forgetChatPeer(oldest)))
    }

    /// What a peer does, in a message that comes now.
    mutating func take(
      _ message: MessageStanza, _ now: Instant, _ actions: inout [ContactAction]
    ) {
      guard message.kind == .chat || message.kind == .normal, let from = message.from,
        !from.isSameAccount(as: account), !blocks.isBlocked(from), message[Delay.self] == nil
      else { return }
      // A message ends the typing before it, also without a chat state.
      guard let state = message[ChatState.self] ?? (message.body == nil ? nil : .active) else {
        return
      }
      let deadline = state == .composing ? now + limits.composingTime : nil
      guard let new = chats.show(state, from, deadline) else { return }
      actions.append(.notice(.chatState(from.bare, new)))
    }

    mutating func endActivities(_ actions: inout [ContactAction]) {
      for address in chats.activities.keys.sorted() { endActivity(address, &actions) }
      for address in chats.composing.keys { chats.setComposing(address, until: nil) }
    }

    /// A resource that leaves types no more.
    mutating func endActivity(of resource: JID, _ actions: inout [ContactAction]) {
      let address = resource.bare.description
      guard chats.activities[address]?.resource == resource else { return }
      endActivity(address, &actions)
    }

    private mutating func endActivity(_ address: String, _ actions: inout [ContactAction]) {
      guard chats.end(address), let jid = JID(address) else { return }
      actions.append(.notice(.chatState(jid, .inactive)))
    }

    mutating func wakeChats(_ now: Instant, _ actions: inout [ContactAction]) {
      let over = chats.activities.filter { $0.value.deadline.map { $0 <= now } ?? false }.keys
      for address in over.sorted() { endActivity(address, &actions) }
      for address in chats.composing.filter({ $0.value <= now }).keys.sorted() {
        chats.setComposing(address, until: nil)
        if online != nil { send(.paused, to: address, &actions) }
      }
    }

    // MARK: This account's user

    mutating func setChatState(
      _ state: ChatState, to jid: JID, _ now: Instant, _ actions: inout [ContactAction]
    ) -> ContactFailure? {
      let address = jid.bare.description
      guard online != nil else { return .offline }
      guard chats.peers[address]?.showsStates ?? false else { return .unsupported }
      let wasComposing = chats.composing[address] != nil
      chats.setComposing(
        address, until: state == .composing ? now + limits.ownComposingTime : nil)
      // Each key that is pressed is no stanza.
      if state != .composing || !wasComposing { send(state, to: address, &actions) }
      return nil
    }

    private func send(
      _ state: ChatState, to address: String, _ actions: inout [ContactAction]
    ) {
      guard let jid = JID(address) else { return }
      let message = MessageStanza(
        .chat, to: jid, payload: [state.element, ProcessingHint.noStore.element])
      actions.append(.send(message.element))
    }

    /// A message has left, which shows that its writing has ended.
    mutating func sent(to address: String) { chats.setComposing(address, until: nil) }

    mutating func markDisplayed(
      _ name: String, from jid: JID, _ actions: inout [ContactAction]
    ) -> ContactFailure? {
      guard var peer = chats.peers[jid.bare.description], peer.takesMarkers else {
        return .unsupported
      }
      peer.displayed = name
      if online != nil {
        sendMarker(peer, &actions)
      } else {
        set(peer, &actions)
      }
      return nil
    }

    private mutating func sendMarker(_ peer: ChatPeer, _ actions: inout [ContactAction]) {
      guard let name = peer.displayed, let id = StanzaID(name), let jid = JID(peer.address) else {
        return
      }
      let message = MessageStanza(
        .chat, to: jid,
        payload: [ChatMarker.displayed(id).element, ProcessingHint.store.element])
      actions.append(.send(message.element))
      var peer = peer
      peer.displayed = nil
      if peer != chats.peers[peer.address] { set(peer, &actions) }
    }

    /// Markers that waited for a connection.
    mutating func sendMarkers(_ actions: inout [ContactAction]) {
      let waiting = chats.peers.values.filter { $0.displayed != nil }
      for peer in waiting.sorted(by: { $0.address < $1.address }) { sendMarker(peer, &actions) }
    }
  }
#endif

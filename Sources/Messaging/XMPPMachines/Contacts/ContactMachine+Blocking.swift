#if Messaging
  import Essentials
  import XMPPWire

  /// Blocked addresses (XEP-0191). An address counts as blocked from the request on, and after the server's refusal no
  /// more.
  extension ContactMachine {
    /// How long the end of a block is kept, for archives that are read later.
    private static let endedAge: WallTime = 90 * 86_400_000

    mutating func requestBlockList(_ now: Instant, _ actions: inout [ContactAction]) {
      // It would end each connection.
      guard !isBlockListTooLong else {
        return actions.append(.notice(.problem(.blockListTooLarge)))
      }
      isBlockListUnanswered = true
      ask(
        .get, BlockingCommand(.blocklist).element, .blockList, now + limits.blockListTime,
        &actions)
    }

    /// The whole list, as another device may have changed it.
    mutating func takeBlockList(_ iq: IQStanza, _ actions: inout [ContactAction]) {
      guard let list = iq[BlockingCommand.self], list.kind == .blocklist else {
        return actions.append(.notice(.problem(.blockListUnavailable(.unsupported))))
      }
      guard list.addresses.count <= limits.blockedCountMax else {
        return actions.append(.notice(.problem(.blockListTooLarge)))
      }
      report(list.unreadableCount, &actions)
      let new = Set(list.addresses)
      for jid in blocks.addresses where !new.contains(jid) { unblock(jid, &actions) }
      for jid in list.addresses { block(jid, &actions) }
      trimEndedBlocks(&actions)
      for entry in blocks.ended where (entry.until ?? 0) < wall - Self.endedAge {
        forget(entry.jid, &actions)
      }
    }

    private func report(_ unreadableCount: Int, _ actions: inout [ContactAction]) {
      guard unreadableCount > 0 else { return }
      actions.append(.notice(.problem(.blockListIncomplete(count: unreadableCount))))
    }

    /// A push of another device's change, or of one's own. False if it is no change.
    mutating func takeBlockPush(
      _ push: BlockingCommand, _ actions: inout [ContactAction]
    ) -> Bool {
      report(push.unreadableCount, &actions)
      switch push.kind {
      case .blocklist: return false
      case .block:
        guard !push.addresses.isEmpty else { return false }
        for jid in push.addresses {
          guard hasRoomToBlock(jid) else {
            actions.append(.notice(.problem(.blockListTooLarge)))
            break
          }
          block(jid, &actions)
        }
      case .unblock:
        // One whose items can't be read isn't one of all.
        guard !push.addresses.isEmpty || push.unreadableCount == 0 else { return true }
        for jid in push.addresses.isEmpty ? blocks.addresses : push.addresses {
          unblock(jid, &actions)
        }
        trimEndedBlocks(&actions)
      }
      return true
    }

    func hasRoomToBlock(_ jid: JID) -> Bool {
      blocks.contains(jid) || blocks.count < limits.blockedCountMax
    }

    mutating func block(_ jid: JID, _ actions: inout [ContactAction]) {
      guard !blocks.contains(jid) else { return }
      let entry = BlockedAddress(jid, since: wall)
      blocks.set(entry)
      actions.append(.change(.setBlocked(entry)))
      actions.append(.notice(.blocked(jid, true)))
      let resources = chats.activities.values.map(\.resource).filter { blocks.isBlocked($0) }
      for resource in resources.sorted(by: { $0.precedes($1) }) {
        endActivity(of: resource, &actions)
      }
      let accounts = presences.byAccount.keys.filter { blocks.isBlocked($0) }
      for account in accounts.sorted(by: { $0.precedes($1) }) {
        removePresence(account, &actions)
      }
    }

    mutating func unblock(_ jid: JID, _ actions: inout [ContactAction]) {
      guard blocks.contains(jid), var entry = blocks.entries[jid] else { return }
      entry.until = max(wall, entry.since)
      blocks.set(entry)
      actions.append(.change(.setBlocked(entry)))
      actions.append(.notice(.blocked(jid, false)))
    }

    /// Forgets the oldest ends of blocks beyond the bound.
    private mutating func trimEndedBlocks(_ actions: inout [ContactAction]) {
      let ended = blocks.ended
      for old in ended.prefix(max(0, ended.count - limits.endedBlockCountMax)) {
        forget(old.jid, &actions)
      }
    }

    private mutating func forget(_ jid: JID, _ actions: inout [ContactAction]) {
      blocks.forget(jid)
      actions.append(.change(.forgetBlocked(jid)))
    }

    /// The answer to a request to block an address. After a refusal it isn't blocked, as far as it wasn't before; without
    /// an answer the next list decides.
    mutating func endBlocking(
      _ jid: JID, wasBlocked: Bool, isBlock: Bool, _ failure: ContactFailure?,
      _ actions: inout [ContactAction]
    ) {
      switch failure {
      case nil where isBlock:
        // Pushes may have taken its place meanwhile.
        guard hasRoomToBlock(jid) else {
          return actions.append(.notice(.problem(.blockListTooLarge)))
        }
        block(jid, &actions)
      case nil: unblock(jid, &actions)
      case .refused: if isBlock, !wasBlocked { unblock(jid, &actions) }
      default: break
      }
      trimEndedBlocks(&actions)
    }
  }
#endif

#if Messaging
  extension MessageMachine {
    /// The rules of the machine that don't hold.
    ///
    /// - Parameter limit: How many entries of each table are checked.
    package func violations(perTable limit: Int = .max) -> [String] {
      var found = archive.violations()
      for (id, entry) in entries.prefix(limit) {
        if entry.row.id != id { found.append("a row has the number of another one") }
        if byOriginID[entry.row.originID] != id { found.append("row \(id.rawValue) has no name") }
        if (entry.stage == .underWay) != underWay.contains(id) {
          found.append("row \(id.rawValue) is under way, or not")
        }
        if entry.stage != .settled, entry.row.content == nil {
          found.append("row \(id.rawValue) can't be sent")
        }
        if case .failed = entry.row.fate { found.append("row \(id.rawValue) failed and is kept") }
      }
      for id in queue.prefix(limit) where entries[id]?.stage != .queued {
        found.append("row \(id.rawValue) waits and is not queued")
      }
      if zip(queue.prefix(limit), queue.prefix(limit).dropFirst()).contains(where: { $0 >= $1 }) {
        found.append("the queue is not in order")
      }
      for (peer, conversation) in conversations.prefix(limit) {
        for (number, id) in conversation.rows.prefix(limit) {
          if conversation.isBelowAll(number) { found.append("\(peer): \(number) is not found") }
          if entries[id]?.row.order.number != number || number >= conversation.stream.next {
            found.append("\(peer): number \(number) is of another row")
          }
        }
        if conversation.stream.confirmed >= conversation.stream.next {
          found.append("\(peer): a number was confirmed before it was given")
        }
      }
      for (key, stream) in streams.prefix(limit) {
        if let next = stream.next, let least = stream.leastWaiting, least <= next {
          found.append("\(key.sender): number \(least) is held back and due")
        }
        if stream.waitingCount > limits.heldCountPerStreamMax {
          found.append("\(key.sender): too many messages are held back")
        }
        if stream.hasHole, stream.holeSince == nil { found.append("a hole has no time") }
      }
      if limit == .max {
        let held = streams.values.reduce(waitingForArchive.count) { $0 + $1.held.count }
        if held != heldCount { found.append("\(held) are held back, not \(heldCount)") }
      }
      found += receipts.violations(isComplete: limit == .max)
      if provisional.count > limits.provisionalCountMax { found.append("too many are provisional") }
      if heldCount > limits.heldCountMax { found.append("too many messages are held back") }
      return found
    }
  }
#endif

#if Messaging
  extension PushGatewayMachine {
    /// The rules of the machine that don't hold.
    package func violations() -> [String] {
      var found: [String] = []
      if rows.count != byID.count { found.append("rows and ids differ") }
      if openCount + settled.count != rows.count { found.append("rows are counted wrongly") }
      if openCount > max(limits.openCountMax, storedOpen.count) {
        found.append("too many rows wait")
      }
      if openByteCount > max(limits.openByteCountMax, storedOpen.byteCount) {
        found.append("too many bytes wait")
      }
      if settledByteCount > limits.settledByteCountMax {
        found.append("too many bytes of settled rows are kept")
      }
      if let next = bounced.values.min(), bounceWake.map({ $0 > next }) ?? true {
        found.append("a bounced stanza leaves too late")
      }
      if !isConnected, !underWay.isEmpty { found.append("stanzas are under way without a stream") }
      if ping != nil, underWay.isEmpty, !isConnected { found.append("a ping without a stream") }
      if pushCount > limits.pushCountMax { found.append("too many notifications are under way") }
      if pushCount != targets.values.count(where: \.isBusy) {
        found.append("pushes are miscounted")
      }
      if wakeCount != targets.values.count(where: \.wantsWake) {
        found.append("wakes are miscounted")
      }
      if zip(stanzaQueue, stanzaQueue.dropFirst()).contains(where: { $0 >= $1 }) {
        found.append("stanzas are out of order")
      }
      return found
    }

    /// The same for each row, which takes longer.
    package func rowViolations() -> [String] {
      var found = violations()
      for (number, row) in rows {
        if byID[row.message.id] != number { found.append("row \(number) has no name") }
        let isQueued =
          stanzaQueue.contains(number) || underWay.contains(number) || bounced[number] != nil
        if isQueued != (row.stanza == .waiting) { found.append("the stanza of \(number) is lost") }
        let queue = row.message.target.flatMap { targets[$0] }
        if queue?.rows.contains(number) == true, row.notification != .waiting {
          found.append("the notification of \(number) is sent twice")
        }
        if row.notification == .waiting, queue?.rows.contains(number) != true {
          found.append("the notification of \(number) is lost")
        }
        if row.isSettled != settled.contains(number) { found.append("row \(number) is settled") }
      }
      let open = rows.values.filter { !$0.isSettled }.map(\.message.byteCount).reduce(0, +)
      if open != openByteCount { found.append("\(open) bytes wait, not \(openByteCount)") }
      let kept = settledBodies.compactMap { rows[$0]?.message.byteCount }.reduce(0, +)
      if kept != settledByteCount { found.append("\(kept) bytes are kept") }
      for (target, queue) in targets where !queue.isEmpty && !queue.isBusy && queue.retry == nil {
        if !queue.isReady || !ready.contains(target) { found.append("a target is never served") }
      }
      return found
    }
  }
#endif

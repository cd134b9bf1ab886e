#if Messaging
  import XMPPWire

  /// Rows of rooms. The machine of rooms has put them into their order, and knows those that come again.
  extension MessageMachine {
    /// A number for a message that another machine sends: the app knows messages by their rows.
    package mutating func makeOutgoingID() -> RowID {
      lastOutgoing += 1
      return RowID(rawValue: lastOutgoing)
    }

    mutating func receive(_ delivery: RoomDelivery, _ commit: inout MessageCommit) {
      var row: IncomingRow
      switch delivery {
      case .message(let message):
        row = makeRow(
          message.isOwn ? .sentElsewhere : .message, peer: message.room.description,
          date: message.date)
        row.originID = message.originID
        row.nickname = message.nickname
        row.content = message.content
        row.arrival = message.arrival
      case .archiveGap(let room, let since, let now):
        row = makeRow(.archiveGap(since: since), peer: room.description, date: now)
        row.nickname = ""
      case .historyStart(let room, let date):
        row = makeRow(.historyStart(date), peer: room.description, date: date)
        row.nickname = ""
      }
      insert(row, &commit)
      release(row.id, row.arrival, &commit)
    }
  }
#endif

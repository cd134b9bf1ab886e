package import BluetoothInterface
package import BluetoothWire
package import Essentials
package import L2CAPMachines

// Values sent unasked (Core 5.4, Vol 3, Part F, §3.4.7; Part G, §7.1).

extension GATTServer {
  /// Sends a value to all subscribers of a client's characteristic, or to those listed, truncated
  /// to the MTU of each link.
  ///
  /// Ends in one `updateCompleted`. A link with too many pending updates gets no value; the update
  /// then fails with `limitReached` after the other links were served.
  package mutating func updateValue(
    handle: UInt16, value: [UInt8], peers: [DeviceAddress]?, token: RequestToken, owner: ClientID,
    now: Instant, into outputs: inout [Output]
  ) {
    guard let configurationHandle = database.configurationHandles[handle],
      case .configuration(let configuration) = database.attribute(configurationHandle)?.source,
      configuration.owner == owner
    else {
      let error = HostError.invalidArgument(
        "\(handle) is not a value of this client that can be notified.")
      outputs.append(.updateCompleted(owner, token, .failure(error)))
      return
    }
    var update = Update(owner: owner, token: token)
    let number = updates.insert(update)
    for index in sessions.indices {
      let bits = sessions[index].configuration(configurationHandle)
      // A client that doesn't know the database gets nothing else (Part G, §2.5.2.1).
      guard bits != 0, !sessions[index].isFailed, !sessions[index].isOutOfSync,
        peers?.contains(sessions[index].peer) ?? true
      else { continue }
      let part = value.prefix(min(sessions[index].mtu - 3, GATTLimits.valueByteCountMax))
      if bits & 1 != 0 {
        notify(handle, part, index, number, &update, into: &outputs)
      } else {
        guard mayWaitToIndicate(owner, index) else {
          update.error = .limitReached("waiting indications")
          continue
        }
        update.remaining += 1
        sessions[index].waitingIndications.append(
          .update(number, handle: handle, value: part))
        sendNextIndication(index, now: now, into: &outputs)
      }
    }
    if update.remaining > 0 {
      updates[number] = update
    } else {
      updates[number] = nil
      complete(update, into: &outputs)
    }
  }

  private mutating func notify(
    _ handle: UInt16, _ value: ArraySlice<UInt8>, _ index: Int, _ number: UInt64,
    _ update: inout Update, into outputs: inout [Output]
  ) {
    guard mayNotify(update.owner, index) else {
      update.error = .limitReached("waiting notifications")
      return
    }
    update.remaining += 1
    queueNotification(number, handle, value, index, into: &outputs)
  }

  /// Whether a client may notify a peer of another value: as many as one client may have are under way, or as many
  /// again where most of them are of other clients.
  private func mayNotify(_ owner: ClientID, _ index: Int) -> Bool {
    let max = GATTLimits.notificationsInFlightMax
    let count = sessions[index].notifications.count + sessions[index].waitingNotifications.count
    guard count >= max else { return true }
    let own =
      sessions[index].notifications.count { updates[$0.update]?.owner == owner }
      + sessions[index].waitingNotifications.count { updates[$0.update]?.owner == owner }
    return own < max && count < 2 * max
  }

  private func mayWaitToIndicate(_ owner: ClientID, _ index: Int) -> Bool {
    let max = GATTLimits.waitingIndicationsMax
    let count = sessions[index].waitingIndications.count
    guard count >= max else { return true }
    let own = sessions[index].waitingIndications.count { indication in
      if case .update(let number, _, _) = indication {
        updates[number]?.owner == owner
      } else {
        false
      }
    }
    return own < max && count < 2 * max
  }

  /// Sends a value, or lets it wait behind others that wait, so that it goes out with them.
  private mutating func queueNotification(
    _ number: UInt64, _ handle: UInt16, _ value: ArraySlice<UInt8>, _ index: Int,
    into outputs: inout [Output]
  ) {
    let isBusy =
      sessions[index].takesMultipleValues
      && sessions[index].notifications.count >= GATTLimits.singleNotificationsMax
    if isBusy || !sessions[index].waitingNotifications.isEmpty {
      sessions[index].waitingNotifications.append((number, handle, value))
    } else {
      sendNotification(number, handle, value, index, into: &outputs)
    }
  }

  /// No values of these handles are sent to a client any more.
  mutating func notificationsEnded(
    in range: HandleRange, _ index: Int, into outputs: inout [Output]
  ) {
    for waiting in sessions[index].waitingNotifications where range.contains(waiting.handle) {
      finishPart(of: waiting.update, because: nil, into: &outputs)
    }
    sessions[index].waitingNotifications.removeAll { range.contains($0.handle) }
  }

  private mutating func sendNotification(
    _ number: UInt64, _ handle: UInt16, _ value: ArraySlice<UInt8>, _ index: Int,
    into outputs: inout [Output]
  ) {
    lastNotification += 1
    sessions[index].notifications.append((tag: lastNotification, update: number))
    send(.handleValueNotification(handle: handle, value: value), index, into: &outputs)
  }

  /// Sends the notification that was numbered last.
  private func send(_ pdu: ATTPDU, _ index: Int, into outputs: inout [Output]) {
    let tag = SendTag(.gattServer, lastNotification)
    outputs.append(.send(to: sessions[index].peer, pdu.bytes, tag, over: .fixed))
  }

  /// Sends values that have waited, as many in one notification as fit (Part F, §3.4.7.4), once the
  /// controller has taken those before.
  private mutating func sendWaiting(_ index: Int, into outputs: inout [Output]) {
    while sessions[index].notifications.count < GATTLimits.singleNotificationsMax,
      let first = sessions[index].waitingNotifications.first
    {
      let waiting = sessions[index].waitingNotifications
      var room = sessions[index].mtu - 1
      let count = waiting.prefix {
        room -= 4 + $0.value.count
        return room >= 0
      }.count
      sessions[index].waitingNotifications.removeFirst(max(count, 1))
      guard count > 1 else {
        sendNotification(first.update, first.handle, first.value, index, into: &outputs)
        continue
      }
      lastNotification += 1
      for value in waiting.prefix(count) {
        sessions[index].notifications.append((tag: lastNotification, update: value.update))
      }
      var writer = ByteWriter(capacity: sessions[index].mtu)
      for value in waiting.prefix(count) {
        writer.uint16(value.handle)
        writer.uint16(UInt16(value.value.count))
        writer.append(value.value)
      }
      let list = ATTHandleLengthValueList(entryByteCount: 0, encoded: writer.bytes[...])
      send(.multipleHandleValueNotification(list), index, into: &outputs)
    }
  }

  /// Called when the controller has the frame to this peer with this tag.
  package mutating func sent(
    _ tag: SendTag, to peer: DeviceAddress, into outputs: inout [Output]
  ) {
    guard let index = sessionIndex(peer) else { return }
    // Frames leave in order, so everything before this one has left as well.
    while let first = sessions[index].notifications.first, first.tag <= tag.number {
      _ = sessions[index].notifications.popFirst()
      finishPart(of: first.update, because: nil, into: &outputs)
    }
    sendWaiting(index, into: &outputs)
  }

  private mutating func finishPart(
    of number: UInt64, because error: HostError?, into outputs: inout [Output]
  ) {
    guard var update = updates[number] else { return }
    update.remaining -= 1
    if let error { update.error = error }
    if update.remaining > 0 {
      updates[number] = update
    } else {
      updates[number] = nil
      complete(update, into: &outputs)
    }
  }

  private func complete(_ update: Update, into outputs: inout [Output]) {
    let result: Result<HostReply, HostError> = update.error.map { .failure($0) } ?? .success(.done)
    outputs.append(.updateCompleted(update.owner, update.token, result))
  }

  /// Ends the waiting for everything that was on its way to a peer. A link that went down is no
  /// failure of an update: the peer is no subscriber any more.
  mutating func abandonUpdates(
    of session: Session, because error: HostError?, into outputs: inout [Output]
  ) {
    var notifications = session.notifications
    while let notification = notifications.popFirst() {
      finishPart(of: notification.update, because: error, into: &outputs)
    }
    for waiting in session.waitingNotifications {
      finishPart(of: waiting.update, because: error, into: &outputs)
    }
    let indications = [session.indication?.update].compactMap(\.self) + session.waitingIndications
    for case .update(let number, _, _) in indications {
      finishPart(of: number, because: error, into: &outputs)
    }
  }

  // MARK: Indications

  /// Sends the next indication, if none waits for its confirmation (Part F, §3.3.2).
  private mutating func sendNextIndication(
    _ index: Int, now: Instant, into outputs: inout [Output]
  ) {
    guard sessions[index].indication == nil, !sessions[index].waitingIndications.isEmpty else {
      return
    }
    let next = sessions[index].waitingIndications.removeFirst()
    sessions[index].indication = (next, now + GATTLimits.transactionTimeout)
    let place = RequestContext(session: index, bearer: 0)
    switch next {
    case .update(_, let handle, let value):
      reply(.handleValueIndication(handle: handle, value: value), place, into: &outputs)
    case .serviceChanged(let range):
      var writer = ByteWriter(capacity: 4)
      writer.uint16(range.start)
      writer.uint16(range.end)
      let pdu = ATTPDU.handleValueIndication(
        handle: serviceChangedHandle, value: writer.bytes[...])
      reply(pdu, place, into: &outputs)
    }
  }

  /// A peer sent a confirmation; it is ignored if there is no pending indication.
  mutating func confirmed(_ index: Int, now: Instant, into outputs: inout [Output]) {
    guard let (indication, _) = sessions[index].indication.take() else {
      ignoredCount += 1
      return
    }
    switch indication {
    case .update(let number, _, _): finishPart(of: number, because: nil, into: &outputs)
    case .serviceChanged:
      let isLast = !sessions[index].waitingIndications.contains {
        if case .serviceChanged = $0 { true } else { false }
      }
      if isLast {
        sessions[index].awareness = .aware
        outputs.append(.clientChanged(sessions[index].peer))
      }
    }
    sendNextIndication(index, now: now, into: &outputs)
  }

  /// A client takes no indications of a value any more. What waited is sent as notifications, so
  /// that later values don't overtake it, if the client takes those.
  mutating func indicationsEnded(
    _ handle: UInt16, notifies: Bool, _ index: Int, into outputs: inout [Output]
  ) {
    var kept: [Indication] = []
    let waiting = sessions[index].waitingIndications
    for indication in waiting {
      switch indication {
      case .update(let number, handle, let value) where notifies:
        queueNotification(number, handle, value, index, into: &outputs)
      case .update(let number, handle, _):
        finishPart(of: number, because: nil, into: &outputs)
      case .serviceChanged where handle == serviceChangedHandle: break
      case .update, .serviceChanged: kept.append(indication)
      }
    }
    sessions[index].waitingIndications = kept
  }

  // MARK: Service Changed

  /// Indicates Service Changed to every peer that subscribed to it.
  mutating func changed(_ range: HandleRange, now: Instant, into outputs: inout [Output]) {
    for index in sessions.indices where !sessions[index].isFailed {
      sessions[index].awareness = .unaware
      indicateServiceChanged(range, index, now: now, into: &outputs)
    }
  }

  /// Indicates Service Changed to a peer, if it subscribed to it.
  mutating func indicateServiceChanged(
    _ range: HandleRange, _ index: Int, now: Instant, into outputs: inout [Output]
  ) {
    let configuration = database.configurationHandles[serviceChangedHandle] ?? 0
    guard sessions[index].configuration(configuration) & 2 != 0 else { return }
    // One that hasn't left yet is widened instead of followed by another.
    var wide = range
    sessions[index].waitingIndications.removeAll {
      guard case .serviceChanged(let earlier) = $0 else { return false }
      wide = HandleRange(min(wide.start, earlier.start), max(wide.end, earlier.end))
      return true
    }
    sessions[index].waitingIndications.append(.serviceChanged(wide))
    sendNextIndication(index, now: now, into: &outputs)
  }
}

public import BluetoothWire
public import Essentials

// Values sent unasked (Core 5.4, Vol 3, Part F, §3.4.7; Part G, §7.1).

extension GATTServer {
  /// Sends a value to the subscribers of a client's characteristic, or to those named, cut to what
  /// each link's MTU allows.
  ///
  /// Ends in one `updateCompleted`. A link that has too much on its way already gets nothing, and
  /// the update fails with `limitReached` once the other links are served.
  public mutating func updateValue(
    handle: UInt16, value: [UInt8], peers: [DeviceAddress]?, token: RequestToken, owner: ClientID,
    now: Instant, into outputs: inout [Output]
  ) {
    guard let configurationHandle = database.configurationHandles[handle],
      case .configuration(let configuration) = database.attribute(configurationHandle)?.source,
      configuration.owner == owner
    else {
      let error = HostError.invalidArgument("\(handle) is no value of yours that can be sent.")
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
        guard sessions[index].waitingIndications.count < GATTLimits.waitingIndicationsMax else {
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
    guard sessions[index].notifications.count < GATTLimits.notificationsInFlightMax else {
      update.error = .limitReached("waiting notifications")
      return
    }
    update.remaining += 1
    sendNotification(number, handle, value, index, into: &outputs)
  }

  private mutating func sendNotification(
    _ number: UInt64, _ handle: UInt16, _ value: ArraySlice<UInt8>, _ index: Int,
    into outputs: inout [Output]
  ) {
    lastNotification += 1
    sessions[index].notifications.append((tag: lastNotification, update: number))
    let pdu = ATTPDU.handleValueNotification(handle: handle, value: value).bytes
    outputs.append(.send(to: sessions[index].peer, pdu, SendTag(.gattServer, lastNotification)))
  }

  /// The controller has the frame that carried this tag to this peer.
  public mutating func sent(
    _ tag: SendTag, to peer: DeviceAddress, into outputs: inout [Output]
  ) {
    guard let index = sessionIndex(peer) else { return }
    // Frames leave in order, so everything before this one has left as well.
    while let first = sessions[index].notifications.first, first.tag <= tag.number {
      _ = sessions[index].notifications.popFirst()
      finishPart(of: first.update, because: nil, into: &outputs)
    }
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
    switch next {
    case .update(_, let handle, let value):
      reply(.handleValueIndication(handle: handle, value: value), index, into: &outputs)
    case .serviceChanged(let range):
      var writer = ByteWriter(capacity: 4)
      writer.uint16(range.start)
      writer.uint16(range.end)
      let pdu = ATTPDU.handleValueIndication(
        handle: serviceChangedHandle, value: writer.bytes[...])
      reply(pdu, index, into: &outputs)
    }
  }

  /// A peer confirmed what was indicated; a confirmation of nothing is ignored.
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
        sendNotification(number, handle, value, index, into: &outputs)
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

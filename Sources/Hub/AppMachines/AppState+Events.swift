import Essentials

// Events for an app: whether they wait for a process, start or wake one, or are discarded.

extension AppState {
  mutating func arrived(_ event: AppEvent, _ turn: inout Turn) {
    let id = turn.nextEvent()
    counts.arrivedCount += 1
    displaced = []
    let entry = AppQueue.Entry(
      id: id, event: event,
      deadline: event.kind.isRequest ? turn.now + turn.limits.requestTime : nil)
    if isAfterCut(entry, &turn) { return }
    if event.showsAlert, suspendedSince != nil { turn.actions.append(.alert(self.id, id)) }
    if case .notification(let isSilent, let hasAlert) = event.kind, !isInForeground {
      if hasAlert { showAlert(of: entry, isSilent: isSilent, &turn) }
      // The process gets others when the person taps the alert, if they have one.
      guard isSilent else {
        if !hasAlert { discard(entry, because: .notRunning, &turn) }
        return
      }
    }
    admit(entry, &turn)
  }

  /// Lets an event wait, unless nothing may ever take it.
  private mutating func admit(_ entry: AppQueue.Entry, _ turn: inout Turn) {
    if let reason = reasonToDiscard(entry.event, turn.rules) {
      return discard(entry, because: reason, &turn)
    }
    if entry.event.kind.isRequest, !isReachable(for: entry.event, turn) {
      return discard(entry, because: .notRunning, &turn)
    }
    if !isInForeground, !entry.event.kind.isRequest,
      let index = queue.index(coalescedBy: entry.event)
    {
      queue.remove(at: index)
      counts.coalescedCount += 1
    }
    guard hasRoom(for: entry, &turn) else { return }
    var entry = entry
    entry.waitsForForeground = waitsForForeground(entry.event)
    queue.append(entry)
  }

  /// Whether an event is kept until the app is in the foreground: one of Bluetooth that comes while the app is
  /// suspended without the mode, and what follows it for the same receiver.
  private func waitsForForeground(_ event: AppEvent) -> Bool {
    guard event.receiver.isBluetooth, let mode = event.mode,
      !description.modes.isSuperset(of: mode)
    else { return false }
    return suspendedSince != nil
      || queue.entries.contains { $0.waitsForForeground && $0.event.receiver == event.receiver }
  }

  /// Why an event can't wait for a process; nil if it can.
  private func reasonToDiscard(_ event: AppEvent, _ rules: AppRules) -> AppDiscard? {
    guard let process, !process.isEnding else {
      if mayLaunch(for: event, rules) { return nil }
      return isForceQuit ? .forceQuit : .notRunning
    }
    switch event.receiver {
    case .location, .notifications, .tasks, .keepAlive: return nil
    case .central, .peripheral, .unnamedCentral, .unnamedPeripheral, .heldSocket:
      let isKnown =
        process.receivers.contains(event.receiver) || process.restorable.contains(event.receiver)
        || !process.hasResumed
      return isKnown ? nil : .noReceiver
    }
  }

  /// Whether an app that doesn't run may ever be launched for an event.
  ///
  /// Apple's documentation: QA1962, TN3115, "Performing Tasks While Your App Is in the Background" of the Core
  /// Bluetooth Programming Guide, `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
  func mayLaunch(for event: AppEvent, _ rules: AppRules) -> Bool {
    guard !isRemoved, let mode = event.mode, description.modes.isSuperset(of: mode) else {
      return false
    }
    let wants = wants[event.receiver] ?? []
    if isForceQuit {
      if event.receiver == .location, !rules.launchesForRegionsAfterForceQuit { return false }
      if event.receiver != .location {
        guard rules.launchesForAccessoriesAfterForceQuit, event.isOfAccessory,
          wants.contains(.accessory), event.receiver.isBluetooth
        else { return false }
      }
    }
    switch event.receiver {
    case .central: return !wants.isEmpty
    case .peripheral: return wants.contains(.advertising)
    case .location: return wants.contains(.regions)
    case .heldSocket: return wants.contains(.socket)
    case .notifications, .tasks, .keepAlive: return true
    case .unnamedCentral, .unnamedPeripheral: return false
    }
  }

  /// Whether an app without a process may be launched for an event now.
  func mayLaunchNow(for event: AppEvent, _ turn: Turn) -> Bool {
    if event.receiver.isBluetooth, isBluetoothBlocked { return false }
    return turn.isUnlocked && !isPaused(at: turn.now) && mayLaunch(for: event, turn.rules)
  }

  /// Whether a process can get a request in time.
  private func isReachable(for event: AppEvent, _ turn: Turn) -> Bool {
    guard let process else { return mayLaunchNow(for: event, turn) }
    switch process.stage {
    case .launching, .active, .inactive, .background: return true
    case .suspended: return !isPaused(at: turn.now) && mayWake(for: event, process)
    case .ending: return false
    }
  }

  // MARK: Bounds

  /// Makes room for an event, or ends the link of the peer whose values are too many. Returns whether the event is
  /// to wait.
  private mutating func hasRoom(for entry: AppQueue.Entry, _ turn: inout Turn) -> Bool {
    let limits = turn.limits
    let size = entry.event.payload.count
    guard size <= limits.waitingByteCountMax else {
      discard(entry, because: .limit, &turn)
      return false
    }
    func isFull(_ queue: AppQueue, _ count: Int) -> Bool {
      queue.count >= count || queue.byteCount + size > limits.waitingByteCountMax
    }
    if case .value(let peer) = entry.event.kind, isFull(queue, limits.waitingCountForValuesMax) {
      cut(Link(receiver: entry.event.receiver, peer: peer), entry, &turn)
      return false
    }
    while isFull(queue, limits.waitingCountMax) {
      guard let index = queue.indexToDiscard(for: entry.event) else { break }
      let entry = queue.remove(at: index)
      displaced.append(entry.event)
      discard(entry, because: .limit, &turn)
    }
    return true
  }

  /// Ends the link of a peer with too many values, and lets the app know.
  private mutating func cut(_ link: Link, _ entry: AppQueue.Entry, _ turn: inout Turn) {
    discard(entry, because: .limit, &turn)
    cutLinks.insert(link)
    turn.actions.append(.disconnect(id, link.receiver, link.peer))
    turn.report(.beyondLimit(id, link.receiver, link.peer))
    counts.arrivedCount += 1
    let kind = AppEvent.Kind.disconnected(link.peer, isBeyondLimit: true)
    admit(
      AppQueue.Entry(id: turn.nextEvent(), event: AppEvent(kind, for: link.receiver)), &turn)
  }

  /// Takes the events of a link that was cut, until there is a new one: its values, and its end, which the app got
  /// already.
  private mutating func isAfterCut(_ entry: AppQueue.Entry, _ turn: inout Turn) -> Bool {
    guard let peer = entry.event.kind.peer else { return false }
    let link = Link(receiver: entry.event.receiver, peer: peer)
    guard cutLinks.contains(link) else { return false }
    switch entry.event.kind {
    case .connected:
      cutLinks.remove(link)
      return false
    case .disconnected:
      cutLinks.remove(link)
      counts.coalescedCount += 1
      return true
    case .value, .request:
      discard(entry, because: .afterLimit, &turn)
      return true
    case .callback, .discovered, .region, .notification, .refresh, .processing, .socket,
      .keepAlive:
      return false
    }
  }

  // MARK: Alerts

  private mutating func showAlert(
    of entry: AppQueue.Entry, isSilent: Bool, _ turn: inout Turn
  ) {
    if let key = entry.event.key, let index = alerts.firstIndex(where: { $0.key == key }) {
      if alerts.remove(at: index).event != nil { counts.coalescedCount += 1 }
    }
    if alerts.count >= turn.limits.alertCountMax, alerts.removeFirst().event != nil {
      counts.unseenAlertCount += 1
    }
    alerts.append(
      Alert(id: entry.id, event: isSilent ? nil : entry.event, key: entry.event.key))
    turn.actions.append(.alert(id, entry.id))
  }

  /// An alert that the last system has shown. Those beyond the bound are not taken over.
  mutating func preserveAlert(_ event: AppEvent, _ turn: inout Turn) {
    let id = turn.nextEvent()
    guard alerts.count < turn.limits.alertCountMax, !isRemoved else { return }
    counts.arrivedCount += 1
    alerts.append(Alert(id: id, event: event, key: event.key))
  }

  /// The person taps an alert: the app is opened, and gets the notification.
  mutating func openAlert(_ event: AppEventID, _ turn: inout Turn) {
    guard let index = alerts.firstIndex(where: { $0.id == event }) else {
      // An alert of a connection: its event waits, or was handed over already.
      return open(nil, &turn)
    }
    let alert = alerts.remove(at: index)
    open(Opening(notification: alert.id, event: alert.event), &turn)
  }

  /// The notification of a tapped alert waits for the process, with a number behind those of all other events.
  mutating func admit(_ opening: Opening, _ number: AppEventID, _ turn: inout Turn) {
    guard var event = opening.event else { return }
    event.isTapped = true
    admit(AppQueue.Entry(id: number, event: event), &turn)
  }
}

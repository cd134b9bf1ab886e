import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Events on their way to clients: counting those that clients have not handled, and what follows.

extension HostMachine {
  /// Counts the events that were delivered since the action with this index, confirms indications,
  /// and holds back or releases what comes in.
  mutating func countEvents(since start: Int, now: Instant, into actions: inout [Action]) {
    defer { currentPacketHandle = nil }
    if backlog.isCounting {
      countEvents(since: start, in: &actions)
      expectHandling(now: now)
      endExcessiveLinks(now: now, into: &actions)
      if backlog.mayPauseReceiving { backlog.isRadioShared = isRadioShared }
    }
    confirmIndications(now: now, into: &actions)
    if let command = backlog.nextCompletion() { actions.append(.send(command.packet)) }
    switch receiving.set(backlog.shouldPauseReceiving, now: now) {
    case nil: break
    case true?: actions.append(.pauseReceiving)
    case false?: actions.append(.resumeReceiving)
    }
  }

  private mutating func countEvents(since start: Int, in actions: inout [Action]) {
    var droppedIndices: [Int] = []
    for index in start..<actions.count {
      guard case .deliver(let client, let event) = actions[index] else { continue }
      if case .discovered = event, !backlog.admitsReport(client) {
        droppedIndices.append(index)
      } else if event.isAcknowledged {
        backlog.delivered(event, to: client, causedBy: currentPacketHandle)
      }
    }
    for index in droppedIndices.reversed() { actions.remove(at: index) }
  }

  /// A link of which a client has too many unhandled events ends for this client, and goes on for others
  /// that use it.
  private mutating func endExcessiveLinks(now: Instant, into actions: inout [Action]) {
    let excesses = backlog.takeExcesses()
    guard !excesses.isEmpty else { return }
    // The events of that end are not the peer's.
    currentPacketHandle = nil
    let start = actions.count
    for excess in excesses {
      guard let index = links.index(handle: excess.handle), !links.entries[index].isClosing else {
        continue
      }
      let error = HostError.limitReached("events of a peer that a client has not handled")
      if isLinkUsed(index, byOthersThan: excess.client) {
        takeLink(index, from: excess.client, because: error, now: now, into: &actions)
      } else {
        disconnectLink(index, because: error, now: now, into: &actions)
      }
    }
    countEvents(since: start, in: &actions)
  }

  /// Whether another client has requested a link or, if the peer opened it, serves the peer.
  private func isLinkUsed(_ index: Int, byOthersThan client: ClientID) -> Bool {
    if linkRequests.isWanted(links.peers[index], byOthersThan: client) { return true }
    guard links.entries[index].info.role == .peripheral else { return false }
    return backlog.isUsed(links.handles[index], byOthersThan: client)
      || clients.contains { $0 != client && server.hasServices(of: $0) }
  }

  /// Whether clients that are not behind wait for something from the controller.
  private var isRadioShared: Bool {
    clients.contains { client in
      guard !backlog.isSlow(client) else { return false }
      return scanner.clients.contains(client) || advertiser.clients.contains(client)
        || !linkRequests.peers(of: client).isEmpty
        || channels.listeners.contains { $0.client == client }
        || server.hasServices(of: client)
    }
  }

  /// A client has handled events: a link that was held back may go on, and the client learns what it
  /// did not get.
  mutating func eventsHandled(
    _ count: Int, by client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    guard count > 0 else { return }
    backlog.handled(count, by: client, now: now)
    revealLinks(to: client, into: &actions)
    for loss in backlog.takeLosses(
      of: client, where: { !hiddenLinks.contains($0, from: client) })
    {
      let event: HostEvent =
        switch loss.source {
        case .notification(let peer, let handle):
          .valuesDropped(peer, handle: handle, count: loss.count)
        case .write(let peer, let handle):
          .writesDropped(peer, handle: handle, count: loss.count)
        case .request(let peer, let handle):
          .requestsExpired(peer, handle: handle, count: loss.count)
        }
      notify(client, event, into: &actions)
    }
  }

  /// Whether a client gets a request of a peer. One that is late, or does not know the link, does not
  /// get those that the peer awaits a response to: they are answered with an error at once.
  mutating func admits(
    _ request: ServerRequest, for client: ClientID, now: Instant, into actions: inout [Action]
  ) -> Bool {
    guard request.needsResponse else { return admitsWrite(request, for: client) }
    guard backlog.isLate(client) || hiddenLinks.contains(request.peer, from: client) else {
      return true
    }
    backlog.requestExpired(.request(request.peer, handle: request.firstHandle), for: client)
    withServer(now: now, into: &actions) { server, outputs in
      server.respond(
        request.id, .failure(.unlikelyError), from: client, now: now, into: &outputs)
    }
    return false
  }

  private mutating func admitsWrite(_ request: ServerRequest, for client: ClientID) -> Bool {
    guard let index = links.index(peer: request.peer) else { return true }
    if hiddenLinks.contains(request.peer, from: client) {
      backlog.valueDropped(.write(request.peer, handle: request.firstHandle), for: client)
      return false
    }
    return backlog.admitsValue(
      client, of: links.handles[index], .write(request.peer, handle: request.firstHandle))
  }

  /// A client has not answered a request. If it has not handled its events either, nothing waits for
  /// it before it has.
  mutating func requestExpired(
    _ client: ClientID, _ peer: DeviceAddress, _ handle: UInt16, now: Instant,
    into actions: inout [Action]
  ) {
    backlog.requestExpired(.request(peer, handle: handle), for: client)
    guard backlog.isAcknowledging(client) else {
      return notify(client, .requestsExpired(peer, handle: handle, count: 1), into: &actions)
    }
    guard !backlog.isLate(client) else { return }
    notify(client, .acknowledgementRequested, into: &actions)
    expectsHandling.append(client)
  }

  // MARK: Late clients

  /// The clients that have been requested to acknowledge their events have a time for that.
  private mutating func expectHandling(now: Instant) {
    guard !expectsHandling.isEmpty else { return }
    for client in expectsHandling { backlog.expectHandling(by: client, now: now) }
    expectsHandling.removeAll(keepingCapacity: true)
    due(backlog.nextDeadline)
  }

  // MARK: Indications

  private mutating func confirmIndications(now: Instant, into actions: inout [Action]) {
    guard !confirmations.isEmpty || hasHolders else { return }
    let confirmed = confirmations.takeConfirmed(by: backlog, now: now)
    let holders = confirmations.holders(in: backlog)
    hasHolders = !holders.isEmpty
    backlog.holdUp(holders, now: now)
    due(backlog.nextDeadline)
    guard !confirmed.isEmpty else { return }
    for (handle, bearer) in confirmed {
      guard let index = links.index(handle: handle) else { continue }
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.confirmIndication(over: bearer, into: &outputs)
      }
    }
    drain(now: now, into: &actions)
  }

  // MARK: Time

  /// Gives more time to those whose answers don't get through: the peers of links that are held
  /// back, and everyone while the transport is not read.
  mutating func postponeTimeouts(now: Instant) {
    guard backlog.isCounting else { return }
    let instant = now + ReceivingPause.grace
    let isQuiet = receiving.isQuiet(at: now)
    if isQuiet {
      session.postponeTimeout(until: instant)
      connector.postponeTimeout(until: instant)
    }
    for index in links.indices where isQuiet || backlog.isHeldBack(links.handles[index]) {
      links.entries[index].l2cap.postponeTimeouts(until: instant)
      links.entries[index].gatt.postponeTimeout(until: instant)
      links.entries[index].security.postponeTimeout(until: instant)
      server.postponeTimeout(of: links.peers[index], until: instant)
    }
  }
}

/// Indications that have been delivered to clients and are confirmed when those have handled them, or
/// are late (Core 5.4, Vol 3, Part F, §3.4.7.3). A peer sends the next one only after that.
struct PendingConfirmations: Sendable {
  private struct Indication: Sendable {
    let handle: UInt16
    let bearer: ATTBearer
    let clients: [ClientID]
    /// Whether other clients get values of the peer, which it sends no indication before this is confirmed.
    let othersWait: Bool
    /// Nil until the events of the packet that brought the indication have been counted.
    var marks: [EventBacklog.Mark]?
    /// Since when another client waits for those that haven't handled it.
    var handledSince: Instant?
  }

  private var indications: [Indication] = []

  var isEmpty: Bool { indications.isEmpty }

  /// Whether a link has an indication over a bearer that is not confirmed.
  func contains(_ handle: UInt16, over bearer: ATTBearer) -> Bool {
    indications.contains { $0.handle == handle && $0.bearer == bearer }
  }

  /// A bearer that has none brought an indication for these clients.
  ///
  /// - Parameter othersWait: Whether other clients get values of the peer.
  mutating func add(
    _ handle: UInt16, over bearer: ATTBearer, _ clients: [ClientID], othersWait: Bool
  ) {
    assert(!contains(handle, over: bearer))
    indications.append(
      Indication(handle: handle, bearer: bearer, clients: clients, othersWait: othersWait))
  }

  /// The link is gone, or one bearer of it.
  mutating func remove(_ handle: UInt16, over bearer: ATTBearer? = nil) {
    indications.removeAll { $0.handle == handle && (bearer ?? $0.bearer) == $0.bearer }
  }

  /// The links and bearers whose indications have been handled by every client.
  mutating func takeConfirmed(by backlog: EventBacklog, now: Instant) -> [(UInt16, ATTBearer)] {
    for index in indications.indices {
      let marks = indications[index].marks ?? backlog.marks(for: indications[index].clients)
      indications[index].marks = marks
      // A client that acknowledges nothing has no mark, and waits for nothing.
      let othersWait =
        indications[index].othersWait || marks.count < indications[index].clients.count
        || marks.contains(where: backlog.isHandled)
      if indications[index].handledSince == nil, othersWait {
        indications[index].handledSince = now
      }
    }
    let confirmed = indications.filter { $0.marks?.allSatisfy(backlog.isPassed) == true }
    guard !confirmed.isEmpty else { return [] }
    indications.removeAll { $0.marks?.allSatisfy(backlog.isPassed) == true }
    return confirmed.map { ($0.handle, $0.bearer) }
  }

  /// The clients that indications wait for though another client has handled those, and since when that
  /// counts.
  func holders(in backlog: EventBacklog) -> [(mark: EventBacklog.Mark, since: Instant)] {
    var holders: [(mark: EventBacklog.Mark, since: Instant)] = []
    for indication in indications {
      guard let since = indication.handledSince else { continue }
      for mark in indication.marks ?? [] where !backlog.isPassed(mark) {
        holders.append((mark, since + Patience.Limits.grace))
      }
    }
    return holders
  }
}

/// Whether the transport is read. While it isn't, answers of the controller and of peers stay
/// unread, so timeouts are suspended until the backlog has been read.
struct ReceivingPause: Sendable {
  /// How long reading what has gathered may take.
  static let grace = TimeSpan.seconds(1)

  private(set) var isPaused = false
  private var resumedAt: Instant?

  /// Pauses or resumes; nil if nothing changes.
  mutating func set(_ isPaused: Bool, now: Instant) -> Bool? {
    guard isPaused != self.isPaused else { return nil }
    self.isPaused = isPaused
    resumedAt = isPaused ? nil : now
    return isPaused
  }

  /// Whether answers may be unread.
  func isQuiet(at now: Instant) -> Bool {
    isPaused || resumedAt.map { now < $0 + Self.grace } ?? false
  }
}

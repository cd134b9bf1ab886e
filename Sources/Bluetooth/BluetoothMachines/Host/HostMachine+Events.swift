import BluetoothWire
import Essentials

// Events on their way to clients: counting those that clients have not handled, and what follows.

extension HostMachine {
  /// Counts the events that were delivered since the action with this index, confirms indications,
  /// and holds back or releases what comes in.
  mutating func countEvents(since start: Int, now: Instant, into actions: inout [Action]) {
    defer { causeOfEvents = nil }
    if backlog.isCounting { countEvents(since: start, in: &actions) }
    confirmIndications(now: now, into: &actions)
    if let command = backlog.nextCompletion() { actions.append(.send(command.packet)) }
    switch receiving.set(backlog.shouldPauseReceiving, now: now) {
    case nil: break
    case true?: actions.append(.pauseReceiving)
    case false?:
      actions.append(.resumeReceiving)
      due(receiving.quietUntil(after: now))
    }
  }

  private mutating func countEvents(since start: Int, in actions: inout [Action]) {
    var droppedIndices: [Int] = []
    for index in start..<actions.count {
      guard case .deliver(let client, let event) = actions[index] else { continue }
      if case .discovered = event, !backlog.admitsReport(client) {
        droppedIndices.append(index)
      } else {
        backlog.delivered(event, to: client, causedBy: causeOfEvents)
      }
    }
    for index in droppedIndices.reversed() { actions.remove(at: index) }
  }

  /// A client has handled events: a link that was held back may go on, and the client learns what it
  /// did not get.
  mutating func eventsHandled(
    _ count: Int, by client: ClientID, into actions: inout [Action]
  ) {
    guard count > 0 else { return }
    backlog.handled(count, by: client)
    for loss in backlog.takeLosses(of: client) {
      let event: HostEvent =
        switch loss.source {
        case .notification(let peer, let handle):
          .valuesDropped(peer, handle: handle, count: loss.count)
        case .write(let peer, let handle):
          .writesDropped(peer, handle: handle, count: loss.count)
        }
      notify(client, event, into: &actions)
    }
  }

  /// Whether a client gets a write that the peer awaits no response to.
  mutating func admits(_ request: ServerRequest, for client: ClientID) -> Bool {
    guard case .write(let writes) = request.kind, let first = writes.first,
      let index = links.index(peer: request.peer)
    else { return true }
    return backlog.admitsValue(
      client, of: links.handles[index], .write(request.peer, handle: first.handle))
  }

  // MARK: Indications

  private mutating func confirmIndications(now: Instant, into actions: inout [Action]) {
    guard !confirmations.isEmpty else { return }
    for handle in confirmations.takeConfirmed(by: backlog) {
      guard let index = links.index(handle: handle) else { continue }
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.confirmIndication(into: &outputs)
      }
    }
    drain(now: now, into: &actions)
  }

  // MARK: Time

  /// Gives the peers of links that are held back more time: their answers don't get through.
  mutating func postponeTimeouts(now: Instant) {
    guard backlog.isCounting else { return }
    let instant = now + ReceivingPause.grace
    for index in links.indices where backlog.isHeldBack(links.handles[index]) {
      links[index].l2cap.postponeTimeouts(until: instant)
      links[index].gatt.postponeTimeout(until: instant)
      server.postponeTimeout(of: links.peers[index], until: instant)
    }
  }
}

/// Indications that have been delivered to clients and are confirmed when those have handled them
/// (Core 5.4, Vol 3, Part F, §3.4.7.3). A peer sends the next one only after that.
struct PendingConfirmations: Sendable {
  private struct Indication: Sendable {
    let handle: UInt16
    let clients: [ClientID]
    /// Nil until the events of the packet that brought the indication have been counted.
    var marks: [EventBacklog.Mark]?
  }

  private var indications: [Indication] = []

  var isEmpty: Bool { indications.isEmpty }

  /// A link brought an indication for these clients. A peer that sends another before the first was
  /// confirmed gets one confirmation for both.
  mutating func add(_ handle: UInt16, _ clients: [ClientID]) {
    if let index = indications.firstIndex(where: { $0.handle == handle }) {
      let clients = indications[index].clients + clients
      indications[index] = Indication(handle: handle, clients: clients)
    } else {
      indications.append(Indication(handle: handle, clients: clients))
    }
  }

  /// The link is gone.
  mutating func remove(_ handle: UInt16) { indications.removeAll { $0.handle == handle } }

  /// The links whose indications have been handled by every client.
  mutating func takeConfirmed(by backlog: EventBacklog) -> [UInt16] {
    for index in indications.indices where indications[index].marks == nil {
      indications[index].marks = backlog.marks(for: indications[index].clients)
    }
    let confirmed = indications.filter { $0.marks?.allSatisfy(backlog.isPassed) == true }
    guard !confirmed.isEmpty else { return [] }
    indications.removeAll { $0.marks?.allSatisfy(backlog.isPassed) == true }
    return confirmed.map(\.handle)
  }
}

/// Whether the transport is read. While it isn't, the answers of controller and peers stay unread,
/// so that no time-out means anything, nor until what has gathered was read.
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

  /// Until when nothing is due, if anything is held up at all.
  func quietUntil(after now: Instant) -> Instant? {
    if isPaused { return .distantFuture }
    guard let resumedAt, now < resumedAt + Self.grace else { return nil }
    return resumedAt + Self.grace
  }
}

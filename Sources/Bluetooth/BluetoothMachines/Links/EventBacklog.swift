import BluetoothInterface
import BluetoothWire
import Essentials
import L2CAPMachines

/// Counts the events that clients have not handled yet, and applies back-pressure to peers.
///
/// A client that reports how many events it has handled is *acknowledging*. Its events are counted
/// by the link that caused them. A link that causes more than a client handles is held back: its
/// packets are not reported to the controller as completed, so that the controller stops taking
/// data from the peer (Core 5.4, Vol 4, Part E, §4.2) and the peer's own host notices. Nothing is
/// lost then.
///
/// The controller counts the host's buffers for all links together. So a held link may occupy all
/// of them only if no other link needs them: while it is the only link and one client gets
/// everything that it receives. Otherwise it has a share of them, and unacknowledged values
/// (notifications and writes without response) beyond it are dropped and counted.
///
/// Events that are not dropped, such as changes of services and subscriptions, are bounded as well:
/// a link that goes on causing them is taken from the client, or ended if no other one uses it, and
/// while a client has too many unhandled events, links that peers open are hidden from it.
struct EventBacklog: Sendable {
  enum Limits {
    /// The ACL data packets that the controller may hand over before the first is completed: with
    /// data length extension 128 kB, and more than a batch of any transport holds.
    static let hostBufferCount = 512
    /// Events of one link that one client has not handled yet; beyond, the link is held back.
    /// With the buffers this bounds what waits for one client to about a megabyte for each link.
    static let unhandledMax = 1_024
    /// How few must be left for the link to go on. Much less, so that it doesn't stop and go with
    /// every event.
    static let unhandledLow = 512
    /// Events of one link that one client has not handled, at which the client loses the link. More
    /// than a link can cause with the packets that are on their way when it is held back.
    static let excessiveCount = 8 * unhandledMax
    /// Events of all links, open or closed, that one client has not handled, from which on links
    /// that peers open are hidden from it, until half of them are left.
    static let clientMax = 32_768
    /// Completed packets that are reported to the controller in one command.
    static let completedBatch = 64
    /// Connections for which one command has room (Core 5.4, Vol 4, Part E, §7.3.40).
    static let connectionsPerCommand = 63
    /// Characteristics of which it is remembered that values were dropped; those of more are counted
    /// only.
    static let lossesMax = 256
    /// How long a client has to acknowledge events that a confirmation waits for. Far less than the
    /// 30 s after which a peer gives the link up (Core 5.4, Vol 3, Part F, §3.3.3).
    static let acknowledgementTimeout: TimeSpan = .seconds(5)
    /// How few unhandled events a late client must have left to be in time again: more than the
    /// batch in which Core Bluetooth acknowledges.
    static let lateLow = 128
    /// Reports of advertising that one client has not handled; more are dropped and counted.
    static let reportsMax = 8_192
  }

  /// A link, as long as it lasts. Handles are used again, these are not.
  typealias LinkNumber = UInt32

  enum Cause: Sendable, Equatable {
    case link(LinkNumber)
    case report
    case other
  }

  /// Consecutive events of a client with the same cause.
  struct Run: Sendable {
    var cause: Cause
    var count: Int
  }

  struct Client: Sendable {
    let id: ClientID
    /// Unhandled events, the oldest first; the last run is apart, because it grows.
    var runs = FIFO<Run>()
    var last = Run(cause: .other, count: 0)
    var deliveredCount: UInt64 = 0
    var handledCount: UInt64 = 0
    /// Unhandled reports of advertising.
    var reportCount = 0
    /// The events that must be handled by a time: how many have to be, the oldest first.
    var expectations = FIFO<(count: UInt64, deadline: Instant)>()
    /// Whether the client has missed such a time, and has not caught up since.
    var isLate = false
    /// Whether that was reported since it last caught up.
    var isReported = false
    /// How long it may still hold up what others have handled.
    var patience = Patience()
    /// Unhandled events of links.
    var unhandled: [(link: LinkNumber, count: Int)] = []

    var unhandledCount: UInt64 { deliveredCount - handledCount }

    /// Some events were handled: forgets what was met, and whether the client was late.
    mutating func catchUp(now: Instant) {
      while let first = expectations.first, first.count <= handledCount {
        _ = expectations.popFirst()
      }
      guard unhandledCount < UInt64(Limits.lateLow) else { return }
      (isLate, isReported) = (false, false)
      patience.restore(now: now)
    }

    /// Whether the client is to be reported as late now.
    mutating func becomesReported() -> Bool {
      defer { isReported = true }
      return !isReported
    }

    mutating func deliver(_ cause: Cause) {
      deliveredCount += 1
      if last.cause == cause {
        last.count += 1
      } else {
        if last.count > 0 { runs.append(last) }
        last = Run(cause: cause, count: 1)
      }
    }

    /// Removes the oldest events, at most `count`; returns the number and the cause of the removed
    /// ones.
    mutating func handle(atMost count: Int) -> Run? {
      let isLast = runs.isEmpty
      guard var run = isLast ? last : runs.first, run.count > 0, count > 0 else { return nil }
      let handled = Run(cause: run.cause, count: min(run.count, count))
      run.count -= handled.count
      if isLast {
        last = run
      } else if run.count == 0 {
        _ = runs.popFirst()
      } else {
        runs.first = run
      }
      handledCount += UInt64(handled.count)
      return handled
    }
  }

  struct LinkState: Sendable {
    let handle: UInt16
    let number: LinkNumber
    /// Packets that the controller counts as not completed.
    var pendingPackets = 0
    /// Clients with more unhandled events of this link than `unhandledMax`, until they have fewer
    /// than `unhandledLow`.
    var slowClients: [ClientID] = []
    /// The clients that this link has caused events for.
    var receivers: [ClientID] = []
  }

  private(set) var clients: [Client] = []
  private(set) var links: [LinkState] = []
  private var lastNumber: LinkNumber = 0
  /// Whether the controller counts the host's buffers.
  private(set) var usesHostFlowControl = false
  /// Packets of all links that may be completed now.
  private(set) var completableCount = 0
  /// Packets of links that this host doesn't know, to be completed.
  private(set) var strays: [CompletedPackets] = []
  /// Whether other clients than those that are held back use the radio.
  var isRadioShared = false
  /// Links that have caused more than a client can be expected to handle, since this was last taken.
  private var excesses: [Excess] = []

  /// A client has too many unhandled events of a link.
  struct Excess: Sendable, Equatable {
    let client: ClientID
    let handle: UInt16
  }

  /// Values and reports that were dropped because a client was behind.
  private(set) var droppedValueCount = 0
  private(set) var droppedReportCount = 0
  /// Peers' requests that the host answered with an error because a client did not answer.
  private(set) var expiredRequestCount = 0
  private(set) var losses: [Loss] = []

  // MARK: Controllers and links

  /// A controller was started; no link of an earlier one is left.
  mutating func controllerStarted(usesHostFlowControl: Bool) {
    self.usesHostFlowControl = usesHostFlowControl
    links = []
    strays = []
    excesses = []
    completableCount = 0
    for index in clients.indices { clients[index].unhandled = [] }
  }

  /// Whether any client is acknowledging.
  var isCounting: Bool { !clients.isEmpty }

  mutating func clientOpened(_ id: ClientID) {
    if clientIndex(id) == nil { clients.append(Client(id: id)) }
  }

  mutating func clientClosed(_ id: ClientID) {
    clients.removeAll { $0.id == id }
    losses.removeAll { $0.client == id }
    for index in links.indices {
      links[index].slowClients.removeAll { $0 == id }
      links[index].receivers.removeAll { $0 == id }
    }
    countCompletable()
  }

  mutating func linkOpened(_ handle: UInt16) {
    lastNumber &+= 1
    strays.removeAll { $0.handle == handle }
    links.append(LinkState(handle: handle, number: lastNumber))
    countCompletable()
  }

  /// A client uses a link, so that holding back the link would hold up the client.
  mutating func linkUsed(_ handle: UInt16, by id: ClientID) {
    guard let index = linkIndex(handle), !links[index].receivers.contains(id) else { return }
    links[index].receivers.append(id)
    countCompletable()
  }

  /// A client has lost a link that goes on: the link is not held back for it any more.
  mutating func linkLost(_ handle: UInt16, by id: ClientID) {
    guard let index = linkIndex(handle) else { return }
    links[index].slowClients.removeAll { $0 == id }
    links[index].receivers.removeAll { $0 == id }
    countCompletable()
  }

  mutating func linkClosed(_ handle: UInt16) {
    guard let index = linkIndex(handle) else { return }
    let number = links.remove(at: index).number
    for index in clients.indices {
      clients[index].unhandled.removeAll { $0.link == number }
    }
    countCompletable()
  }

  // MARK: Packets

  /// A data packet of a link arrived.
  mutating func received(_ handle: UInt16) {
    guard usesHostFlowControl, let index = linkIndex(handle) else { return }
    links[index].pendingPackets += 1
    if links[index].slowClients.isEmpty || links[index].pendingPackets > share(of: index) {
      completableCount += 1
    }
  }

  /// A data packet of a connection arrived that this host doesn't know, or no longer.
  mutating func receivedStray(_ handle: UInt16) {
    guard usesHostFlowControl else { return }
    if let index = strays.firstIndex(where: { $0.handle == handle }) {
      strays[index].count += 1
    } else if strays.count < Limits.connectionsPerCommand / 2 {
      strays.append(CompletedPackets(handle: handle, count: 1))
    } else {
      return
    }
    completableCount += 1
  }

  /// A connection that this host doesn't know ended: the controller takes its packets as completed.
  mutating func strayClosed(_ handle: UInt16) {
    strays.removeAll { $0.handle == handle }
    countCompletable()
  }

  /// The command that reports completed packets, if there are enough of them.
  mutating func nextCompletion() -> HostNumberOfCompletedPackets? {
    // Nothing else may come that would complete the packets of a connection that isn't known.
    guard completableCount >= Limits.completedBatch || !strays.isEmpty else { return nil }
    var packets = strays
    strays = []
    for index in links.indices where packets.count < Limits.connectionsPerCommand {
      let count = completable(index)
      guard count > 0 else { continue }
      links[index].pendingPackets -= count
      packets.append(
        CompletedPackets(handle: links[index].handle, count: UInt16(clamping: count)))
    }
    countCompletable()
    return packets.isEmpty ? nil : HostNumberOfCompletedPackets(packets: packets)
  }

  /// How many packets of a link may be completed now.
  func completable(_ index: Int) -> Int {
    let kept = links[index].slowClients.isEmpty ? 0 : share(of: index)
    return max(0, links[index].pendingPackets - kept)
  }

  private mutating func countCompletable() {
    completableCount =
      strays.reduce(0) { $0 + Int($1.count) } + links.indices.reduce(0) { $0 + completable($1) }
  }

  /// How many buffers a link that is held back may occupy.
  private func share(of index: Int) -> Int {
    isShared(index) ? max(1, Limits.hostBufferCount / 2 / links.count) : Limits.hostBufferCount
  }

  /// Whether holding back this link would hold up another link or another client.
  private func isShared(_ index: Int) -> Bool {
    links.count > 1 || links[index].receivers.count > 1
      || (isRadioShared && !usesHostFlowControl)
  }

  /// Whether the transport should not be read for now: a link is held back, the controller has
  /// no flow control, and nothing but this link is on it that concerns other clients.
  var shouldPauseReceiving: Bool {
    guard !usesHostFlowControl, links.count == 1 else { return false }
    return !links[0].slowClients.isEmpty && !isShared(0)
  }

  /// Whether `isRadioShared` matters: a link is held back, and the controller has no flow control.
  var mayPauseReceiving: Bool {
    !usesHostFlowControl && links.contains { !$0.slowClients.isEmpty }
  }

  /// Whether a client is behind with the events of a link, so that the link is held back.
  func isSlow(_ id: ClientID) -> Bool { links.contains { $0.slowClients.contains(id) } }

  /// Whether a link is held back, so that what its peer owes may be on its way.
  func isHeldBack(_ handle: UInt16) -> Bool {
    linkIndex(handle).map { !links[$0].slowClients.isEmpty } ?? false
  }

  // MARK: Events

  /// Values that a client did not get.
  struct Loss: Sendable, Equatable {
    let client: ClientID
    let source: ValueSource
    fileprivate(set) var count: Int
  }

  /// Whether a client may get an unacknowledged value of a link; counts it as dropped if not.
  mutating func admitsValue(
    _ id: ClientID, of handle: UInt16, _ source: @autoclosure () -> ValueSource
  ) -> Bool {
    guard isCounting, let link = linkIndex(handle), links[link].slowClients.contains(id),
      isShared(link), !usesHostFlowControl || links[link].pendingPackets >= share(of: link)
    else { return true }
    valueDropped(source(), for: id)
    return false
  }

  /// Whether a client may get an indication; counts it as dropped if not. Only a client that is late
  /// misses any, once the link is held back because of it.
  mutating func admitsIndication(
    _ id: ClientID, of handle: UInt16, _ source: @autoclosure () -> ValueSource
  ) -> Bool {
    guard !isAwaited(id), let link = linkIndex(handle), links[link].slowClients.contains(id) else {
      return true
    }
    valueDropped(source(), for: id)
    return false
  }

  /// Counts a value that a client doesn't get.
  mutating func valueDropped(_ source: ValueSource, for id: ClientID) {
    droppedValueCount += 1
    addLoss(source, for: id)
  }

  /// Counts a peer's request that the host answered with an error in place of a client.
  mutating func requestExpired(_ source: ValueSource, for id: ClientID) {
    expiredRequestCount += 1
    addLoss(source, for: id)
  }

  private mutating func addLoss(_ source: ValueSource, for id: ClientID) {
    guard isAcknowledging(id) else { return }
    if let index = losses.firstIndex(where: { $0.client == id && $0.source == source }) {
      losses[index].count += 1
    } else if losses.count < Limits.lossesMax {
      losses.append(Loss(client: id, source: source, count: 1))
    }
  }

  /// What a client did not get, once it gets values again, of the peers whose links it knows.
  mutating func takeLosses(
    of id: ClientID, where isKnown: (DeviceAddress) -> Bool
  ) -> [Loss] {
    guard !losses.isEmpty, !isSlow(id), !isLate(id) else { return [] }
    let taken = losses.filter { $0.client == id && isKnown($0.source.peer) }
    losses.removeAll { $0.client == id && isKnown($0.source.peer) }
    return taken
  }

  /// A client does not learn what it did not get of a peer.
  mutating func forgetLosses(of id: ClientID, of peer: DeviceAddress) {
    losses.removeAll { $0.client == id && $0.source.peer == peer }
  }

  /// Whether a client may get a report of advertising; counts it as dropped if not.
  mutating func admitsReport(_ id: ClientID) -> Bool {
    guard let index = clientIndex(id), clients[index].reportCount >= Limits.reportsMax else {
      return true
    }
    droppedReportCount += 1
    return false
  }

  /// An event was delivered to a client.
  ///
  /// - Parameter handle: The link that caused it, if one did.
  mutating func delivered(_ event: HostEvent, to id: ClientID, causedBy handle: UInt16?) {
    guard let index = clientIndex(id) else { return }
    if let handle, let link = linkIndex(handle) {
      clients[index].deliver(.link(links[link].number))
      count(event, of: link, for: index)
    } else if case .discovered = event {
      clients[index].deliver(.report)
      clients[index].reportCount += 1
    } else {
      clients[index].deliver(.other)
    }
  }

  private mutating func count(_ event: HostEvent, of link: Int, for index: Int) {
    let (id, number) = (clients[index].id, links[link].number)
    let isNew = !event.isForAllClients && !links[link].receivers.contains(id)
    if isNew { links[link].receivers.append(id) }
    var unhandled = 1
    if let position = clients[index].unhandled.firstIndex(where: { $0.link == number }) {
      clients[index].unhandled[position].count += 1
      unhandled = clients[index].unhandled[position].count
    } else {
      clients[index].unhandled.append((number, 1))
    }
    // More than once, since a client may request a link again that it has lost.
    if unhandled >= Limits.excessiveCount, unhandled.isMultiple(of: Limits.unhandledMax) {
      excesses.append(Excess(client: id, handle: links[link].handle))
    }
    let isSlow = unhandled >= Limits.unhandledMax && !links[link].slowClients.contains(id)
    if isSlow { links[link].slowClients.append(id) }
    if isNew || isSlow { countCompletable() }
  }

  /// The links that clients have to lose, because they have too many unhandled events of theirs.
  mutating func takeExcesses() -> [Excess] {
    guard !excesses.isEmpty else { return [] }
    defer { excesses = [] }
    return excesses
  }

  /// Whether any other client uses a link or has got events of it.
  func isUsed(_ handle: UInt16, byOthersThan id: ClientID) -> Bool {
    guard let index = linkIndex(handle) else { return false }
    return links[index].receivers.contains { $0 != id }
  }

  /// Whether a client has as few unhandled events of a link as it needs for the link to go on.
  func hasCaughtUp(_ id: ClientID, with handle: UInt16) -> Bool {
    guard let client = clientIndex(id), let link = linkIndex(handle) else { return true }
    let number = links[link].number
    let unhandled = clients[client].unhandled.first { $0.link == number }
    return unhandled.map { $0.count <= Limits.unhandledLow } ?? true
  }

  /// Whether a client's unhandled events have reached the limit, so that peers should cause no
  /// others.
  func isFull(_ id: ClientID) -> Bool {
    guard let index = clientIndex(id) else { return false }
    return clients[index].unhandledCount >= UInt64(Limits.clientMax + clients[index].reportCount)
  }

  /// Whether a client may hear of links that were hidden from it.
  func hasRoomForLinks(_ id: ClientID) -> Bool {
    guard let index = clientIndex(id) else { return true }
    return clients[index].unhandledCount < UInt64(Limits.clientMax / 2)
  }

  /// A client has handled its oldest events. A client that claims more than it got has handled all.
  mutating func handled(_ count: Int, by id: ClientID, now: Instant) {
    guard let index = clientIndex(id) else { return }
    var left = count
    while let run = clients[index].handle(atMost: left) {
      left -= run.count
      switch run.cause {
      case .link(let number): handled(run.count, of: number, by: index)
      case .report: clients[index].reportCount -= run.count
      case .other: break
      }
    }
    clients[index].catchUp(now: now)
  }

  private mutating func handled(_ count: Int, of number: LinkNumber, by index: Int) {
    // A link that is gone is not counted any more.
    guard let position = clients[index].unhandled.firstIndex(where: { $0.link == number }),
      let link = links.firstIndex(where: { $0.number == number })
    else { return }
    clients[index].unhandled[position].count -= count
    let left = clients[index].unhandled[position].count
    if left == 0 { clients[index].unhandled.remove(at: position) }
    let id = clients[index].id
    guard left <= Limits.unhandledLow, links[link].slowClients.contains(id) else { return }
    links[link].slowClients.removeAll { $0 == id }
    countCompletable()
  }

  // MARK: Marks

  /// Whether a client is acknowledging.
  func isAcknowledging(_ id: ClientID) -> Bool { clientIndex(id) != nil }

  /// A point in a client's events: everything up to it was delivered before.
  struct Mark: Sendable, Equatable {
    fileprivate let client: ClientID
    fileprivate let deliveredCount: UInt64
  }

  /// The present point in the events of these clients; none for those that are not acknowledging.
  func marks(for ids: [ClientID]) -> [Mark] {
    ids.compactMap { id in
      clientIndex(id).map { Mark(client: id, deliveredCount: clients[$0].deliveredCount) }
    }
  }

  /// Whether the client has handled everything up to the mark, or is late, or gone.
  func isPassed(_ mark: Mark) -> Bool {
    guard let index = clientIndex(mark.client) else { return true }
    return !isAwaited(mark.client) || clients[index].handledCount >= mark.deliveredCount
  }

  /// Whether the client has handled everything up to the mark itself.
  func isHandled(_ mark: Mark) -> Bool {
    clientIndex(mark.client).map { clients[$0].handledCount >= mark.deliveredCount } ?? false
  }

  // MARK: Late clients

  // A confirmation that a peer waits for must not depend on one client for longer than a stated time: a
  // client that misses it is late, and nothing waits for it until it has caught up.

  /// A client was requested to acknowledge the events that were delivered so far, and has a time for
  /// that.
  mutating func expectHandling(by id: ClientID, now: Instant) {
    guard let index = clientIndex(id), !clients[index].isLate else { return }
    clients[index].expectations.append(
      (clients[index].deliveredCount, now + Limits.acknowledgementTimeout))
  }

  /// When a client will be late; nil if nothing is expected of any.
  var nextDeadline: Instant? {
    let deadlines = clients.lazy.compactMap { $0.expectations.first?.deadline }
    return [deadlines.min(), clients.lazy.compactMap(\.patience.deadline).min()].compactMap(\.self)
      .min()
  }

  /// These clients have not handled what others have, since these instants; no other has.
  mutating func holdUp(_ holders: [(mark: Mark, since: Instant)], now: Instant) {
    for index in clients.indices {
      let id = clients[index].id
      let since = holders.lazy.filter { $0.mark.client == id }.map(\.since).min()
      clients[index].patience.holds(since: since, now: now)
    }
  }

  /// Clients that have not handled in time what they should have are late from now on; returns them.
  mutating func wake(now: Instant) -> [ClientID] {
    var late: [ClientID] = []
    for index in clients.indices {
      let isSpent = clients[index].patience.expire(now: now)
      if isSpent, clients[index].becomesReported() { late.append(clients[index].id) }
      guard let first = clients[index].expectations.first, first.deadline <= now else { continue }
      clients[index].isLate = true
      clients[index].expectations = FIFO()
      if clients[index].becomesReported() { late.append(clients[index].id) }
    }
    return late
  }

  /// Whether a client is late, so that nothing waits for it.
  func isLate(_ id: ClientID) -> Bool { clientIndex(id).map { clients[$0].isLate } ?? false }

  /// Whether confirmations wait for a client: it is not late, and has not held up others too long.
  private func isAwaited(_ id: ClientID) -> Bool {
    clientIndex(id).map { !clients[$0].isLate && !clients[$0].patience.isSpent } ?? true
  }

  /// The clients that no confirmation waits for.
  var lateClients: [ClientID] { clients.map(\.id).filter { !isAwaited($0) } }

  // MARK: Tables

  private func clientIndex(_ id: ClientID) -> Int? { clients.firstIndex { $0.id == id } }

  private func linkIndex(_ handle: UInt16) -> Int? { links.firstIndex { $0.handle == handle } }
}

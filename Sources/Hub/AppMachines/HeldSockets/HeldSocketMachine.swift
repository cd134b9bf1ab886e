package import Essentials

/// The sockets that the system holds for apps: a duplicate of each one's descriptor outlives the app's process.
///
/// - While its app is suspended or doesn't run, a socket is watched. Bytes that come, and its end, wake or launch the
///   app. An app that reads nothing is woken once for the same bytes.
/// - The threads of an app stop a moment after its suspension. What they read in this moment wakes it, too, and so does
///   what they read just before, for which the app was not woken.
/// - An app that wants a connection and has none has an entry without a socket. It is woken or launched to connect, with
///   pauses that double.
/// - An app that was terminated by the system gets its sockets back in its next process. Those of an app that was
///   force-quit, crashed in the foreground, or has forgotten them are closed, so that no peer waits for it.
package struct HeldSocketMachine: Sendable {
  struct Entry: Sendable {
    let app: AppID
    var description: HeldSocketDescription
    /// The process that has it, too; nil if that one is gone.
    var owner: AppProcessID?
    /// Whether a process has handled its events, so that the machine of apps launches the app for them.
    var isKnown = false
    var isWatched = true
    /// The counts when the app was last woken for it.
    var reported = HeldSocketReading()
    var wakeCount = 0
    /// The process that has to take it back, and until when.
    var claim: Claim?
    /// While its app was suspended a moment ago.
    var stop: Stop?
    /// Of an entry without a socket.
    var reconnection: Reconnection?
  }

  struct Reconnection: Sendable {
    var wakeCount = 0
    /// Nil while a process of the app runs.
    var due: Instant?
  }

  /// The moment in which the threads of a suspended process stop.
  struct Stop: Sendable {
    /// What the process had read before; nil until the host has looked.
    var readCount: UInt64?
    /// When to look at the socket again.
    var looks: [Instant]
  }

  struct Claim: Sendable {
    var process: AppProcessID
    var until: Instant
  }

  package struct KeepAlive: Sendable {
    package var span: TimeSpan
    var due: Instant
  }

  let limits: HeldSocketLimits
  var entries: [HeldSocketID: Entry] = [:]
  package private(set) var keepAlives: [AppID: KeepAlive] = [:]
  private var suspended: Set<AppProcessID> = []
  private var lastID: UInt64 = 0
  private var chance: SeededGenerator

  /// - Parameter seed: For the pauses of apps without a connection.
  package init(limits: HeldSocketLimits = HeldSocketLimits(), seed: UInt64) {
    self.limits = limits
    chance = SeededGenerator(seed: seed)
  }

  /// When to report `wake`; nil while nothing is waited for.
  package var nextWake: Instant? {
    var due = keepAlives.values.map(\.due)
    for entry in entries.values {
      due += [entry.claim?.until, entry.stop?.looks.first, entry.reconnection?.due]
        .compactMap(\.self)
    }
    return due.min()
  }

  /// All sockets, in the order in which they were handed over, and the entries without one.
  package var held: [(id: HeldSocketID, app: AppID, description: HeldSocketDescription)] {
    entries.keys.sorted().map { ($0, entries[existing: $0].app, entries[existing: $0].description) }
  }

  /// The sockets of an app, in the order in which it handed them over.
  package func sockets(of app: AppID) -> [HeldSocketStatus] {
    ids { $0.app == app && $0.reconnection == nil }.map { id in
      let entry = entries[existing: id]
      return HeldSocketStatus(
        identifier: entry.description.identifier, peer: entry.description.peer,
        wakeCount: entry.wakeCount, hasEnded: entry.reported.hasEnded)
    }
  }

  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .hold(let ticket, let app, let process, let description, let hasMode):
      hold(ticket, app, process, description, hasMode: hasMode, &actions)
    case .reconnect(let ticket, let app, let process, let identifier, let hasMode):
      reconnect(ticket, app, process, identifier, hasMode: hasMode, now, &actions)
    case .preserved(let id, let app, let description):
      guard entries[id] == nil else { return }
      lastID = max(lastID, id.rawValue)
      entries[id] = Entry(app: app, description: description, isKnown: true)
      actions += [.life(.preserved(app, id.receiver, .socket)), .watch(id)]
    case .take(let ticket, let app, let process, let identifier):
      take(ticket, app, process, identifier, now, &actions)
    case .opened(let process, let id):
      guard let entry = entries[id], entry.owner == process else { return }
      entries[existing: id].isKnown = true
      actions.append(.life(.wants(entry.app, id.receiver, .socket)))
    case .closed(let process, let id):
      if entries[id]?.owner == process { remove(id, .shutDown(id), &actions) }
    case .launched(let app, let process):
      for id in ids(where: { $0.app == app && $0.owner == nil }) {
        entries[existing: id].claim = Claim(process: process, until: now + limits.claimTime)
        entries[existing: id].reconnection?.due = nil
      }
    case .suspended(let process):
      suspended.insert(process)
      for id in ids(where: { $0.owner == process }) {
        if planReconnection(id, now) { continue }
        // Before it is watched, which may wake the app.
        entries[existing: id].stop = Stop(looks: limits.stopTimes.map { now + $0 })
        actions.append(.look(id))
        watch(id, &actions)
      }
    case .resumed(let process):
      suspended.remove(process)
      for id in ids(where: { $0.owner == process }) {
        entries[existing: id].stop = nil
        entries[existing: id].reconnection?.due = nil
        unwatch(id, &actions)
      }
    case .ended(let process): ended(process, now, &actions)
    case .released(let id): remove(id, .close(id), &actions)
    case .quit(let app): keepAlives[app] = nil
    case .readable(let id, let reading): readable(id, reading, &actions)
    case .looked(let id, let reading): looked(id, reading, &actions)
    case .keepAlive(let app, let span):
      let span = span.map { max($0, limits.keepAliveTimeMin) }
      keepAlives[app] = span.map { KeepAlive(span: $0, due: now + $0) }
    case .wake: wake(now, &actions)
    }
    assert(violations().isEmpty, "\(violations()) after \(event)")
  }

  // MARK: Processes

  private mutating func hold(
    _ ticket: HeldSocketTicket, _ app: AppID, _ process: AppProcessID,
    _ description: HeldSocketDescription, hasMode: Bool, _ actions: inout [Action]
  ) {
    let isWatched = suspended.contains(process)
    let entry = Entry(app: app, description: description, owner: process, isWatched: isWatched)
    guard let id = add(entry, ticket, hasMode: hasMode, &actions) else { return }
    actions.append(.held(ticket, id))
    if isWatched { actions.append(.watch(id)) }
  }

  private mutating func reconnect(
    _ ticket: HeldSocketTicket, _ app: AppID, _ process: AppProcessID, _ identifier: String,
    hasMode: Bool, _ now: Instant, _ actions: inout [Action]
  ) {
    let entry = Entry(
      app: app, description: HeldSocketDescription(identifier: identifier, isPlain: false),
      owner: process, isWatched: false, reconnection: Reconnection())
    guard let id = add(entry, ticket, hasMode: hasMode, &actions) else { return }
    actions.append(.reconnecting(ticket, id))
    if suspended.contains(process) { planReconnection(id, now) }
  }

  /// Adds an entry instead of the one with its identifier, or refuses it.
  private mutating func add(
    _ entry: Entry, _ ticket: HeldSocketTicket, hasMode: Bool, _ actions: inout [Action]
  ) -> HeldSocketID? {
    func refuse(_ refusal: HeldSocketRefusal) -> HeldSocketID? {
      actions.append(.refused(ticket, refusal))
      return nil
    }
    guard hasMode else { return refuse(.noMode) }
    let size = entry.description.identifier.utf8.count
    guard (1...limits.identifierByteCountMax).contains(size) else { return refuse(.badIdentifier) }
    if let old = id(of: entry.app, entry.description.identifier) {
      remove(old, .close(old), &actions)
      actions.append(.life(.wants(entry.app, old.receiver, [])))
    }
    guard entries.values.count(where: { $0.app == entry.app }) < limits.socketCountMax else {
      return refuse(.limit)
    }
    lastID += 1
    let id = HeldSocketID(rawValue: lastID)
    entries[id] = entry
    return id
  }

  /// Plans the next wake for an entry without a socket, after a pause. False for a socket.
  @discardableResult
  private mutating func planReconnection(_ id: HeldSocketID, _ now: Instant) -> Bool {
    guard let entry = entries[id], let count = entry.reconnection?.wakeCount else { return false }
    let pause = limits.reconnectPause(
      afterWakes: count, isLaunch: entry.owner == nil, chance: chance.unit())
    entries[existing: id].reconnection?.due = now + pause
    return true
  }

  private mutating func take(
    _ ticket: HeldSocketTicket, _ app: AppID, _ process: AppProcessID, _ identifier: String,
    _ now: Instant, _ actions: inout [Action]
  ) {
    guard let id = id(of: app, identifier), let entry = entries[id], entry.owner == nil else {
      return actions.append(.none(ticket))
    }
    entries[existing: id].owner = process
    entries[existing: id].claim = nil
    entries[existing: id].reconnection?.due = nil
    actions.append(.give(ticket, id, entry.description))
    if suspended.contains(process) {
      planReconnection(id, now)
    } else {
      unwatch(id, &actions)
    }
  }

  private mutating func ended(
    _ process: AppProcessID, _ now: Instant, _ actions: inout [Action]
  ) {
    suspended.remove(process)
    for id in ids(where: { $0.claim?.process == process }) {
      entries[existing: id].claim = nil
      planReconnection(id, now)
    }
    for id in ids(where: { $0.owner == process }) {
      guard entries[existing: id].isKnown else {
        remove(id, .close(id), &actions)
        continue
      }
      entries[existing: id].owner = nil
      entries[existing: id].stop = nil
      if !planReconnection(id, now) { watch(id, &actions) }
    }
  }

  private mutating func watch(_ id: HeldSocketID, _ actions: inout [Action]) {
    guard !entries[existing: id].isWatched else { return }
    entries[existing: id].isWatched = true
    actions.append(.watch(id))
  }

  private mutating func unwatch(_ id: HeldSocketID, _ actions: inout [Action]) {
    guard entries[existing: id].isWatched else { return }
    entries[existing: id].isWatched = false
    actions.append(.unwatch(id))
  }

  private mutating func remove(
    _ id: HeldSocketID, _ action: Action, _ actions: inout [Action]
  ) {
    if entries.removeValue(forKey: id) != nil { actions.append(action) }
  }

  // MARK: Wakes

  private mutating func readable(
    _ id: HeldSocketID, _ reading: HeldSocketReading, _ actions: inout [Action]
  ) {
    guard let entry = entries[id], entry.isWatched else { return }
    let last = entry.reported
    let isNew =
      reading.receivedCount > last.receivedCount
      || reading.readCount > last.readCount && reading.receivedCount > reading.readCount
      || reading.hasEnded && !last.hasEnded
    if isNew { wakeApp(id, reading, &actions) }
  }

  private mutating func looked(
    _ id: HeldSocketID, _ reading: HeldSocketReading, _ actions: inout [Action]
  ) {
    guard let entry = entries[id], let stop = entry.stop else { return }
    guard let before = stop.readCount else {
      entries[existing: id].stop?.readCount = reading.readCount
      let isRecent = reading.sinceReceived.map { $0 <= limits.handlingTime } ?? false
      // Others are reported when the socket is watched.
      let isRead = reading.readCount == reading.receivedCount
      if isRecent, isRead, reading.receivedCount > entry.reported.receivedCount {
        wakeApp(id, reading, &actions)
      }
      return
    }
    if stop.looks.isEmpty { entries[existing: id].stop = nil }
    // Its process has these bytes, and was stopped before it could handle them.
    if reading.readCount > before { wakeApp(id, reading, &actions) }
  }

  private mutating func wakeApp(
    _ id: HeldSocketID, _ reading: HeldSocketReading, _ actions: inout [Action]
  ) {
    guard let entry = entries[id] else { return }
    entries[existing: id].stop = nil
    entries[existing: id].reported = reading
    entries[existing: id].wakeCount += 1
    let event = AppEvent(.socket, for: id.receiver, key: id.rawValue)
    actions.append(.life(.arrived(entry.app, event)))
  }

  private mutating func wake(_ now: Instant, _ actions: inout [Action]) {
    for id in ids(where: { $0.stop?.looks.first.map { $0 <= now } ?? false }) {
      entries[existing: id].stop?.looks.removeAll { $0 <= now }
      actions.append(.look(id))
    }
    for id in ids(where: { $0.claim.map { $0.until <= now } ?? false }) {
      let entry = entries[existing: id]
      remove(id, .shutDown(id), &actions)
      actions.append(.life(.wants(entry.app, id.receiver, [])))
      actions.append(.unclaimed(entry.app, entry.description))
    }
    for id in ids(where: { $0.reconnection?.due.map { $0 <= now } ?? false }) {
      entries[existing: id].reconnection?.wakeCount += 1
      // For an app that can't be woken now. Its events wait as one.
      planReconnection(id, now)
      wakeApp(id, HeldSocketReading(), &actions)
    }
    for app in keepAlives.keys.sorted() where keepAlives[existing: app].due <= now {
      // From now: a clock that was stopped doesn't make up for what it missed.
      keepAlives[existing: app].due = now + keepAlives[existing: app].span
      let event = AppEvent(.keepAlive, for: .keepAlive, key: 0)
      actions.append(.life(.arrived(app, event)))
    }
  }

  // MARK: Tables

  private func id(of app: AppID, _ identifier: String) -> HeldSocketID? {
    ids { $0.app == app && $0.description.identifier == identifier }.first
  }

  /// In the order in which they were handed over.
  private func ids(where isIncluded: (Entry) -> Bool) -> [HeldSocketID] {
    entries.filter { isIncluded($0.value) }.keys.sorted()
  }

  /// The rules of the machine that don't hold.
  package func violations() -> [String] {
    var found: [String] = []
    for (id, entry) in entries {
      if let reconnection = entry.reconnection {
        let isAwake = entry.owner.map { !suspended.contains($0) } ?? (entry.claim != nil)
        if isAwake != (reconnection.due == nil) { found.append("\(id): its wake is wrong") }
        if entry.isWatched || entry.stop != nil { found.append("\(id): it has no socket") }
        continue
      }
      if entry.owner == nil, !entry.isWatched { found.append("\(id): nothing watches it") }
      if let owner = entry.owner, entry.isWatched != suspended.contains(owner) {
        found.append("\(id): it is watched while its process runs, or not while it is suspended")
      }
      if entry.stop != nil, entry.owner.map({ !suspended.contains($0) }) ?? true {
        found.append("\(id): its process doesn't stop")
      }
      if entry.owner != nil, entry.claim != nil { found.append("\(id): it is taken and awaited") }
    }
    return found
  }
}

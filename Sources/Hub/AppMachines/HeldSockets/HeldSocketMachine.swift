package import Essentials

/// The sockets that the system holds for apps: a duplicate of each one's descriptor outlives the app's process.
///
/// - While its app is suspended or doesn't run, a socket is watched. Bytes that come, and its end, wake or launch the
///   app. An app that reads nothing is woken once for the same bytes.
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
  }

  struct Claim: Sendable {
    var process: AppProcessID
    var until: Instant
  }

  struct KeepAlive: Sendable {
    var span: TimeSpan
    var due: Instant
  }

  let limits: HeldSocketLimits
  var entries: [HeldSocketID: Entry] = [:]
  var keepAlives: [AppID: KeepAlive] = [:]
  private var suspended: Set<AppProcessID> = []
  private var lastID: UInt64 = 0

  package init(limits: HeldSocketLimits = HeldSocketLimits()) { self.limits = limits }

  /// When to report `wake`; nil while nothing is waited for.
  package var nextWake: Instant? {
    (entries.values.compactMap { $0.claim?.until } + keepAlives.values.map(\.due)).min()
  }

  /// All sockets, in the order in which they were handed over.
  package var held: [(id: HeldSocketID, app: AppID, description: HeldSocketDescription)] {
    entries.keys.sorted().map { ($0, entries[existing: $0].app, entries[existing: $0].description) }
  }

  /// The sockets of an app, in the order in which it handed them over.
  package func sockets(of app: AppID) -> [HeldSocketStatus] {
    ids { $0.app == app }.map { id in
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
    case .preserved(let id, let app, let description):
      guard entries[id] == nil else { return }
      lastID = max(lastID, id.rawValue)
      entries[id] = Entry(app: app, description: description, isKnown: true)
      actions += [.life(.preserved(app, id.receiver, .socket)), .watch(id)]
    case .take(let ticket, let app, let process, let identifier):
      take(ticket, app, process, identifier, &actions)
    case .opened(let process, let id):
      guard let entry = entries[id], entry.owner == process else { return }
      entries[existing: id].isKnown = true
      actions.append(.life(.wants(entry.app, id.receiver, .socket)))
    case .closed(let process, let id):
      if entries[id]?.owner == process { remove(id, .shutDown(id), &actions) }
    case .launched(let app, let process):
      for id in ids(where: { $0.app == app && $0.owner == nil }) {
        entries[existing: id].claim = Claim(process: process, until: now + limits.claimTime)
      }
    case .suspended(let process):
      suspended.insert(process)
      for id in ids(where: { $0.owner == process }) { watch(id, &actions) }
    case .resumed(let process):
      suspended.remove(process)
      for id in ids(where: { $0.owner == process }) { unwatch(id, &actions) }
    case .ended(let process): ended(process, &actions)
    case .released(let id): remove(id, .close(id), &actions)
    case .quit(let app): keepAlives[app] = nil
    case .readable(let id, let reading): readable(id, reading, &actions)
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
    guard hasMode else { return actions.append(.refused(ticket, .noMode)) }
    let size = description.identifier.utf8.count
    guard (1...limits.identifierByteCountMax).contains(size) else {
      return actions.append(.refused(ticket, .badIdentifier))
    }
    if let old = id(of: app, description.identifier) {
      let receiver = old.receiver
      remove(old, .close(old), &actions)
      actions.append(.life(.wants(app, receiver, [])))
    }
    guard entries.values.count(where: { $0.app == app }) < limits.socketCountMax else {
      return actions.append(.refused(ticket, .limit))
    }
    lastID += 1
    let id = HeldSocketID(rawValue: lastID)
    let isWatched = suspended.contains(process)
    entries[id] = Entry(
      app: app, description: description, owner: process, isWatched: isWatched)
    actions.append(.held(ticket, id))
    if isWatched { actions.append(.watch(id)) }
  }

  private mutating func take(
    _ ticket: HeldSocketTicket, _ app: AppID, _ process: AppProcessID, _ identifier: String,
    _ actions: inout [Action]
  ) {
    guard let id = id(of: app, identifier), let entry = entries[id], entry.owner == nil else {
      return actions.append(.none(ticket))
    }
    entries[existing: id].owner = process
    entries[existing: id].claim = nil
    actions.append(.give(ticket, id, entry.description))
    if !suspended.contains(process) { unwatch(id, &actions) }
  }

  private mutating func ended(_ process: AppProcessID, _ actions: inout [Action]) {
    suspended.remove(process)
    for id in ids(where: { $0.claim?.process == process }) { entries[existing: id].claim = nil }
    for id in ids(where: { $0.owner == process }) {
      guard entries[existing: id].isKnown else {
        remove(id, .close(id), &actions)
        continue
      }
      entries[existing: id].owner = nil
      watch(id, &actions)
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
    guard isNew else { return }
    entries[existing: id].reported = reading
    entries[existing: id].wakeCount += 1
    let event = AppEvent(.socket, for: id.receiver, key: id.rawValue)
    actions.append(.life(.arrived(entry.app, event)))
  }

  private mutating func wake(_ now: Instant, _ actions: inout [Action]) {
    for id in ids(where: { $0.claim.map { $0.until <= now } ?? false }) {
      let entry = entries[existing: id]
      remove(id, .shutDown(id), &actions)
      actions.append(.life(.wants(entry.app, id.receiver, [])))
      actions.append(.unclaimed(entry.app, entry.description))
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
      if entry.owner == nil, !entry.isWatched { found.append("\(id): nothing watches it") }
      if let owner = entry.owner, entry.isWatched != suspended.contains(owner) {
        found.append("\(id): it is watched while its process runs, or not while it is suspended")
      }
      if entry.owner != nil, entry.claim != nil { found.append("\(id): it is taken and awaited") }
    }
    return found
  }
}

import Essentials
import HubWire

// A hub whose radio has virtual time, which waits for its programs.

extension HubMachine {
  /// A program that virtual time waits for.
  struct Settling: Sendable {
    var number: UInt64
    var connection: HubConnectionID
    /// Until when, by the wall's clock.
    var deadline: Instant
  }

  /// Tells a program the time of what follows.
  mutating func sendTime(to id: HubConnectionID) {
    guard let virtualNow, connections[id]?.abilities.contains(.virtualTime) == true,
      connections[id]?.toldTime != virtualNow
    else { return }
    connections[id]?.toldTime = virtualNow
    connections[id]?.send(.time(virtualNow))
  }

  /// Has the program of a session report that it has handled its events.
  mutating func settle(
    _ hostKey: HubSessionKey, _ number: UInt64, now: Instant, into actions: inout [Action]
  ) {
    let id = (movedSessions[hostKey] ?? hostKey).connection
    guard keptIdentities[hostKey] == nil, connections[id]?.abilities.contains(.virtualTime) == true
    else {
      // No program would answer.
      return actions.append(.settled(number, wake: nil))
    }
    sendTime(to: id)
    connections[id]?.send(.settle(number))
    settlings.append(
      Settling(number: number, connection: id, deadline: now + limits.settlingTime))
    changed(id, now: now, into: &actions)
  }

  mutating func settled(
    _ number: UInt64, _ wake: Instant?, by id: HubConnectionID, now: Instant,
    into actions: inout [Action]
  ) {
    guard hasVirtualTime(for: id, now: now, into: &actions) else { return }
    guard
      let index = settlings.firstIndex(where: { $0.number == number && $0.connection == id })
    else {
      let text = "The hub doesn't wait for an answer with the number \(number)."
      return refuse(id, HubRefusal(.invalidMessage, text), now: now, into: &actions)
    }
    settlings.remove(at: index)
    guard let virtualNow else { return actions.append(.settled(number, wake: wake)) }
    if let text = excess(of: id, wake, at: virtualNow) {
      actions.append(.settled(number, wake: nil))
      return refuse(id, HubRefusal(.limitReached, text), now: now, into: &actions)
    }
    // A time that has come already would hold the virtual time where it is.
    actions.append(
      .settled(number, wake: wake.map { max($0, virtualNow + Self.settlingSpacing) }))
  }

  /// The shortest virtual time between two questions that a program's timers cause.
  private static let settlingSpacing = TimeSpan.microseconds(1)

  /// Counts an answer of a program. Returns a sentence if it holds up the virtual time.
  private mutating func excess(
    of id: HubConnectionID, _ wake: Instant?, at time: Instant
  ) -> String? {
    guard var count = connections[id]?.settlingCount else { return nil }
    defer { connections[id]?.settlingCount = count }
    if count.answersAt != time { (count.answersAt, count.answers) = (time, 0) }
    count.answers += 1
    if count.answers > limits.settlingCountMax {
      return "Virtual time has waited \(limits.settlingCountMax) times for the program at one time."
    }
    guard let wake, wake <= time else { return nil }
    if count.pastWakesSince.map({ time >= $0 + .milliseconds(1) }) ?? true {
      (count.pastWakesSince, count.pastWakes) = (time, 0)
    }
    count.pastWakes += 1
    guard count.pastWakes > limits.pastWakeCountMax else { return nil }
    return
      "More than \(limits.pastWakeCountMax) timers of the program wait for a virtual time that has passed."
  }

  /// Has the program asked for its first timer, which the hub may know by a session that was closed only.
  func askAgain(_ id: HubConnectionID, into actions: inout [Action]) {
    guard configuration.hasVirtualTime, let connection = connections[id],
      connection.abilities.contains(.virtualTime),
      let first = connection.sessions.min(by: { $0.key.rawValue < $1.key.rawValue })
    else { return }
    actions.append(.hasWork(first.value.hostKey))
  }

  mutating func hasWork(_ key: HubSessionKey, now: Instant, into actions: inout [Action]) {
    guard hasVirtualTime(for: key.connection, now: now, into: &actions) else { return }
    // A program may have closed the session on another thread.
    guard let hostKey = connections[key.connection]?.sessions[key.session]?.hostKey else { return }
    actions.append(.hasWork(hostKey))
  }

  /// Whether the hub has virtual time. A program that takes it for granted loses its connection.
  private mutating func hasVirtualTime(
    for id: HubConnectionID, now: Instant, into actions: inout [Action]
  ) -> Bool {
    guard !configuration.hasVirtualTime else { return true }
    let text = "The time of this hub is the wall's, which waits for no program."
    refuse(id, HubRefusal(.invalidMessage, text), now: now, into: &actions)
    return false
  }

  /// Waits no longer for a program that is gone.
  mutating func endSettling(of id: HubConnectionID, into actions: inout [Action]) {
    guard !settlings.isEmpty else { return }
    for settling in settlings where settling.connection == id {
      actions.append(.settled(settling.number, wake: nil))
    }
    settlings.removeAll { $0.connection == id }
  }

  /// Leaves the programs that have not answered in time.
  mutating func endSettlings(at now: Instant, into actions: inout [Action]) {
    while let settling = settlings.first, settling.deadline <= now {
      let text =
        "Virtual time has waited \(limits.settlingTime.seconds) s for the program to handle its events."
      refuse(settling.connection, HubRefusal(.limitReached, text), now: now, into: &actions)
    }
  }
}

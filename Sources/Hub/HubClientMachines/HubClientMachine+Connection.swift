import BluetoothInterface
package import Essentials
import HubWire

// The connection with the hub: connecting, greeting, messages, silence, the end, and the next attempt.

extension HubClientMachine {
  // MARK: Connecting

  mutating func connectIfIdle(now: Instant, into actions: inout [Action]) {
    guard case .idle = phase, isWanted || !sessions.isEmpty else { return }
    // Sessions hear nothing of an outage. What they want is not lost with a connection that a busy hub answers late.
    let greetingEnd = now + HubClientLimits.greetingMax
    phase = .opening(deadline: max(greetingEnd, outageEnd ?? greetingEnd))
    actions.append(.open)
  }

  mutating func opened(now: Instant, into actions: inout [Action]) {
    guard case .opening(let deadline) = phase else { return }
    let opened = Array(
      sessions.keys.sorted { $0.rawValue < $1.rawValue }.prefix(HubProtocol.openingCountMax))
    phase = .greeting(Greeting(deadline: deadline, openings: opened))
    lastOpened = opened.last?.rawValue ?? 0
    write(
      .greeting(
        HubGreeting(
          app: app, abilities: [.bluetooth, .identity, .virtualTime],
          openings: opened.compactMap { sessions[$0]?.opening })))
  }

  private mutating func welcomed(
    _ welcome: HubWelcome, _ greeting: Greeting, now: Instant, into actions: inout [Action]
  ) throws(HubFailure) {
    guard HubProtocol.versions.contains(welcome.version) else {
      throw .otherVersion(welcome.version)
    }
    guard welcome.abilities.contains(.bluetooth) else { throw .noBluetooth }
    var reader = greeting.reader
    reader.byteCountMax = HubProtocol.messageByteCountMax
    // The hub reports the radio's state to the sessions that the greeting has opened.
    phase = .connected(
      Connection(
        reader: reader, abilities: welcome.abilities, beganAt: now, lastReceived: now,
        owedSince: greeting.openings.isEmpty ? nil : now))
    outageEnd = nil
    epoch = epoch.next
    actions.append(.connected(welcome))
    for id in greeting.openings where sessions[id] == nil { write(.closeSession(id)) }
    for id in sessions.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      if let session = sessions[id], id.rawValue > lastOpened { openAtHub(session) }
      var outputs = SessionOutputs()
      sessions[existing: id].opened(by: welcome.abilities, into: &outputs)
      guard !sessions[existing: id].awaitsAttachment else { continue }
      sessions[existing: id].hubFound(epoch: epoch, into: &outputs)
      take(outputs, of: id, into: &actions)
    }
  }

  // MARK: Messages

  mutating func receive(_ bytes: [UInt8], now: Instant, into actions: inout [Action]) {
    // A hub that refuses this app may do so at once: its reason arrives before the driver reports that the socket
    // is connected.
    opened(now: now, into: &actions)
    do throws(HubFailure) {
      switch phase {
      case .greeting(var greeting):
        phase = .idle  // the reader's bytes are not copied
        greeting.reader.append(bytes)
        phase = .greeting(greeting)
      case .connected(var connection):
        phase = .idle
        connection.reader.append(bytes)
        phase = .connected(connection)
      case .idle, .opening, .pausing, .unusable: return
      }
      var isUnderstood = false
      while let message = try nextMessage() {
        isUnderstood = true
        try take(message, now: now, into: &actions)
      }
      if case .connected(var connection) = phase, isUnderstood || connection.reader.byteCount > 0 {
        phase = .idle
        connection.lastReceived = now
        phase = .connected(connection)
      }
    } catch {
      fail(error, mustClose: true, now: now, into: &actions)
    }
  }

  /// The next complete message of the hub, as far as the hub is still the one.
  private mutating func nextMessage() throws(HubFailure) -> HubMessage? {
    do throws(HubWireError) {
      switch phase {
      case .greeting(var greeting):
        phase = .idle
        defer { phase = .greeting(greeting) }
        return try greeting.reader.next()
      case .connected(var connection):
        phase = .idle
        defer { phase = .connected(connection) }
        return try connection.reader.next()
      case .idle, .opening, .pausing, .unusable: return nil
      }
    } catch { throw .invalidMessage(error) }
  }

  private mutating func take(
    _ message: HubMessage, now: Instant, into actions: inout [Action]
  ) throws(HubFailure) {
    switch (message, phase) {
    case (.refusal(let refusal), _): throw .refused(refusal)
    case (.welcome(let welcome), .greeting(let greeting)):
      try welcomed(welcome, greeting, now: now, into: &actions)
    case (.pong(let number), .connected(var connection)) where connection.ping?.number == number:
      connection.ping = nil
      connection.owedSince = nil
      phase = .connected(connection)
    case (.events(let id, let events), .connected):
      try take(events, of: id, into: &actions)
    case (.attached(let id, let attachment), .connected):
      guard id.rawValue <= lastOpened else { throw .unexpected("an answer to no opening") }
      // It may be on its way when a session is closed.
      var outputs = SessionOutputs()
      try sessions[id]?.take(attachment, epoch: epoch, into: &outputs)
      take(outputs, of: id, into: &actions)
    case (.time(let time), .connected) where hasVirtualTime:
      flushEvents(into: &actions)
      actions.append(.time(time))
    case (.settle(let number), .connected) where hasVirtualTime:
      flushEvents(into: &actions)
      actions.append(.settle(number))
    case (.time, _), (.settle, _): throw .unexpected("virtual time, which it had not announced")
    case (.welcome, _): throw .unexpected("a second welcome")
    case (.pong, _): throw .unexpected("an answer to no ping")
    case (.attached, _): throw .unexpected("an answer to an opening before the welcome")
    case (.events, _): throw .unexpected("events before the welcome")
    case (.status, _): throw .unexpected("an answer to no question about the hub")
    case (.forgotten, _): throw .unexpected("an answer to no request to forget sessions")
    }
  }

  private mutating func take(
    _ events: HubEvents, of id: HubSessionID, into actions: inout [Action]
  ) throws(HubFailure) {
    guard sessions[id] != nil, id.rawValue <= lastOpened else {
      // Events may be on their way when a session is closed.
      guard id.rawValue <= lastOpened else { throw .unexpected("events of an unknown session") }
      return
    }
    var outputs = SessionOutputs()
    try sessions[existing: id].take(events, into: &outputs)
    take(outputs, of: id, into: &actions)
  }

  // MARK: The end

  /// There is no connection, or no longer: the sessions hear that, and the hub is tried again after a pause.
  mutating func fail(
    _ failure: HubFailure, mustClose: Bool, now: Instant, into actions: inout [Action]
  ) {
    var isStable = false
    if case .connected(let connection) = phase {
      isStable = now - connection.beganAt >= HubClientLimits.stableAfter
      outageEnd = now + outage
    }
    if failure.isRefusal { outageEnd = nil }
    let keepsState = outageEnd.map { now < $0 } ?? false
    if isStable { pause = HubClientLimits.pauseMin }
    let length = failure.isRefusal ? HubClientLimits.refusalPause : pause
    pause = min(pause * 2, HubClientLimits.pauseMax)
    isWanted = false
    phase = .pausing(until: now + length, failure)
    retries = [:]
    retryPauses = [:]
    // The written messages are for the hub that is gone.
    _ = writer.takeBytes()
    if mustClose { actions.append(.close) }
    actions.append(.failed(failure))
    for id in sessions.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      var outputs = SessionOutputs()
      sessions[existing: id].hubLost(failure, keepsState: keepsState, into: &outputs)
      take(outputs, of: id, into: &actions)
    }
  }

  // MARK: Time

  /// The time to call `wake`; nil if nothing is due.
  package var nextWake: Instant? {
    switch phase {
    case .idle, .unusable: nil
    case .opening(let deadline): deadline
    case .greeting(let greeting): greeting.deadline
    case .connected(let connection):
      min(
        connection.ping?.deadline ?? pingTime(of: connection),
        retries.values.min() ?? .distantFuture)
    case .pausing(let end, _): end
    }
  }

  /// Without sessions, the connection ends then.
  private func pingTime(of connection: Connection) -> Instant {
    if sessions.isEmpty { return connection.lastReceived + HubClientLimits.unusedMax }
    // Events are no sign that the hub reads what it is sent.
    if let owedSince = connection.owedSince { return owedSince + HubClientLimits.silence }
    let isWaiting = sessions.values.contains { $0.awaitsHub }
    return connection.lastReceived
      + (isWaiting ? HubClientLimits.silence : idleSilence)
  }

  /// Handles the time that was waited for.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    retry(now: now, into: &actions)
    switch phase {
    case .idle, .unusable: break
    case .opening: fail(.silent, mustClose: true, now: now, into: &actions)
    case .greeting(var greeting):
      guard greeting.isLastLook else {
        greeting.isLastLook = true
        greeting.deadline = now + HubClientLimits.lastLook
        phase = .greeting(greeting)
        break
      }
      fail(.silent, mustClose: true, now: now, into: &actions)
    case .connected(let connection):
      let due = connection.ping?.deadline ?? pingTime(of: connection)
      if due <= now { wake(connection, due: due, now: now, into: &actions) }
    case .pausing:
      phase = .idle
      connectIfIdle(now: now, into: &actions)
    }
    flush(now: now, into: &actions)
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// Sessions request again what the hub has refused, where it is time.
  private mutating func retry(now: Instant, into actions: inout [Action]) {
    let due = retries.filter { $0.value <= now }.keys.sorted { $0.rawValue < $1.rawValue }
    for id in due {
      retries[id] = nil
      var outputs = SessionOutputs()
      sessions[existing: id].retry(into: &outputs)
      take(outputs, of: id, into: &actions)
    }
  }

  private mutating func wake(
    _ connection: Connection, due: Instant, now: Instant, into actions: inout [Action]
  ) {
    var connection = connection
    guard var ping = connection.ping else {
      guard !sessions.isEmpty else {
        phase = .idle
        isWanted = false
        return actions.append(.close)
      }
      lastPing += 1
      connection.ping = Ping(
        number: lastPing, sentAt: now, deadline: now + HubClientLimits.answerMax)
      phase = .connected(connection)
      return write(.ping(lastPing))
    }
    // A hub whose messages arrive is busy, or this app is; but it must answer some time.
    let busyEnd = min(
      connection.lastReceived + HubClientLimits.answerMax, ping.sentAt + HubClientLimits.busyMax)
    if now < busyEnd {
      ping.deadline = busyEnd
      ping.isLastLook = false
    } else if ping.isLastLook {
      return fail(.silent, mustClose: true, now: now, into: &actions)
    } else if !ping.isExtended, now - due >= HubClientLimits.stoppedLateness {
      // This process was stopped, perhaps together with the hub.
      ping.isExtended = true
      ping.deadline = now + HubClientLimits.answerMax
    } else {
      ping.isLastLook = true
      ping.deadline = now + HubClientLimits.lastLook
    }
    connection.ping = ping
    phase = .connected(connection)
  }

  // MARK: Invariants

  /// How the machine contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found = sessions.values.flatMap { $0.violations(isConnected: isConnected) }
    if case .idle = phase, isWanted || !sessions.isEmpty {
      found.append("a connection is wanted, and not tried")
    }
    if !isOpen, writer.byteCount > 0 { found.append("bytes wait for a hub that is gone") }
    if case .pausing = phase, sessions.values.contains(where: { !$0.waiting.isEmpty }) {
      found.append("requests wait while no hub is tried")
    }
    for (id, session) in sessions where session.needsRetry && retries[id] == nil {
      found.append("session \(id.rawValue) waits for a time that is not due")
    }
    if batch != nil { found.append("events are not delivered") }
    return found
  }
}

package import Essentials

/// The state machine of an `NWConnection`: its state, its path, and the pending sends and receives,
/// each of which is completed exactly once and in order.
///
/// The host passes requests of the application and events of the socket to it, performs the actions
/// in order, and calls ``wake(now:into:)`` at ``nextWake``. `Path` is the host's description of the
/// path; the machine only compares it.
package struct ConnectionMachine<Path: Hashable & Sendable>: Machine, Sendable {
  struct Send: Sendable {
    var id: OperationID
    var rest: ArraySlice<UInt8>
    var isFinal: Bool
  }

  struct Receive: Sendable {
    var id: OperationID
    var minimum: Int
    var maximum: Int
    /// Whether everything up to the end is wanted, and nothing if that is `maximum` bytes or more.
    var isMessage = false
    var bytes: [UInt8] = []
  }

  /// One direction of the socket.
  enum Transfer: Sendable {
    /// There may be room to write, or something to read.
    case possible
    /// An action was issued and not answered yet; `isReadyAgain` if readiness was reported
    /// meanwhile.
    case issued(isReadyAgain: Bool)
    /// The last action transferred nothing.
    case blocked
  }

  /// The current state.
  package private(set) var state = State.setup
  /// The path of the connection; nil before it is established and after it has ended.
  package private(set) var path: PathReport?
  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package private(set) var nextWake: Instant?
  /// Whether the connection was cancelled and still sends the data that was pending then.
  package private(set) var isLingering = false

  var sends: [Send] = []
  var receives: [Receive] = []
  /// The heads of the two queues; those before are completed.
  var firstSend = 0
  var firstReceive = 0
  var writing = Transfer.possible
  var reading = Transfer.possible
  var isConnected = false
  /// Whether a send with `isFinal` was accepted.
  private var isOutputFinal = false
  /// Whether the network changed while addresses were being tried.
  var changedWhilePreparing = false

  /// Creates a connection that is not started.
  package init() {}

  /// The number of sends and receives that are not completed.
  package var pendingCount: Int { sends.count - firstSend + receives.count - firstReceive }

  /// Handles an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    switch event {
    case .start: start(into: &actions)
    case .restart: retry(into: &actions)
    case .cancel: cancel(now: now, into: &actions)
    case .forceCancel: finish(nil, into: &actions)
    case .send(let id, let bytes, let isFinal):
      send(Send(id: id, rest: bytes[...], isFinal: isFinal), into: &actions)
    case .receive(let id, let minimum, let maximum):
      let maximum = max(1, maximum)
      receive(
        Receive(id: id, minimum: min(max(1, minimum), maximum), maximum: maximum), into: &actions)
    case .receiveMessage(let id, let byteCountMax):
      // One more byte, which shows that the message is too long.
      let limit = max(0, min(byteCountMax, .max - 1)) + 1
      receive(Receive(id: id, minimum: limit, maximum: limit, isMessage: true), into: &actions)
    case .rejected(let error): if !state.isFinal { finish(error, into: &actions) }
    case .exhausted(let error): wait(error, into: &actions)
    case .connected(let report): connected(report, into: &actions)
    case .networkChanged: networkChanged(into: &actions)
    case .path(let report): if state == .ready, let report { update(report, into: &actions) }
    case .readable: becameReady(\.reading, into: &actions)
    case .writable: becameReady(\.writing, into: &actions)
    case .wrote(let count): wrote(count, into: &actions)
    case .received(let bytes, let isEnd, let error):
      received(bytes, isEnd: isEnd, error, into: &actions)
    case .ended(let error): if !state.isFinal { finish(error, into: &actions) }
    }
  }

  /// Ends a cancelled connection whose peer did not read the pending data in time.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    finish(nil, into: &actions)
    assertInvariants()
  }

  // MARK: Establishing

  private mutating func start(into actions: inout [Action]) {
    guard state == .setup else { return }
    enter(.preparing, into: &actions)
    actions.append(.open)
  }

  private mutating func wait(_ error: ConnectionError, into actions: inout [Action]) {
    switch state {
    case .preparing, .waiting: enter(.waiting(error), into: &actions)
    case .setup, .ready, .failed, .cancelled: return
    }
    if changedWhilePreparing { retry(into: &actions) }
  }

  private mutating func retry(into actions: inout [Action]) {
    guard case .waiting = state else { return }
    changedWhilePreparing = false
    enter(.preparing, into: &actions)
    actions.append(.search)
  }

  private mutating func networkChanged(into actions: inout [Action]) {
    switch state {
    case .waiting: retry(into: &actions)
    case .preparing: changedWhilePreparing = true
    case .ready: actions.append(.evaluatePath)
    case .setup, .failed, .cancelled: break
    }
  }

  private mutating func connected(_ report: PathReport?, into actions: inout [Action]) {
    switch state {
    case .preparing, .waiting: break
    case .setup, .ready, .failed, .cancelled: return
    }
    isConnected = true
    // The path is known before the application is notified that the connection is ready.
    let old = path
    path = report ?? old
    enter(.ready, into: &actions)
    notify(changeFrom: old, into: &actions)
    proceed(into: &actions)
  }

  private mutating func update(_ report: PathReport, into actions: inout [Action]) {
    let old = path
    path = report
    notify(changeFrom: old, into: &actions)
  }

  private func notify(changeFrom old: PathReport?, into actions: inout [Action]) {
    guard let new = path else { return }
    if new.path != old?.path { actions.append(.pathChanged(new.path)) }
    if new.isViable != old?.isViable { actions.append(.viabilityChanged(new.isViable)) }
    if new.hasBetterPath != old?.hasBetterPath ?? false {
      actions.append(.betterPathChanged(new.hasBetterPath))
    }
  }

  // MARK: Ending

  private mutating func cancel(now: Instant, into actions: inout [Action]) {
    guard !isLingering else { return }
    guard state == .ready, firstSend < sends.count else { return finish(nil, into: &actions) }
    isLingering = true
    nextWake = now + Limits.lingerMax
    proceed(into: &actions)
  }

  /// Ends the connection; without an error because it was cancelled.
  private mutating func finish(_ error: ConnectionError?, into actions: inout [Action]) {
    let end = isLingering || error == nil ? State.cancelled : .failed(error ?? .cancelled)
    guard state != .cancelled else { return }
    let reason = error ?? .cancelled
    actions.append(.close)
    enter(end, into: &actions)
    for send in sends[firstSend...] { actions.append(.completeSend(send.id, reason)) }
    for receive in receives[firstReceive...] {
      // What came before the end may be its reason.
      let isWanted = error != nil && !receive.isMessage && !receive.bytes.isEmpty
      let content = isWanted ? receive.bytes : nil
      actions.append(
        .completeReceive(receive.id, content: content, isComplete: true, error: reason))
    }
    (sends, receives, firstSend, firstReceive) = ([], [], 0, 0)
    (path, nextWake, isLingering, isConnected) = (nil, nil, false, false)
  }

  private mutating func enter(_ new: State, into actions: inout [Action]) {
    guard state != new else { return }
    assert(!state.isFinal || new == .cancelled, "\(state) is followed by \(new)")
    state = new
    actions.append(.stateChanged(new))
  }

  // MARK: Sending and receiving

  private mutating func send(_ send: Send, into actions: inout [Action]) {
    if state.isFinal { return actions.append(.completeSend(send.id, .notConnected)) }
    if isLingering { return actions.append(.completeSend(send.id, .cancelled)) }
    if isOutputFinal { return actions.append(.completeSend(send.id, .brokenPipe)) }
    assert(sends.last?.isFinal != true, "a send follows the final one")
    isOutputFinal = send.isFinal
    sends.append(send)
    proceed(into: &actions)
  }

  private mutating func receive(_ receive: Receive, into actions: inout [Action]) {
    guard !state.isFinal, !isLingering else {
      let error = isLingering ? ConnectionError.cancelled : .notConnected
      return actions.append(
        .completeReceive(receive.id, content: nil, isComplete: true, error: error))
    }
    receives.append(receive)
    // Another attempt: input may have ended, which is not reported again.
    if case .blocked = reading { reading = .possible }
    proceed(into: &actions)
  }

  private mutating func becameReady(
    _ direction: WritableKeyPath<Self, Transfer>, into actions: inout [Action]
  ) {
    switch self[keyPath: direction] {
    case .possible: break
    case .issued: self[keyPath: direction] = .issued(isReadyAgain: true)
    case .blocked:
      self[keyPath: direction] = .possible
      proceed(into: &actions)
    }
  }

  /// Issues the next write and the next read, where there is one and none is being performed.
  private mutating func proceed(into actions: inout [Action]) {
    guard isConnected, state == .ready else { return }
    proceedWriting(into: &actions)
    guard isConnected, !isLingering, case .possible = reading, firstReceive < receives.count else {
      return
    }
    let receive = receives[firstReceive]
    assert(receive.bytes.count < receive.maximum, "a receive waits that has all of its bytes")
    reading = .issued(isReadyAgain: false)
    actions.append(
      .read(byteCountMax: min(receive.maximum - receive.bytes.count, Limits.readByteCountMax)))
  }

  private mutating func proceedWriting(into actions: inout [Action]) {
    guard case .possible = writing else { return }
    while firstSend < sends.count {
      let send = sends[firstSend]
      if !send.rest.isEmpty {
        writing = .issued(isReadyAgain: false)
        return actions.append(.write(send.rest.prefix(Limits.writeByteCountMax)))
      }
      removeFirstSend()
      if send.isFinal { actions.append(.closeOutput) }
      actions.append(.completeSend(send.id, nil))
    }
    if isLingering { finish(nil, into: &actions) }
  }

  private mutating func wrote(_ count: Int, into actions: inout [Action]) {
    guard case .issued(let isReadyAgain) = writing else { return }
    writing = count > 0 || isReadyAgain ? .possible : .blocked
    guard firstSend < sends.count else { return }
    sends[firstSend].rest = sends[firstSend].rest.dropFirst(max(0, count))
    proceed(into: &actions)
  }

  private mutating func received(
    _ bytes: [UInt8], isEnd: Bool, _ error: ConnectionError?, into actions: inout [Action]
  ) {
    guard case .issued(let isReadyAgain) = reading else { return }
    reading = !bytes.isEmpty || isEnd || isReadyAgain ? .possible : .blocked
    guard firstReceive < receives.count else { return }
    receives[firstReceive].bytes += bytes
    let receive = receives[firstReceive]
    let isDrained = bytes.isEmpty
    // Once there is enough and no small amount, it is delivered although more may come.
    let isEnough =
      receive.bytes.count
      >= min(receive.maximum, max(receive.minimum, Limits.readByteCountMax))
    let isSufficient = receive.bytes.count >= receive.minimum && (isEnough || isDrained)
    if isSufficient || isEnd && isDrained {
      removeFirstReceive()
      let isTooLong = receive.isMessage && receive.bytes.count >= receive.maximum
      actions.append(
        .completeReceive(
          receive.id, content: isTooLong || receive.bytes.isEmpty ? nil : receive.bytes,
          isComplete: isEnd, error: isTooLong ? .messageTooLong : error))
    }
    proceed(into: &actions)
  }

  private mutating func removeFirstSend() {
    assert(sends[firstSend].rest.isEmpty, "a send is completed before its bytes are sent")
    // The bytes are released at once, the element of the list later.
    sends[firstSend].rest = []
    firstSend += 1
    guard firstSend * 2 > sends.count else { return }
    sends.removeFirst(firstSend)
    firstSend = 0
  }

  private mutating func removeFirstReceive() {
    receives[firstReceive].bytes = []
    firstReceive += 1
    guard firstReceive * 2 > receives.count else { return }
    receives.removeFirst(firstReceive)
    firstReceive = 0
  }
}

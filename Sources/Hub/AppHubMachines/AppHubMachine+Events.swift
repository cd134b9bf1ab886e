import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines
import HubWire

// Events of the host become events for apps, and back.

extension AppHubMachine {
  // MARK: Arrival

  /// The host has delivered events of a session.
  mutating func arrived(_ events: [HostEvent], at key: HubSessionKey, now: Instant) {
    guard let number = numbers[key] else { return }
    // Peers are not held up: the machine of apps bounds what waits.
    let count = events.count(where: \.isAcknowledged)
    if count > 0 { outputs.append(.acknowledge(key, count: count)) }
    for event in events {
      guard let session = sessions[number] else { return }
      if case .discovered(let report) = event, !session.radio.hears(report) { continue }
      sessions[number]?.arrived(event)
      if case .stateChanged(.resetting) = event { withdraw(session, now: now) }
      if case .stateChanged(.poweredOn) = event { radioIsOn(for: number, now: now) }
      if session.process != nil { arrived(event, session, now) } else { kept(event, session, now) }
    }
    if let process = sessions[number]?.process { flush(process, now: now) }
  }

  private mutating func arrived(_ event: HostEvent, _ session: AppRadioSession, _ now: Instant) {
    switch event {
    case .acknowledgementRequested: break
    case .completed(let token, let result) where BackgroundRadio.isOwn(token):
      advertisingAnswered(token, result, session, now: now)
    case .completed(let token, let result):
      guard let result = completed(token, result, of: session.number, now: now) else { return }
      admit(.completed(token, result), session, now)
    default: admit(event, session, now)
    }
  }

  /// The host has answered a request of an app. Returns the answer for that, if it is one already.
  private mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, of number: UInt64, now: Instant
  ) -> Result<HostReply, HostError>? {
    let result = sessions[existing: number].radio.completed(token, result)
    performDue(of: number, now: now)
    return result
  }

  /// Does what is due of a session's radio.
  mutating func performDue(of number: UInt64, now: Instant) {
    guard let due = sessions[number]?.radio.takeDue(), let session = sessions[number] else {
      return
    }
    for request in due.requests {
      if case .stopAdvertising = request { hasFreePlace = true }
      outputs.append(.send(session.hostKey, request))
    }
    for (token, result) in due.answers {
      if session.process != nil {
        admit(.completed(token, result), session, now)
      } else {
        noteAnswer(token, result, session)
      }
    }
    noteRetry(number)
  }

  /// The hub notes an answer to a request of a process that has ended.
  private mutating func noteAnswer(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, _ session: AppRadioSession
  ) {
    handle(.delivered(session.hostKey, [.completed(token, result)]))
    touched.insert(session.number)
  }

  /// An event of a session whose app doesn't run.
  private mutating func kept(_ event: HostEvent, _ session: AppRadioSession, _ now: Instant) {
    switch event {
    case .acknowledgementRequested, .channelReceived, .channelClosed: break
    case .completed(let token, let result) where BackgroundRadio.isOwn(token):
      advertisingAnswered(token, result, session, now: now)
    // The last process has requested it, or the system. The hub notes what it changes.
    case .completed(let token, let result):
      guard let result = completed(token, result, of: session.number, now: now) else { return }
      noteAnswer(token, result, session)
      republished(token, result, session, now: now)
    case .channelOpened(let info): outputs.append(.send(session.hostKey, .closeChannel(info.id)))
    case .pairingPrompt(_, _, let id):
      outputs.append(.send(session.hostKey, .answerPairing(id, .reject)))
    default: admit(event, session, now)
    }
  }

  /// Gives an event to the machine of apps, or holds it back.
  private mutating func admit(_ event: HostEvent, _ session: AppRadioSession, _ now: Instant) {
    let number = session.number
    guard let kind = event.kind(hasProcess: session.process != nil), !session.isOfLocation
    else { return holdBack(event, number) }
    let sequence = sessions[existing: number].nextSequence()
    guard let payload = AppEventPayload(session: number, sequence: sequence, event) else {
      droppedCount += 1
      return
    }
    var appEvent = AppEvent(kind, for: session.receiver, payload: payload.bytes)
    appEvent.showsAlert = session.showsAlert(for: event)
    if case .discovered(let report) = event {
      appEvent.key = AppPeer(report.address).rawValue
    }
    if case .serverRequest(let request) = event, request.needsResponse {
      requests[life.nextEvent] = AppHubRequest(session: number, id: request.id)
    }
    let id = life.nextEvent
    report(.arrived(session.app, appEvent), now: now)
    // Nothing may launch the app for it. What the session holds is for the process that the person starts.
    guard !life.isWaiting(id, of: session.app) else { return }
    note(event, kind, session)
  }

  /// An event that waited has made room for another one.
  mutating func noteDisplaced(_ event: AppEvent, of app: AppID) {
    if let payload = AppEventPayload(event.payload) {
      guard let content = payload.event, let session = sessions[payload.session] else { return }
      note(content, event.kind, session)
    } else if case .disconnected(let peer, true) = event.kind {
      // The machine of apps has ended the link.
      let end = HostEvent.disconnected(peer.address, .tooManyNotifications, reconnecting: false)
      for session in sessions(of: app, event.receiver) { note(end, event.kind, session) }
    }
  }

  /// The hub notes an event that no process is given, if that changes what the next one is given.
  private mutating func note(_ event: HostEvent, _ kind: AppEvent.Kind, _ session: AppRadioSession)
  {
    switch kind {
    case .callback, .connected, .disconnected:
      guard session.process == nil else { return }
      hub.note(event, of: session.hostKey)
      touched.insert(session.number)
    default: break
    }
  }

  private mutating func holdBack(_ event: HostEvent, _ number: UInt64) {
    // What a location manager hears while its app is suspended is of no use later.
    if case .discovered = event, !isAwake(sessions[number]?.process) { return }
    droppedCount += sessions[number]?.holdBack(event) ?? 0
  }

  /// Whether a process runs.
  func isAwake(_ process: AppProcessID?) -> Bool {
    guard let process, let entry = processes[process] else { return false }
    return !entry.isFrozen
  }

  // MARK: Delivery

  /// A process is to get these, in this order.
  mutating func deliver(_ deliveries: [AppDelivery], to process: AppProcessID, now: Instant) {
    for delivery in deliveries {
      guard let number = processes[process]?.nextDelivery() else { return }
      switch delivery {
      case .restore(let receiver) where receiver.isBluetooth:
        // The hub has answered the opening with the state, and tells here when that was handled.
        guard let session = session(receiver, of: process) else {
          handled(number, by: process, now: now)
          break
        }
        tell([], number, session)
      case .event(let id, let event) where event.receiver.isBluetooth:
        deliver(event, id, number, to: process, now: now)
      case .event(_, let event) where isOfFormerRegion(event, of: processes[process]?.app):
        handled(number, by: process, now: now)
      case .event(_, let event):
        gaveRegionEvent(event, to: process)
        outputs.append(.give(process, delivery, number))
      case .transition, .restore: outputs.append(.give(process, delivery, number))
      }
      performHubActions(now: now)
    }
    flush(process, now: now)
  }

  private mutating func deliver(
    _ event: AppEvent, _ id: AppEventID, _ number: AppDeliveryNumber, to process: AppProcessID,
    now: Instant
  ) {
    requests[id]?.process = process
    if let payload = AppEventPayload(event.payload), let content = payload.event,
      sessions[payload.session]?.process == process
    {
      let earlier = sessions[payload.session]?.takeHeldBack(before: payload.sequence) ?? []
      return tell(earlier + [content], number, payload.session)
    }
    // The machine of apps has ended a link.
    if case .disconnected(let peer, true) = event.kind,
      let session = session(event.receiver, of: process)
    {
      let earlier = sessions[session]?.takeHeldBack() ?? []
      let end = HostEvent.disconnected(peer.address, .tooManyNotifications, reconnecting: false)
      return tell(earlier + [end], number, session)
    }
    handled(number, by: process, now: now)
  }

  /// Tells a process events of a session; it acknowledges the last one when it has handled them.
  private mutating func tell(
    _ events: [HostEvent], _ number: AppDeliveryNumber?, _ session: UInt64
  ) {
    guard let key = sessions[session]?.hostKey else { return }
    let events = events + [.acknowledgementRequested]
    sessions[session]?.tells(events, number)
    touched.insert(session)
    handle(.delivered(key, events))
  }

  /// The first session of a process with this receiver.
  private func session(_ receiver: AppReceiver, of process: AppProcessID) -> UInt64? {
    sessions.values.filter { $0.process == process && $0.receiver == receiver }.map(\.number).min()
  }

  /// Gives a process that runs the events that were held back, if no earlier one waits.
  mutating func flush(_ process: AppProcessID, now: Instant) {
    guard isAwake(process), let app = processes[process]?.app,
      life.waitingCount(of: app) == 0
    else { return }
    for number in processes[process]?.sessions.values.sorted() ?? [] {
      let events = sessions[number]?.takeHeldBack() ?? []
      if !events.isEmpty { tell(events, nil, number) }
    }
    performHubActions(now: now)
  }

  // MARK: Handled deliveries

  /// A process has acknowledged events of a session.
  mutating func acknowledged(_ count: Int, at key: HubSessionKey, now: Instant) {
    guard let number = numbers[key], let process = sessions[number]?.process else { return }
    for delivery in sessions[number]?.acknowledged(count) ?? [] {
      handled(delivery, by: process, now: now)
    }
  }

  /// A process has handled a delivery. Deliveries are acknowledged in their order.
  mutating func handled(_ number: AppDeliveryNumber, by process: AppProcessID, now: Instant) {
    guard let count = processes[process]?.handled(number), count > 0 else { return }
    report(.process(process, .acknowledged(count)), now: now)
  }
}

/// The contents of an event of Core Bluetooth for an app: the event as a hub writes it, behind its session and its
/// place among the session's events.
struct AppEventPayload {
  let bytes: [UInt8]
  let session: UInt64
  let sequence: UInt64

  private static let headByteCount = 8

  /// Nil for an event that is longer than a message.
  init?(session: UInt64, sequence: UInt64, _ event: HostEvent) {
    self.session = session
    self.sequence = sequence
    var writer = HubFrameWriter()
    let id = HubSessionID(rawValue: session)
    do throws(HubWireError) { try writer.append([event], of: id) } catch {
      guard case .completed(let token, _) = event else { return nil }
      let failure = HostError.limitReached("a reply that is longer than a message")
      do throws(HubWireError) {
        try writer.append([.completed(token, .failure(failure))], of: id)
      } catch { return nil }
    }
    var head: [UInt8] = []
    for shift in stride(from: 0, to: 64, by: 8) {
      head.append(UInt8(truncatingIfNeeded: sequence >> UInt64(shift)))
    }
    bytes = head + writer.takeBytes()
  }

  /// Nil for an event that has none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.headByteCount else { return nil }
    self.bytes = bytes
    sequence = bytes.prefix(Self.headByteCount).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    guard let session = Self.message(bytes)?.session else { return nil }
    self.session = session
  }

  var event: HostEvent? { Self.message(bytes)?.event }

  private static func message(_ bytes: [UInt8]) -> (session: UInt64, event: HostEvent)? {
    var reader = HubFrameReader()
    reader.append(bytes[headByteCount...])
    guard case .events(let id, let events) = try? reader.next(HubMessage.self),
      let event = events.events.first
    else { return nil }
    return (id.rawValue, event)
  }
}

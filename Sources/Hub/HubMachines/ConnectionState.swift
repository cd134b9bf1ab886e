import BluetoothInterface
import Essentials
import HubWire

/// The hub's side of one connection.
struct ConnectionState: Sendable {
  /// How far a connection is.
  enum Phase: Sendable {
    /// The greeting has to arrive by a time.
    case greeting(deadline: Instant)
    /// The program with this name is served.
    case served(app: String)
  }

  let peer: HubPeer
  var phase: Phase
  var sessions: [HubSessionID: SessionState] = [:]
  var reader = HubFrameReader(byteCountMax: HubProtocol.greetingByteCountMax)
  /// Messages that are written at the end of the turn.
  var writer = HubFrameWriter(capacity: 0)
  /// The number of bytes that were written, and that the system has not taken.
  var untakenByteCount = 0
  /// Whether the program's messages are not read for now.
  var isPaused = false
  /// What the limits of the user have counted so far.
  var counted = UserLoad()

  init(_ peer: HubPeer, deadline: Instant) {
    self.peer = peer
    phase = .greeting(deadline: deadline)
  }

  /// The name of the program, once it is served.
  var app: String? {
    if case .served(let app) = phase { app } else { nil }
  }

  /// The number of bytes that wait for the program.
  var waitingByteCount: Int { untakenByteCount + writer.byteCount }

  /// What this connection adds to the load of its user.
  var load: UserLoad {
    UserLoad(
      connectionCount: 1, sessionCount: sessions.count, waitingByteCount: waitingByteCount,
      incompleteByteCount: reader.byteCount)
  }

  /// The load of all sessions.
  var sessionLoad: SessionState.Load {
    sessions.values.reduce(into: SessionState.Load()) { $0 += $1.load }
  }

  // MARK: Sending

  /// Appends a message of the hub, which always fits.
  mutating func send(_ message: HubMessage) {
    do throws(HubWireError) { try writer.append(message) } catch {
      preconditionFailure("the hub's own message can't be sent: \(error)")
    }
  }

  /// Appends an event that the hub makes.
  mutating func sendOwn(_ event: HostEvent, of session: HubSessionID) {
    send(.events(session, HubEvents([event])))
    sessions[session]?.ledger.deliveredOwn()
  }

  /// Appends events of the host. Replies that are longer than a message become errors.
  mutating func send(_ events: [HostEvent], of session: HubSessionID) {
    guard sessions[session] != nil else { return }
    for event in events { sessions[session]?.received(event) }
    sessions[session]?.ledger.delivered(events)
    guard events.contains(where: \.mayBeTooLong) else { return append(events[...], of: session) }
    var start = 0
    for index in events.indices where events[index].mayBeTooLong {
      append(events[start..<index], of: session)
      appendLong(events[index], of: session)
      start = index + 1
    }
    append(events[start...], of: session)
  }

  private mutating func append(_ events: ArraySlice<HostEvent>, of session: HubSessionID) {
    guard !events.isEmpty else { return }
    do throws(HubWireError) { try writer.append(Array(events), of: session) } catch {
      preconditionFailure("an event of the host doesn't fit in a message: \(error)")
    }
  }

  private mutating func appendLong(_ event: HostEvent, of session: HubSessionID) {
    do throws(HubWireError) { try writer.append([event], of: session) } catch {
      guard case .completed(let token, _) = event else {
        preconditionFailure("only a reply can be longer than a message")
      }
      let error = HostError.limitReached("a reply that is longer than a message")
      append([.completed(token, .failure(error))], of: session)
    }
  }
}

/// What connections of a user take.
struct UserLoad: Hashable, Sendable {
  var connectionCount = 0
  var sessionCount = 0
  var waitingByteCount = 0
  var incompleteByteCount = 0

  static func += (a: inout UserLoad, b: UserLoad) {
    a.connectionCount += b.connectionCount
    a.sessionCount += b.sessionCount
    a.waitingByteCount += b.waitingByteCount
    a.incompleteByteCount += b.incompleteByteCount
  }

  static func - (a: UserLoad, b: UserLoad) -> UserLoad {
    UserLoad(
      connectionCount: a.connectionCount - b.connectionCount,
      sessionCount: a.sessionCount - b.sessionCount,
      waitingByteCount: a.waitingByteCount - b.waitingByteCount,
      incompleteByteCount: a.incompleteByteCount - b.incompleteByteCount)
  }
}

extension HostEvent {
  /// Whether the event has a list that a message may have no room for.
  fileprivate var mayBeTooLong: Bool {
    guard case .completed(_, .success(let reply)) = self else { return false }
    switch reply {
    case .services, .characteristics, .descriptors, .values, .published: return true
    case .done, .value, .rssi, .psm, .channel, .outOfBandData: return false
    }
  }
}

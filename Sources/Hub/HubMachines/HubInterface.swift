package import BluetoothInterface
package import Essentials
package import HubWire

/// Identifies a connection of a program, while the hub runs.
package struct HubConnectionID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Identifies a session of all connections.
package struct HubSessionKey: Hashable, Sendable {
  package let connection: HubConnectionID
  package let session: HubSessionID

  package init(_ connection: HubConnectionID, _ session: HubSessionID) {
    self.connection = connection
    self.session = session
  }
}

/// A program at the other end of a connection, as the kernel knows it.
package struct HubPeer: Hashable, Sendable {
  package var userID: UInt32
  package var processID: Int32
  /// Its groups; nil if they aren't known.
  package var groupIDs: [UInt32]?
  /// Its unit of systemd, see ``ControlGroups``; nil if it isn't known.
  package var units: [String]?
  /// The name of the listening socket that it connected to; nil if that has none.
  package var socket: String?
  /// The name of its app, where the system that has started it knows that; nil for the name in its greeting.
  package var app: String?

  package init(
    userID: UInt32, processID: Int32, groupIDs: [UInt32]? = nil, units: [String]? = nil,
    socket: String? = nil, app: String? = nil
  ) {
    self.userID = userID
    self.processID = processID
    self.groupIDs = groupIDs
    self.units = units
    self.socket = socket
    self.app = app
  }
}

/// A report for the user of the hub.
package enum HubReport: Hashable, Sendable {
  /// A program is served now.
  case opened(HubConnectionID, app: String, HubPeer)
  /// A program that was served has gone, or lost its connection for a reason.
  case closed(HubConnectionID, app: String, HubRefusal?)
  /// A program was refused, and so were `unreportedCount` before it.
  case refused(HubPeer, HubRefusal, unreportedCount: Int)
  /// A scan of a program is beyond its quota and was not started, for the first time. Others are only counted.
  case scanRefused(HubConnectionID, app: String)
  /// Other programs can't reach the hub, since its socket's file was removed or replaced, and it can't listen again;
  /// the text is a sentence.
  case unreachable(String)
  /// The hub listens again at a path where its socket's file was removed or replaced.
  case listensAgain(path: String)
  /// Connections wait, because the hub has no descriptor or memory for them; the text is the reason with its remedy.
  /// They are accepted when it has.
  case descriptorsExhausted(String)
  /// This number of programs were served and have gone, and were not reported, because too many came at a time.
  case unreported(programCount: Int)
  /// Sessions of ended programs were forgotten, because a program of this user wanted it.
  case forgotten(sessionCount: Int, by: HubPeer)
}

extension HubMachine {
  /// An event of the hub.
  package enum Event: Sendable {
    /// A program has connected.
    case connected(HubConnectionID, HubPeer)
    /// Bytes of a program arrived.
    case received(HubConnectionID, [UInt8])
    /// A program has closed its connection, or has ended.
    case disconnected(HubConnectionID)
    /// A session of the host has events.
    case delivered(HubSessionKey, [HostEvent])
    /// The system has not taken this number of bytes that were written to a connection.
    case written(HubConnectionID, waitingByteCount: Int)
    /// The host's part of the hub's state was read.
    case statusRead(HubHostStatus)
    /// All simultaneous events were handled: messages can be written.
    case turnEnded
    /// The time that was given by `nextWake` has come.
    case wake
    /// A kept session, by the host's session, is of no use any more.
    case keepingEnded(HubSessionKey)
    /// The system of an app requests something for a session of it, by the host's session. No limit of programs
    /// holds, and no process is told of the answer.
    case requested(HubSessionKey, HostRequest)
    /// The virtual time of the radio is this, before events of that time.
    case time(Instant)
    /// The virtual time waits until the program of a session has handled its events, by the host's
    /// session. The number is no other settling's.
    case settle(HubSessionKey, UInt64)
    /// The hub ends.
    case ending
  }

  /// An action of the host.
  package enum Action: Hashable, Sendable {
    /// Write bytes to a connection, then report `written`.
    case write(HubConnectionID, [UInt8])
    /// Read, or don't read, what a program sends.
    case setReading(HubConnectionID, Bool)
    /// Close a connection, after what the system takes at once. Nothing follows for it.
    case close(HubConnectionID)
    /// Open a session with the host, which acknowledges events, for a session of this identity.
    case openSession(HubSessionKey, SessionIdentity)
    /// Send a request of a session to the host.
    case send(HubSessionKey, HostRequest)
    /// Acknowledge events of a session.
    case acknowledge(HubSessionKey, count: Int)
    /// Close a session. Nothing follows for it.
    case closeSession(HubSessionKey)
    /// Read the host's part of the hub's state soon, then report `statusRead`.
    case readStatus
    /// Report something.
    case report(HubReport)
    /// The settling with this number has ended: the program has handled its events, or is gone. It is to be asked again
    /// at a time.
    case settled(UInt64, wake: Instant?)
    /// A session has work that no event caused.
    case hasWork(HubSessionKey)
  }
}

/// What a hub serves, and what it refused so far.
package struct HubCounts: Hashable, Sendable {
  /// Connections with or without a greeting.
  package var connectionCount: Int
  package var sessionCount: Int
  /// Bytes that wait for programs.
  package var waitingByteCount: Int
  /// Connections that were refused, or ended for a reason of the hub.
  package var refusedCount: Int
  /// Requests beyond a limit.
  package var limitedRequestCount: Int
}

extension HubMachine {
  /// What it serves.
  package var counts: HubCounts {
    let load = users.values.reduce(into: UserLoad()) { $0 += $1 }
    return HubCounts(
      connectionCount: load.connectionCount, sessionCount: load.sessionCount,
      waitingByteCount: load.waitingByteCount, refusedCount: refusedCount,
      limitedRequestCount: limitedRequestCount)
  }

  /// Whether `turnEnded` would write anything.
  package var hasUnwritten: Bool { !unwritten.isEmpty }

  /// ``nextWake`` and ``hasUnwritten``, for a driver that looks at them after each event. It is mutating because a
  /// getter of another module is called with a copy of the machine.
  package mutating func schedule() -> (nextWake: Instant?, hasUnwritten: Bool) {
    (nextWake, hasUnwritten)
  }
}

package import Essentials

/// A socket that the system holds for an app. No other one gets the same number.
package struct HeldSocketID: Hashable, Comparable, Codable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  /// The receiver of its events in the app.
  package var receiver: AppReceiver { .heldSocket(rawValue) }
}

/// A request of a process, which waits for the answer.
package struct HeldSocketTicket: Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The properties of a held socket that outlive the app's process.
package struct HeldSocketDescription: Hashable, Codable, Sendable {
  /// The app's name for it, unique in the app.
  package var identifier: String
  /// Whether another process can go on with its bytes. The keys of TLS end with their process.
  package var isPlain: Bool
  /// The peer's address, for people.
  package var peer: String

  package init(identifier: String, isPlain: Bool = true, peer: String = "") {
    self.identifier = identifier
    self.isPlain = isPlain
    self.peer = peer
  }
}

/// The kernel's counts of a socket: an app that doesn't read isn't woken twice for the same bytes.
package struct HeldSocketReading: Hashable, Sendable {
  /// Bytes that have come, since it was connected.
  package var receivedCount: UInt64
  /// Those of them that the app has read.
  package var readCount: UInt64
  /// The peer has closed its side, or the connection has failed.
  package var hasEnded: Bool
  /// How long ago the last bytes came; nil where that isn't known.
  package var sinceReceived: TimeSpan?

  package init(
    receivedCount: UInt64 = 0, readCount: UInt64 = 0, hasEnded: Bool = false,
    sinceReceived: TimeSpan? = nil
  ) {
    self.receivedCount = receivedCount
    self.readCount = readCount
    self.hasEnded = hasEnded
    self.sinceReceived = sinceReceived
  }
}

/// Why a socket isn't held.
package enum HeldSocketRefusal: String, Hashable, Codable, Sendable {
  /// No system runs the app, or it doesn't hold sockets.
  case unavailable
  /// The app has not the background mode `voip`.
  case noMode
  /// The app has too many of them.
  case limit
  /// It is no connected TCP socket.
  case notConnected
  /// Its identifier is empty or too long.
  case badIdentifier
}

/// Times and bounds of held sockets.
package struct HeldSocketLimits: Hashable, Sendable {
  /// The maximum number for each app.
  package var socketCountMax = 16
  package var identifierByteCountMax = 256
  /// An app that was launched and hasn't taken its sockets back in this time is one that has forgotten them.
  package var claimTime: TimeSpan = .seconds(10)
  /// Apple's `UIMinimumKeepAliveTimeout`.
  package var keepAliveTimeMin: TimeSpan = .seconds(600)
  /// When to look at what a process has read since its suspension: a busy machine stops its threads late.
  package var stopTimes: [TimeSpan] = [.milliseconds(10), .milliseconds(100), .seconds(1)]
  /// Bytes that came so short a time before the suspension may be read and not handled.
  package var handlingTime: TimeSpan = .seconds(1)
  /// An app without a connection that it wants is woken this time after its suspension at the latest, then after twice as
  /// long, and so on: by chance up to half of it earlier, the first time up to all of it, so that devices which have lost
  /// their server together come back at different times.
  package var reconnectPause: TimeSpan = .seconds(2)
  package var reconnectPauseMax: TimeSpan = .seconds(300)
  /// The shortest pause before the launch of one that doesn't run: it may have ended for its memory. By chance it is up to
  /// twice as long.
  package var reconnectLaunchPause: TimeSpan = .seconds(60)

  package init() {}

  /// The pause after this number of wakes.
  ///
  /// - Parameter chance: A number in 0 ..< 1.
  func reconnectPause(afterWakes count: Int, isLaunch: Bool, chance: Double) -> TimeSpan {
    let longest = min(reconnectPause * (1 << Int64(min(max(count, 0), 30))), reconnectPauseMax)
    let shortest = count > 0 ? longest.nanoseconds / 2 : 0
    let pause = Self.between(shortest, longest.nanoseconds, chance)
    guard isLaunch else { return pause }
    let launch = reconnectLaunchPause.nanoseconds
    return max(pause, Self.between(launch, 2 * launch, chance))
  }

  private static func between(_ a: Int64, _ b: Int64, _ chance: Double) -> TimeSpan {
    TimeSpan(nanoseconds: a + Int64(Double(b - a) * chance))
  }
}

/// The state of a held socket, for people.
package struct HeldSocketStatus: Hashable, Codable, Sendable {
  package var identifier: String
  package var peer: String
  /// How often it has woken or launched its app.
  package var wakeCount: Int
  /// The peer has closed it, or it has failed, and the app has not closed it yet.
  package var hasEnded: Bool

  package init(identifier: String, peer: String, wakeCount: Int, hasEnded: Bool) {
    self.identifier = identifier
    self.peer = peer
    self.wakeCount = wakeCount
    self.hasEnded = hasEnded
  }
}

extension HeldSocketMachine {
  package enum Event: Sendable {
    /// A process hands over a duplicate of a socket. One with the same identifier is replaced.
    case hold(HeldSocketTicket, AppID, AppProcessID, HeldSocketDescription, hasMode: Bool)
    /// A process wants a connection, and has none by this name: it is woken to connect until it hands over a socket with
    /// the same identifier, or closes this receiver.
    case reconnect(HeldSocketTicket, AppID, AppProcessID, identifier: String, hasMode: Bool)
    /// The system has the duplicate of an app that is installed from before it was started again.
    case preserved(HeldSocketID, AppID, HeldSocketDescription)
    /// A process takes a socket back that an earlier process of its app had.
    case take(HeldSocketTicket, AppID, AppProcessID, identifier: String)
    /// A process handles the events of a socket, or no longer: it has closed it.
    case opened(AppProcessID, HeldSocketID)
    case closed(AppProcessID, HeldSocketID)
    /// A process has finished launching.
    case launched(AppID, AppProcessID)
    case suspended(AppProcessID)
    case resumed(AppProcessID)
    /// None of its processes is left.
    case ended(AppProcessID)
    /// The life of the app has ended the holding: it crashed in the foreground, or was force-quit.
    case released(HeldSocketID)
    /// The person has ended the app, or removed it.
    case quit(AppID)
    /// A watched socket has bytes, or has ended.
    case readable(HeldSocketID, HeldSocketReading)
    /// The answer to `look`.
    case looked(HeldSocketID, HeldSocketReading)
    /// `setKeepAliveTimeout(_:handler:)`; nil clears it.
    case keepAlive(AppID, TimeSpan?)
    /// The time that was given by `nextWake` has come.
    case wake
  }

  /// An action of the host.
  package enum Action: Sendable {
    /// Keep the duplicate that came with a request, and answer it.
    case held(HeldSocketTicket, HeldSocketID)
    /// Answer a request without a socket.
    case reconnecting(HeldSocketTicket, HeldSocketID)
    /// Close the duplicate, and answer.
    case refused(HeldSocketTicket, HeldSocketRefusal)
    /// Answer with a duplicate of the socket if its connection is plain.
    case give(HeldSocketTicket, HeldSocketID, HeldSocketDescription)
    /// Answer that there is no such socket.
    case none(HeldSocketTicket)
    /// Report the socket's counts when bytes come or it ends, and once now if it has some.
    case watch(HeldSocketID)
    case unwatch(HeldSocketID)
    /// Report the socket's counts at once.
    case look(HeldSocketID)
    /// End the connection in both directions, and close the duplicate.
    case shutDown(HeldSocketID)
    /// Close the duplicate: the peer learns of it once no process has the socket.
    case close(HeldSocketID)
    /// Have the machine of apps handle an event.
    case life(AppMachine.Event)
    /// An app was launched and has not taken a socket back: it was ended.
    case unclaimed(AppID, HeldSocketDescription)
  }
}

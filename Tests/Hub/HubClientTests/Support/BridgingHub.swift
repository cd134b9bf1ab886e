import BluetoothHost
import BluetoothInterface
import EventLoop
import HubWire

/// A hub that bridges the sessions of apps to a host in the test's process, one to one.
final class BridgingHub: @unchecked Sendable {
  // Sendable because everything that changes is touched on the hub's loop only.

  private struct Key: Hashable {
    var connection: Int
    var session: HubSessionID
  }

  private let host: BluetoothHost
  private var sessions: [Key: any HostSession] = [:]
  private var hub: TestHub?

  private init(_ host: BluetoothHost) { self.host = host }

  /// Starts a hub with a host's radio.
  static func start(at path: String, on host: BluetoothHost) async throws -> BridgingHub {
    let bridge = BridgingHub(host)
    bridge.hub = try await TestHub.start(
      at: path, onEnd: { bridge.close($0.number) }, onMessage: { bridge.take($0, from: $1) })
    return bridge
  }

  /// Ends the hub and all sessions with the host.
  func kill() async {
    await hub?.kill()
    await withCheckedContinuation { continuation in
      TestHub.loop.execute { [self] in
        for session in sessions.values { session.close() }
        sessions = [:]
        continuation.resume()
      }
    }
  }

  private func take(_ message: AppMessage, from connection: TestHub.Connection) {
    switch message {
    case .greeting(let greeting):
      connection.send(
        .welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: host.isSimulated)))
      for opening in greeting.openings { open(opening, for: connection) }
    case .ping(let number): connection.send(.pong(number))
    case .openSession(let opening): open(opening, for: connection)
    case .request(let id, .known(let request)):
      sessions[Key(connection: connection.number, session: id)]?.send(request)
    case .request(_, .unknown): break
    case .eventsHandled(let id, let count):
      sessions[Key(connection: connection.number, session: id)]?.eventsHandled(count)
    case .closeSession(let id):
      sessions.removeValue(forKey: Key(connection: connection.number, session: id))?.close()
    }
  }

  private func open(_ opening: SessionOpening, for connection: TestHub.Connection) {
    let target = Target(connection)
    sessions[Key(connection: connection.number, session: opening.id)] = host.openSession(
      acknowledgesEvents: opening.acknowledgesEvents, settle: nil
    ) { events in
      TestHub.loop.execute { target.connection.send(.events(opening.id, HubEvents(events))) }
    }
  }

  private func close(_ connection: Int) {
    for (key, session) in sessions where key.connection == connection {
      session.close()
      sessions[key] = nil
    }
  }

  /// Carries a connection, which is used on the hub's loop only, through the host's.
  private struct Target: @unchecked Sendable {
    let connection: TestHub.Connection
    init(_ connection: TestHub.Connection) { self.connection = connection }
  }
}

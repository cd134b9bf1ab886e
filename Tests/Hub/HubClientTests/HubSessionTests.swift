import BluetoothInterface
import BluetoothWire
import EventLoop
import Foundation
import HubPlaces
import HubWire
import Logging
import Synchronization
import Testing

@testable import HubClient

@Suite("Sessions over the hub's socket", .timeLimit(.minutes(5)))
struct HubSessionTests {
  private static let token = RequestToken(rawValue: 7)
  /// A busy machine may need more than half a second for the answer to a question about the radio.
  private static let answerMilliseconds = 30_000

  private let path = TestHub.makePath()

  private func makeProvider() -> HubSessionProvider {
    HubSessionProvider(
      path: path, app: "test", logger: .silent, answerMilliseconds: Self.answerMilliseconds)
  }

  /// Starts a hub that accepts every greeting, and reports a radio that is on.
  private func startHub(_ log: MessageLog = MessageLog()) async throws -> TestHub {
    try await TestHub.start(at: path) { message, connection in
      log.append(message)
      let on = HubEvents([.stateChanged(.poweredOn)])
      switch message {
      case .greeting(let greeting):
        connection.send(.accepted)
        for opening in greeting.openings { connection.send(.events(opening.id, on)) }
      case .openSession(let opening): connection.send(.events(opening.id, on))
      case .ping(let number): connection.send(.pong(number))
      case .request(let id, .known(.barrier(let token))):
        connection.send(.events(id, HubEvents([.completed(token, .success(.done))])))
      case .request, .eventsHandled, .closeSession, .status, .forget, .settled, .hasWork: break
      }
    }
  }

  @Test("a session has the radio's state and the completions of its requests")
  func requests() async throws {
    let hub = try await startHub()
    let client = SessionLog(makeProvider())
    client.session.send(.barrier(Self.token))
    #expect(await client.wait(for: .stateChanged(.poweredOn)))
    client.session.send(.barrier(Self.token))
    #expect(await client.wait(for: .completed(Self.token, .success(.done))))
    await hub.kill()
  }

  @Test("all sessions of a provider share one connection")
  func sharing() async throws {
    let log = MessageLog()
    let hub = try await startHub(log)
    let provider = makeProvider()
    let first = SessionLog(provider)
    #expect(await first.wait(for: .stateChanged(.poweredOn)))
    let second = SessionLog(provider)
    #expect(await second.wait(for: .stateChanged(.poweredOn)))
    guard case .greeting(let greeting)? = await log.next() else {
      Issue.record("there was no greeting")
      return
    }
    #expect(greeting.app == "test" && greeting.openings.count == 1)
    var message = await log.next()
    if case .eventsHandled? = message { message = await log.next() }
    #expect(
      message
        == .openSession(SessionOpening(id: HubSessionID(rawValue: 2), acknowledgesEvents: true)))
    await hub.kill()
  }

  @Test("a session that is closed or released is closed with the hub, and has no more events")
  func closing() async throws {
    let log = MessageLog()
    let hub = try await startHub(log)
    let provider = makeProvider()
    let closed = SessionLog(provider, acknowledgesEvents: true)
    #expect(await closed.wait(for: .stateChanged(.poweredOn)))
    closed.session.close()
    closed.session.send(.barrier(Self.token))
    let count = closed.eventCount
    while let message = await log.next() {
      if message == .closeSession(HubSessionID(rawValue: 1)) { break }
      if case .request = message { Issue.record("a request came from a closed session") }
    }
    do {
      let released = SessionLog(provider, acknowledgesEvents: true)
      #expect(await released.wait(for: .stateChanged(.poweredOn)))
    }
    while let message = await log.next() {
      if message == .closeSession(HubSessionID(rawValue: 2)) { break }
    }
    await hub.kill()
    let last = SessionLog(provider)
    #expect(await last.wait(for: .stateChanged(.poweredOff)))
    #expect(closed.eventCount == count)
  }

  @Test("a closed provider ends its connection, and its sessions have no more events")
  func closedProvider() async throws {
    let (ends, continuation) = AsyncStream.makeStream(of: Int.self)
    let hub = try await TestHub.start(at: path, onEnd: { continuation.yield($0.number) }) {
      message, connection in
      guard case .greeting(let greeting) = message else { return }
      connection.send(.accepted)
      for opening in greeting.openings {
        connection.send(.events(opening.id, HubEvents([.stateChanged(.poweredOn)])))
      }
    }
    let provider = makeProvider()
    let client = SessionLog(provider)
    #expect(await client.wait(for: .stateChanged(.poweredOn)))
    await provider.close()
    var iterator = ends.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    client.session.send(.barrier(Self.token))
    await hub.kill()
    #expect(client.eventCount == 2)
  }

  @Test("a hub that is killed and started again is a radio that goes off and on")
  func restart() async throws {
    var hub = try await startHub()
    let client = SessionLog(makeProvider())
    #expect(await client.wait(for: .stateChanged(.poweredOn)))
    for _ in 0..<3 {
      await hub.kill()
      #expect(await client.next() == .stateChanged(.poweredOff))
      hub = try await startHub()
      #expect(await client.next() == .stateChanged(.poweredOn))
    }
    await hub.kill()
  }

  @Test("a path at which no hub listens is a radio that is off, with a reason")
  func missingHub() async throws {
    let provider = makeProvider()
    #expect(!provider.isSimulated)
    let client = SessionLog(provider)
    #expect(await client.next() == .stateChanged(.poweredOff))
    #expect(provider.problem == "There is no hub at \(path).")
    let hub = try await startHub()
    #expect(await client.next() == .stateChanged(.poweredOn))
    #expect(provider.problem == nil)
    await hub.kill()
  }

  @Test("a hub that sends garbage is left with a reason, and the program goes on")
  func hostileHub() async throws {
    let hub = try await TestHub.start(at: path) { _, connection in
      connection.send(.accepted)
      connection.send(bytes: [UInt8](repeating: 0xFF, count: 100_000))
    }
    let provider = makeProvider()
    let client = SessionLog(provider)
    #expect(await client.wait(for: .stateChanged(.poweredOff)))
    #expect(provider.problem?.hasPrefix("The hub sent an invalid message") == true)
    await hub.kill()
  }

  @Test("a refusal of the hub is reported with its text")
  func refusal() async throws {
    let hub = try await TestHub.start(at: path) { _, connection in
      connection.send(.refusal(HubRefusal(.denied, "The rules deny it.")))
      connection.close()
    }
    let provider = makeProvider()
    let client = SessionLog(provider)
    #expect(await client.wait(for: .stateChanged(.unauthorized)))
    #expect(provider.problem == "The hub refused this app: The rules deny it.")
    await hub.kill()
  }

  @Test("a question about the radio has the hub's answer")
  func simulatedRadio() async throws {
    let hub = try await startHub()
    #expect(makeProvider().isSimulated)
    await hub.kill()
  }

  @Test("the log has the hub that is used, and whether its radio is simulated")
  func reportedHub() async throws {
    for (isSimulated, line) in [
      (false, "info: The hub at \(path) is used."),
      (
        true,
        "notice: The radio of the hub at \(path) is simulated, and so are the devices around it."
      ),
    ] {
      let hub = try await TestHub.start(at: path) { message, connection in
        guard case .greeting = message else { return }
        connection.send(
          .welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: isSimulated)))
      }
      let (lines, logger) = Logger.recording()
      let provider = HubSessionProvider(
        path: path, app: "test", logger: logger, answerMilliseconds: Self.answerMilliseconds)
      #expect(provider.isSimulated == isSimulated)
      var iterator = lines.makeAsyncIterator()
      #expect(await iterator.next() == line)
      await provider.close()
      await hub.kill()
    }
  }

  @Test("many events arrive in order, and all are acknowledged before the next request")
  func manyEvents() async throws {
    let count = 20_000
    let acknowledged = Atomic(0)
    // When the hub got the barrier, whose own completion is acknowledged later.
    let acknowledgedBefore = Atomic(0)
    let peer = TestHub.peer
    let hub = try await TestHub.start(at: path) { message, connection in
      switch message {
      case .greeting(let greeting):
        connection.send(.accepted)
        for number in 0..<count / 100 {
          let events = (0..<100).map {
            HostEvent.valueUpdated(peer, handle: UInt16(number), [UInt8($0)])
          }
          for opening in greeting.openings {
            connection.send(.events(opening.id, HubEvents(events)))
          }
        }
      case .eventsHandled(_, let count): acknowledged.add(count, ordering: .relaxed)
      case .request(let id, .known(.barrier(let token))):
        acknowledgedBefore.store(acknowledged.load(ordering: .relaxed), ordering: .relaxed)
        connection.send(.events(id, HubEvents([.completed(token, .success(.done))])))
      default: break
      }
    }
    let client = SessionLog(makeProvider())
    #expect(await client.next() == .stateChanged(.unknown))
    for number in 0..<count {
      let event = await client.next()
      let expected = HostEvent.valueUpdated(
        peer, handle: UInt16(number / 100), [UInt8(number % 100)])
      guard event == expected else {
        Issue.record("event \(number) is \(String(describing: event))")
        break
      }
    }
    client.session.send(.barrier(Self.token))
    #expect(await client.next() == .completed(Self.token, .success(.done)))
    #expect(acknowledgedBefore.load(ordering: .relaxed) == count)
    await hub.kill()
  }

  @Test("the hub of root and of the same user is believed, and that of another user is not")
  func belief() {
    #expect(HubSocket.believes(0, self: 1_000))
    #expect(HubSocket.believes(1_000, self: 1_000))
    #expect(!HubSocket.believes(1_001, self: 1_000))
    #expect(!HubSocket.believes(1_000, self: 0))
    // A process of another user namespace, which may be anybody's; also for a program that runs as "nobody".
    #expect(!HubSocket.believes(65_534, self: 1_000))
    #expect(!HubSocket.believes(65_534, self: 65_534))
  }

  // MARK: Settings

  @Test("the setting is off or the absolute path of a socket, and all else is invalid")
  func settings() {
    #expect(HubSetting("off") == .off)
    #expect(HubSetting("/run/ambit/hub") == .path("/run/ambit/hub"))
    for value in ["on", "hub.sock", "OFF", "/" + String(repeating: "x", count: 200)] {
      guard case .invalid(let reason) = HubSetting(value) else {
        Issue.record("\(value) is valid")
        continue
      }
      #expect(reason.hasPrefix("AMBIT_HUB: "))
    }
    #expect(HubSessionProvider.provider(for: .off) == nil)
  }

  @Test("an invalid setting is a radio that can't be used, with the reason")
  func invalidSetting() async throws {
    let provider = HubSessionProvider(problem: .unsupported("no hub"), logger: .silent)
    let client = SessionLog(provider)
    #expect(await client.next() == .stateChanged(.unsupported))
    client.session.send(.addService(ServiceDefinition(uuid: 0x180D), Self.token))
    #expect(await client.next() == .completed(Self.token, .failure(.unsupported("no hub"))))
    #expect(provider.problem == "no hub" && !provider.isSimulated)
  }
}

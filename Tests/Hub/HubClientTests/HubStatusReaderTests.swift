import BluetoothHost
import BluetoothInterface
import Essentials
import EventLoop
import Foundation
import HubClientMachines
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Synchronization
import Testing

@testable import HubClient

@Suite("Asking a hub for its state", .timeLimit(.minutes(5)))
struct HubStatusReaderTests {
  private let path = TestHub.makePath()

  /// Longer than a busy machine needs for an answer.
  private static let ample = TimeSpan.seconds(50)

  /// The reason why a hub that answers so has no state; nil if it has one.
  private func failure(
    within limit: TimeSpan = ample,
    _ answer: @escaping @Sendable (AppMessage, TestHub.Connection) -> Void
  ) async throws -> HubFailure? {
    let hub = try await TestHub.start(at: path, onMessage: answer)
    var failure: HubFailure?
    do throws(HubFailure) {
      _ = try await HubStatusReader.read(at: path, within: limit)
    } catch { failure = error }
    await hub.kill()
    return failure
  }

  private static let state = HubStatus(
    version: "1.2.3", processID: 1, uptime: .zero,
    radio: HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false))
  private static let welcome = HubMessage.welcome(
    HubWelcome(version: 1, abilities: .status, isSimulated: false))

  @Test("the state of a running hub is read, and its connection ends")
  func running() async throws {
    SimulatedRadio.install()
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), host, version: "1.2.3") {
      report.yield($0)
    }
    let state = try await HubStatusReader.read(at: path, within: Self.ample)
    #expect(state.version == "1.2.3" && state.radio.isSimulated && state.programs.isEmpty)
    for await case .closed(_, let app, let refusal) in reports {
      #expect(app == "ambit hub status of user \(geteuid())" && refusal == nil)
      break
    }
    await server.close()
    await host.close()
    try? FileManager.default.removeItem(atPath: path + ".lock")
  }

  @Test("a path without a hub has no state, with the reason")
  func absent() async {
    let expected = HubFailure.notReached(.transport("There is no hub at \(path)."))
    await #expect(throws: expected) { try await HubStatusReader.read(at: path) }
  }

  @Test("a hub that doesn't answer is left when the time is over")
  func silent() async throws {
    #expect(try await failure(within: .milliseconds(200)) { _, _ in } == .silent)
    let half = try await failure(within: .milliseconds(200)) { message, connection in
      if case .greeting = message { connection.send(Self.welcome) }
    }
    #expect(half == .silent)
  }

  /// The state that a reader gets whose loop is stopped from before the answer until after the limit; nil if it
  /// had no answer, as its question may come too late for so short a limit.
  private func stateAfterStop(_ limit: TimeSpan) async throws -> HubStatus? {
    let loop = EpollLoop()
    let hub = try await TestHub.start(at: path) { message, connection in
      guard case .greeting = message else { return }
      let (isStopped, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      loop.execute {
        isStopped.signal()
        mayGoOn.wait()
      }
      isStopped.wait()
      connection.send(Self.welcome)
      connection.send(.status(1, Self.state))
      let end = Instant.now + limit
      while Instant.now <= end { poll(nil, 0, 1) }
      mayGoOn.signal()
    }
    let state = try? await HubStatusReader.read(at: path, within: limit, on: loop)
    await hub.kill()
    return state
  }

  @Test("an answer that came while this process was stopped is read when it goes on")
  func stopped() async throws {
    var limit = TimeSpan.milliseconds(50)
    var state: HubStatus?
    while state == nil, limit < .seconds(10) {
      state = try await stateAfterStop(limit)
      limit = limit * 2
    }
    #expect(state?.version == "1.2.3")
  }

  @Test("a hub without the ability is not asked")
  func earlier() async throws {
    let counter = MessageCount()
    let failure = try await failure { message, connection in
      counter.add()
      if case .greeting = message { connection.send(.accepted) }
    }
    #expect(failure == .noStatus && counter.value == 1)
  }

  @Test("a refusal is the reason")
  func refused() async throws {
    let refusal = HubRefusal(.denied, "Not you.")
    let failure = try await failure { _, connection in connection.send(.refusal(refusal)) }
    #expect(failure == .refused(refusal))
  }

  /// A moment, and not the usual pause.
  private static let moment = TimeSpan.milliseconds(1)

  @Test("the states of a hub follow one another on one connection, with one question at a time")
  func following() async throws {
    let (greetings, questions) = (MessageCount(), MessageCount())
    let hub = try await TestHub.start(at: path) { message, connection in
      switch message {
      case .greeting:
        greetings.add()
        connection.send(Self.welcome)
      case .status(let number):
        questions.add()
        #expect(Int(number) == questions.value)
        connection.send(.status(number, Self.state))
      default: Issue.record("an unexpected message: \(message)")
      }
    }
    var answerCount = 0
    for await result in HubStatusReader.states(
      for: "page", at: path, within: Self.ample, pause: Self.moment)
    {
      #expect((try? result.get()) == Self.state)
      answerCount += 1
      if answerCount == 5 { break }
    }
    #expect(greetings.value == 1 && questions.value >= 5)
    await hub.kill()
  }

  @Test("a hub that ends is reported with the reason, and read again when it is back")
  func restarting() async throws {
    let answer: @Sendable (AppMessage, TestHub.Connection) -> Void = { message, connection in
      if case .greeting = message { connection.send(Self.welcome) }
      if case .status(let number) = message { connection.send(.status(number, Self.state)) }
    }
    var hub = try await TestHub.start(at: path, onMessage: answer)
    var steps = HubStatusReader.states(
      for: "page", at: path, within: Self.ample, pause: Self.moment
    )
    .makeAsyncIterator()
    #expect(try await steps.next()?.get() == Self.state)
    await hub.kill()
    var failure: HubFailure?
    while failure == nil, let result = await steps.next() {
      do throws(HubFailure) { _ = try result.get() } catch { failure = error }
    }
    #expect(failure == .ended || failure == .notReached(.transport("There is no hub at \(path).")))
    hub = try await TestHub.start(at: path, onMessage: answer)
    var state: HubStatus?
    while state == nil, let result = await steps.next() { state = try? result.get() }
    #expect(state == Self.state)
    await hub.kill()
  }

  @Test("a hub that answers once and then no longer is reported as silent")
  func fallingSilent() async throws {
    let hub = try await TestHub.start(at: path) { message, connection in
      if case .greeting = message { connection.send(Self.welcome) }
      if message == .status(1) { connection.send(.status(1, Self.state)) }
    }
    var failures: [HubFailure] = []
    var hasAnswered = false
    let limit = TimeSpan.milliseconds(300)
    for await result in HubStatusReader.states(
      for: "page", at: path, within: limit, pause: Self.moment)
    {
      do throws(HubFailure) {
        _ = try result.get()
        hasAnswered = true
      } catch { failures.append(error) }
      // A busy machine may be late with the first answer, too.
      if hasAnswered, !failures.isEmpty { break }
    }
    #expect(failures.allSatisfy { $0 == .silent })
    await hub.kill()
  }

  @Test("an answer without a question, another number, events and garbage are not believed")
  func hostile() async throws {
    let early = try await failure { _, connection in connection.send(.status(1, Self.state)) }
    #expect(early == .unexpected("an answer to no question about the hub"))
    let other = try await failure { message, connection in
      connection.send(message == .status(1) ? .status(2, Self.state) : Self.welcome)
    }
    #expect(other == .unexpected("an answer to no question about the hub"))
    let pong = try await failure { _, connection in connection.send(.pong(1)) }
    #expect(pong == .unexpected("an answer to no ping"))
    let garbage = try await failure { _, connection in
      connection.send(bytes: [UInt8](repeating: 0xFF, count: 100))
    }
    #expect(garbage == .invalidMessage(.invalidLength(0xFFFF_FFFF)))
  }
}

/// How many messages a hub got.
private final class MessageCount: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock(\.self) }
  func add() { count.withLock { $0 += 1 } }
}

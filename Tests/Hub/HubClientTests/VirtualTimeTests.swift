import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Dispatch
import Essentials
import EventLoop
import Foundation
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Synchronization
import Testing

@testable import HubClient

/// A client of a radio with virtual time, which notes its events with their times.
private protocol VirtualClient: Sendable {
  init()
  var lines: [String] { get }
  func begin(_ provider: any HostSessionProvider)
  func end()
}

/// A client with timers that are due at once, and timers that others cancel at their time.
private final class TimerClient: VirtualClient {
  private let state = Mutex<(lines: [String], session: (any HostSession)?)>(([], nil))

  var lines: [String] { state.withLock(\.lines) }

  func begin(_ provider: any HostSessionProvider) {
    let session = provider.openSession(
      name: "", acknowledgesEvents: true, settle: {},
      onEvents: { [self] events in
        guard let session = state.withLock(\.session) else { return }
        if events.contains(.stateChanged(.poweredOn)) { setTimers(session.loop) }
        session.eventsHandled(events.count)
      })
    state.withLock { $0.session = session }
  }

  func end() { state.withLock { $0.session.take() }?.close() }

  private func after(
    _ span: TimeSpan, _ text: String, _ loop: any SessionLoop,
    _ body: @escaping @Sendable () -> Void = {}
  ) -> any LoopTimer {
    let timer = loop.makeTimer { [self] in
      state.withLock { $0.lines.append("\(loop.now.nanoseconds) \(text)") }
      body()
    }
    timer.set(loop.now + span)
    return timer
  }

  private func setTimers(_ loop: any SessionLoop) {
    _ = after(.zero, "at once", loop) { [self] in
      _ = after(.zero, "at once again", loop) { [self] in
        _ = after(.seconds(2), "after 2 s", loop)
      }
    }
    after(.zero, "cancelled at once", loop).cancel()
    let late = after(.seconds(5), "set again", loop)
    late.set(loop.now)
    let box = TimerBox()
    _ = after(.seconds(1), "the first of two", loop) { box.cancel() }
    box.set(after(.seconds(1), "the second of two", loop))
  }

  /// A timer for another one's closure.
  private final class TimerBox: @unchecked Sendable {
    // Sendable because it is used on the timer's loop only.
    private var timer: (any LoopTimer)?
    func set(_ timer: any LoopTimer) { self.timer = timer }
    func cancel() { timer?.cancel() }
  }
}

/// A client that handles its events on a queue, and notes them with their virtual times.
private final class Witness: VirtualClient {
  private static let token = RequestToken(rawValue: 1)

  private let queue = DispatchQueue(label: "witness")
  private let state = Mutex(State())

  private struct State {
    var lines: [String] = []
    var session: (any HostSession)?
    var peer: DeviceAddress?
    var readCount: UInt64 = 0
  }

  var lines: [String] { state.withLock(\.lines) }

  private var session: (any HostSession)? { state.withLock(\.session) }

  func begin(_ provider: any HostSessionProvider) {
    let session = provider.openSession(
      name: "", acknowledgesEvents: true, settle: { [queue] in queue.sync {} },
      onEvents: { [self] events in
        guard let session = self.session else { return }
        let now = session.loop.now
        queue.async { [self] in
          for event in events { handle(event, session, now) }
          session.eventsHandled(events.count)
        }
      })
    state.withLock { $0.session = session }
  }

  func end() { state.withLock { $0.session.take() }?.close() }

  private func note(_ text: String, _ now: Instant) {
    state.withLock { $0.lines.append("\(now.nanoseconds) \(text)") }
  }

  private func handle(_ event: HostEvent, _ session: any HostSession, _ now: Instant) {
    switch event {
    case .stateChanged(.poweredOn):
      note("on", now)
      session.send(.startScan(ScanOptions()))
    case .discovered(let report):
      guard state.withLock({ $0.peer.replaced(by: report.address) }) else { return }
      note("discovered", now)
      session.send(.stopScan)
      session.send(.connect(report.address, ConnectOptions()))
    case .linkOpened(let link):
      note("opened", now)
      read(link.peer, session)
    case .completed(_, let result):
      note("read \((try? result.get()) != nil)", now)
      // After ten seconds, by a timer of the session's loop.
      session.loop.execute { [self] in
        let timer = session.loop.makeTimer { [self] in
          note("timer", session.loop.now)
          queue.async { [self] in
            if let peer = state.withLock(\.peer) { read(peer, session) }
          }
          session.hasWork()
        }
        timer.set(session.loop.now + .seconds(10))
      }
    case .linkClosed: note("closed", now)
    default: break
    }
  }

  private func read(_ peer: DeviceAddress, _ session: any HostSession) {
    let number = state.withLock { state in
      state.readCount += 1
      return state.readCount
    }
    session.send(.readRSSI(peer, RequestToken(rawValue: number)))
  }
}

extension Optional {
  /// Takes the first value.
  fileprivate mutating func replaced(by value: Wrapped) -> Bool {
    guard self == nil else { return false }
    self = value
    return true
  }
}

@Suite("Virtual time through a hub", .timeLimit(.minutes(5)))
struct VirtualTimeTests {
  /// A radio with a phone and a strap that advertises.
  private static func makeRadio() -> (radio: VirtualRadio, phone: BluetoothHost, HostClient) {
    let radio = VirtualRadio(seed: 7)
    let phone = radio.makeHost(name: "phone")
    let strap = radio.makeHost(name: "strap")
    let client = strap.makeClient { _ in }
    radio.advance(by: .seconds(1))
    var options = AdvertisingOptions()
    options.data = [2, 1, 6]
    client.send(.startAdvertising(options, RequestToken(rawValue: 1)))
    return (radio, phone, client)
  }

  private static func inProcess<Client: VirtualClient>(_: Client.Type) -> [String] {
    let (radio, phone, client) = makeRadio()
    let witness = Client()
    witness.begin(phone)
    radio.advance(by: .seconds(60))
    witness.end()
    client.close()
    return witness.lines
  }

  private static func throughHub<Client: VirtualClient>(_: Client.Type) async throws -> [String] {
    let (radio, phone, client) = makeRadio()
    let path = TestHub.makePath()
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), phone, on: EpollLoop()) {
      report.yield($0)
    }
    let provider = HubSessionProvider(path: path, app: "witness")
    let witness = Client()
    witness.begin(provider)
    for await case .opened in reports { break }
    await server.settle()
    radio.advance(by: .seconds(60))
    witness.end()
    await provider.close()
    await server.close()
    client.close()
    try? FileManager.default.removeItem(atPath: path + ".lock")
    return witness.lines
  }

  @Test(
    "a client sees the same at the same times as in the process: time waits for its queue and timers"
  )
  func same() async throws {
    let expected = Self.inProcess(Witness.self)
    #expect(expected.count { $0.hasSuffix("read true") } >= 5, "\(expected)")
    #expect(try await Self.throughHub(Witness.self) == expected)
    #expect(try await Self.throughHub(Witness.self) == expected)
  }

  @Test(
    "timers that are due at once fire at their time, and one that another cancels then does not")
  func timers() async throws {
    let expected = Self.inProcess(TimerClient.self)
    #expect(
      expected.map { $0.split(separator: " ", maxSplits: 1)[1] } == [
        "at once", "set again", "at once again", "the first of two", "after 2 s",
      ])
    #expect(try await Self.throughHub(TimerClient.self) == expected)
  }
}

@Suite("The clock of a hub's radio", .timeLimit(.minutes(5)))
struct HubClockTests {
  private static let noon = Instant.zero + .seconds(43_200)

  /// Runs something on a loop, and returns its result.
  private func onLoop<Result: Sendable>(
    _ body: @escaping @Sendable (HubLoop, CheckedContinuation<Result, Never>) -> Void
  ) async -> Result {
    let loop = EpollLoop()
    return await withCheckedContinuation { continuation in
      loop.execute { body(HubLoop(loop: loop, clock: HubClock()), continuation) }
    }
  }

  @Test(
    "after an outage, timers wait for the virtual time of the next hub, and no more by the wall's")
  func outage() async {
    let lines: [String] = await onLoop { hub, continuation in
      let lines = Lines()
      hub.clock.advance(to: Self.noon)
      let early = hub.makeTimer { lines.append("early") }
      early.set(Self.noon + .milliseconds(1))
      let late = hub.makeTimer { lines.append("late") }
      late.set(Self.noon + .milliseconds(2))
      hub.clock.becomeReal()
      let between = hub.makeTimer { lines.append("set between") }
      between.set(hub.now + .milliseconds(3))
      hub.clock.advance(to: Self.noon)
      late.set(Self.noon + .seconds(10))
      // A timer of the wall's clock that is set last and for a later time fires last.
      hub.loop.schedule(in: .milliseconds(30)) {
        lines.append("real")
        for seconds: Int64 in [1, 9, 11, 20] {
          hub.clock.advance(to: Self.noon + .seconds(seconds))
          while let timer = hub.clock.takeFirstDue(upTo: .max) { timer.onFire() }
          lines.append("\(seconds)")
        }
        withExtendedLifetime([early, late, between]) { continuation.resume(returning: lines.all) }
      }
    }
    #expect(lines == ["real", "early", "set between", "1", "9", "late", "11", "20"])
  }

  @Test("a timer of a hub with the wall's time moves to the virtual time of the next hub, once")
  func afterReal() async {
    let lines: [String] = await onLoop { hub, continuation in
      let lines = Lines()
      let timer = hub.makeTimer { lines.append("fired") }
      hub.clock.becomeReal()
      timer.set(hub.now + .milliseconds(1))
      hub.loop.schedule(in: .milliseconds(30)) {
        // It has fired, and is forgotten.
        hub.clock.advance(to: Self.noon)
        lines.append(hub.clock.firstTimer == nil ? "none" : "left")
        timer.cancel()
        hub.clock.becomeReal()
        timer.set(hub.now + .seconds(100))
        hub.clock.advance(to: Self.noon)
        let first = hub.clock.firstTimer.map { $0 - Self.noon }
        lines.append(first.map { $0 > .zero && $0 <= .seconds(100) } == true ? "waits" : "lost")
        timer.cancel()
        continuation.resume(returning: lines.all)
      }
    }
    #expect(lines == ["fired", "none", "waits"])
  }

  /// Lines that are noted on a loop.
  private final class Lines: @unchecked Sendable {
    // Sendable because it is used on one loop only.
    private(set) var all: [String] = []
    func append(_ line: String) { all.append(line) }
  }
}

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

/// A client that handles its events on a queue, and notes what it sees at which virtual time.
private final class Witness: Sendable {
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

  private static func inProcess() -> [String] {
    let (radio, phone, client) = makeRadio()
    let witness = Witness()
    witness.begin(phone)
    radio.advance(by: .seconds(60))
    witness.end()
    client.close()
    return witness.lines
  }

  private static func throughHub() async throws -> [String] {
    let (radio, phone, client) = makeRadio()
    let path = TestHub.makePath()
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), phone, on: EpollLoop()) {
      report.yield($0)
    }
    let provider = HubSessionProvider(path: path, app: "witness")
    let witness = Witness()
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
    let expected = Self.inProcess()
    #expect(expected.count { $0.hasSuffix("read true") } >= 5, "\(expected)")
    #expect(try await Self.throughHub() == expected)
    #expect(try await Self.throughHub() == expected)
  }
}

import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

/// For the hub, a machine that was suspended is a time in which nothing happened.
@Suite("A hub whose machine was suspended")
struct SuspendedHubTests {
  private var hub = TestHub()

  @Test("programs that were connected are served as before, and what was kept for too long ends")
  mutating func resumed() throws {
    let running = try hub.serve("guide")
    try hub.send(.startScan(ScanOptions()), from: running)
    let ended = hub.connect()
    let opening = SessionOpening(
      id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: "central:lock",
      keptFor: .seconds(3_600))
    try hub.send(
      .greeting(HubGreeting(app: "lock", abilities: [.bluetooth, .identity], openings: [opening])),
      from: ended)
    try hub.send(.startScan(ScanOptions()), from: ended)
    hub.handle(.disconnected(ended))
    _ = hub.takeActions()

    hub.now = hub.now + .seconds(86_400)
    hub.handle(.wake)
    #expect(hub.takeActions() == [.closeSession(HubSessionKey(ended))])
    try hub.send(.ping(7), from: running)
    #expect(try hub.messages(for: running).last == .pong(7))
    try hub.send(.stopScan, from: running)
    #expect(hub.takeActions().contains(.send(HubSessionKey(running), .stopScan)))
    #expect(hub.machine.counts.refusedCount == 0)
  }

  @Test("a greeting that arrived before the suspension ends is read before its time is over")
  mutating func greeting() throws {
    let id = hub.connect()
    let silent = hub.connect()
    hub.now = hub.now + .seconds(86_400)
    // The driver reads its sockets before it wakes the machine.
    try hub.send(.greeting(HubGreeting(app: "guide", abilities: .bluetooth)), from: id)
    hub.handle(.wake)
    guard case .welcome? = try hub.messages(for: id).first else {
      Issue.record("the program is not welcome")
      return
    }
    #expect(try hub.refusal(of: silent) == .invalidMessage)
    #expect(hub.machine.counts.connectionCount == 1)
  }
}

import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

/// A hub that is away for a moment, of whose radio its program hears nothing else.
@Suite struct OutageTests {
  private static func rig() -> MachineRig {
    var rig = MachineRig()
    rig.machine = HubClientMachine(app: "test", outage: .seconds(30))
    rig.openSession(MachineRig.one)
    rig.connect()
    rig.hub(.stateChanged(.poweredOn))
    rig.request(.connect(MachineRig.peer, ConnectOptions()))
    _ = rig.takeEvents()
    return rig
  }

  private func states(_ rig: inout MachineRig) -> [RadioState] {
    rig.takeEvents().compactMap { if case .stateChanged(let state) = $0 { state } else { nil } }
  }

  @Test func `A pending connection goes on with the next hub, and the state is the same`() {
    var rig = Self.rig()
    rig.handle(.closed(.ended))
    for _ in 0..<5 {
      rig.sleep(.seconds(1))
      rig.handle(.closed(.notReached(.radioNotReady)))
    }
    rig.sleep(.seconds(2))
    rig.connect()
    #expect(
      rig.takeSent().contains(
        .request(MachineRig.one, .known(.connect(MachineRig.peer, ConnectOptions())))))
    rig.hub(.stateChanged(.unknown), .stateChanged(.poweredOn))
    #expect(states(&rig).isEmpty)
  }

  @Test func `A next hub that is busy has the time of the outage for its first answer`() {
    var rig = Self.rig()
    rig.handle(.closed(.ended))
    rig.sleep(.seconds(1))
    rig.handle(.opened)
    rig.sleep(.seconds(20))
    rig.hub(
      .welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: false)))
    #expect(
      rig.takeSent().contains(
        .request(MachineRig.one, .known(.connect(MachineRig.peer, ConnectOptions())))))
    rig.hub(.stateChanged(.poweredOn))
    #expect(states(&rig).isEmpty)
  }

  @Test func `An established link has ended at once`() {
    var rig = Self.rig()
    rig.hub(.connected(MachineRig.peer))
    _ = rig.takeEvents()
    rig.handle(.closed(.ended))
    let events = rig.takeEvents()
    #expect(events.contains { if case .disconnected = $0 { true } else { false } })
    #expect(!events.contains { if case .stateChanged = $0 { true } else { false } })
  }

  @Test
  func `Centrals have left with a hub, and are subscribed when they subscribe to the next one`() {
    var rig = Self.rig()
    rig.hub(.subscribed(MachineRig.peer, handle: 5))
    _ = rig.takeEvents()
    rig.handle(.closed(.ended))
    #expect(rig.takeEvents().contains(.unsubscribed(MachineRig.peer, handle: 5)))
    rig.sleep(.seconds(1))
    rig.connect()
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeEvents().isEmpty)
    rig.hub(.subscribed(MachineRig.peer, handle: 5))
    #expect(rig.takeEvents() == [.subscribed(MachineRig.peer, handle: 5)])
  }

  @Test func `A hub that stays away is a radio that is gone`() {
    var rig = Self.rig()
    rig.handle(.closed(.ended))
    for _ in 0..<40 {
      rig.sleep(.seconds(1))
      rig.handle(.closed(.notReached(.radioNotReady)))
    }
    #expect(states(&rig).count == 1)
  }

  @Test func `The next hub's radio is off, and its program hears that`() {
    var rig = Self.rig()
    rig.restartHub()
    rig.hub(.stateChanged(.unknown), .stateChanged(.poweredOff))
    #expect(states(&rig) == [.poweredOff])
  }

  @Test func `Without an outage a hub that is gone is a radio that is gone`() {
    var rig = MachineRig.connected()
    _ = rig.takeEvents()
    rig.handle(.closed(.ended))
    #expect(states(&rig).count == 1)
  }
}

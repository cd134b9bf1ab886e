import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

@Suite("An app whose hub has virtual time")
struct VirtualTimeTests {
  private static let abilities: HubAbilities = [.bluetooth, .virtualTime]
  private static let noon = Instant.zero + .seconds(43_200)

  private static func connected(_ abilities: HubAbilities) -> MachineRig {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.connect(abilities)
    return rig
  }

  @Test(
    "the time precedes the events of it, the question follows them, and the answer follows the requests"
  )
  func order() {
    var rig = Self.connected(Self.abilities)
    var writer = HubFrameWriter()
    let events = HubEvents([.stateChanged(.poweredOn)])
    for message in [
      HubMessage.time(Self.noon), .events(MachineRig.one, events), .settle(7),
    ] {
      #expect(throws: Never.self) { try writer.append(message) }
    }
    var actions: [HubClientMachine.Action] = []
    rig.machine.handle(.received(writer.takeBytes()), now: rig.now, into: &actions)
    #expect(
      actions == [
        .time(Self.noon), .deliver(MachineRig.one, [.stateChanged(.poweredOn)]), .settle(7),
      ])
    rig.sent = []
    rig.request(.stopScan)
    rig.handle(.hasWork(MachineRig.one))
    rig.handle(.settled(7, wake: Self.noon))
    #expect(
      rig.sent == [
        .request(MachineRig.one, .known(.stopScan)), .hasWork(MachineRig.one),
        .settled(7, wake: Self.noon),
      ])
  }

  @Test(
    "a hub of real time is not told of work, and is left when it has a virtual time nevertheless")
  func real() {
    for message in [HubMessage.time(Self.noon), .settle(7)] {
      var rig = Self.connected(.bluetooth)
      rig.sent = []
      rig.handle(.hasWork(MachineRig.one))
      rig.handle(.settled(7, wake: nil))
      #expect(rig.sent.isEmpty)
      rig.hub(message)
      #expect(
        rig.actions.contains(.failed(.unexpected("virtual time, which it had not announced"))))
    }
  }

  @Test("an answer for a hub that is gone is sent to no other one")
  func gone() {
    var rig = Self.connected(Self.abilities)
    rig.hub(.settle(7))
    rig.handle(.closed(.ended))
    rig.sent = []
    rig.handle(.settled(7, wake: nil))
    #expect(rig.sent.isEmpty)
  }
}

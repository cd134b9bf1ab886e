import BluetoothInterface
import HubWire
import Testing

@testable import HubClientMachines

@Suite("The names of sessions")
struct SessionNameTests {
  @Test("a session keeps its name in the greeting, behind it, and with the next hub")
  func names() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one, name: "central:lock")
    rig.handle(.opened)
    rig.openSession(MachineRig.two, name: "location")
    rig.hub(.welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: false)))
    let third = HubSessionID(rawValue: 3)
    rig.openSession(third)
    let openings = [
      SessionOpening(id: MachineRig.one, acknowledgesEvents: true, manager: "central:lock"),
      SessionOpening(id: MachineRig.two, acknowledgesEvents: true, manager: "location"),
      SessionOpening(id: third, acknowledgesEvents: true),
    ]
    #expect(rig.takeOpenings() == openings)
    rig.restartHub()
    #expect(rig.takeOpenings() == openings)
  }

  @Test("a name that no message has room for is left out, which is reported")
  func longName() {
    let longest = String(repeating: "x", count: HubProtocol.textByteCountMax)
    var rig = MachineRig()
    // The greeting has room for the longest names of all sessions that it opens.
    let count = UInt64(HubProtocol.openingCountMax)
    for number in 1...count { rig.openSession(HubSessionID(rawValue: number), name: longest) }
    #expect(rig.actions == [.open])
    rig.handle(.opened)
    rig.hub(.welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: false)))
    #expect(rig.takeOpenings().map(\.manager) == Array(repeating: longest, count: Int(count)))
    rig.actions = []
    rig.openSession(HubSessionID(rawValue: count + 1), name: longest + "x")
    #expect(rig.takeOpenings().map(\.manager) == [""])
    #expect(
      rig.actions == [
        .lost(
          "The hub doesn't know a manager by its restore identifier, which has more than 1024 bytes."
        )
      ])
  }
}

import BluetoothInterface
import Essentials
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

  private static let holder = SessionAttachment(holdsName: true, keptFor: .zero)

  @Test("the hub's answer to the opening of a session is taken, once in each connection")
  func attachment() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one, name: "location")
    rig.connect()
    for number in 1...2 {
      #expect(rig.machine.sessions[MachineRig.one]?.attachment == nil)
      rig.hub(.attached(MachineRig.one, Self.holder))
      #expect(rig.machine.sessions[MachineRig.one]?.attachment == Self.holder)
      #expect(rig.failures.count == number - 1)
      rig.restartHub()
    }
    rig.hub(.attached(MachineRig.one, Self.holder))
    rig.hub(.attached(MachineRig.one, Self.holder))
    #expect(rig.failures.last == .unexpected("an answer to no opening"))
  }

  @Test("the answer for a session that was closed meanwhile is ignored")
  func lateAttachment() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one, name: "location")
    rig.openSession(MachineRig.two)
    rig.connect()
    rig.handle(.sessionClosed(MachineRig.one))
    rig.hub(.attached(MachineRig.one, Self.holder))
    #expect(rig.failures.isEmpty)
  }

  @Test("an answer to no opening of a session with a name, and one that keeps it, are not believed")
  func hostileAttachment() {
    let kept = SessionAttachment(holdsName: true, keptFor: .seconds(1))
    let cases = [
      (HubSessionID(rawValue: 9), Self.holder), (MachineRig.two, Self.holder),
      (MachineRig.one, kept),
    ]
    for (id, attachment) in cases {
      var rig = MachineRig()
      rig.openSession(MachineRig.one, name: "location")
      rig.openSession(MachineRig.two)
      rig.connect()
      rig.hub(.attached(id, attachment))
      #expect(rig.failures == [.unexpected("an answer to no opening")])
    }
    var early = MachineRig()
    early.openSession(MachineRig.one, name: "location")
    early.handle(.opened)
    early.hub(.attached(MachineRig.one, Self.holder))
    #expect(early.failures == [.unexpected("an answer to an opening before the welcome")])
  }
}

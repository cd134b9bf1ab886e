import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("A host that looks for more peers than the filter accept list of its controller has entries")
struct ConnectingTurnsTests {
  /// The entries of the scripted controller's list.
  private static let listSize = 8

  /// A host with forty wanted peers, in the middle of a turn, and the commands since its last one.
  private func host(_ faults: [HCIOpcode: ScriptedController.Fault] = [:]) -> HostRig {
    var rig = HostRig.started()
    rig.controller.faults = faults
    for number in 1...40 { rig.request(.connect(.peer(UInt64(number)), ConnectOptions())) }
    // The first attempt is for the first peer alone.
    for _ in 0..<8 { pass(.milliseconds(500), &rig) }
    rig.controller.received = []
    return rig
  }

  /// Lets time pass, and answers a cancel as a controller does.
  private func pass(_ span: TimeSpan, _ rig: inout HostRig) {
    rig.pass(span)
    guard rig.controller.opcodes.last == .leCreateConnectionCancel else { return }
    rig.event(
      LEConnectionComplete(
        status: .unknownConnection, handle: 0, role: .central,
        peer: PeerAddress(DeviceAddress(bits: 0, kind: .public)), timing: .usual))
  }

  private func count(_ opcode: HCIOpcode, _ rig: HostRig) -> Int {
    rig.controller.opcodes.count { $0 == opcode }
  }

  @Test func `A turn begins with one command for the peers of the last one`() {
    var rig = host()
    for _ in 0..<6 { pass(.milliseconds(500), &rig) }
    #expect(count(.leClearFilterAcceptList, rig) == 1)
    #expect(count(.leRemoveDeviceFromFilterAcceptList, rig) == 0)
    #expect(count(.leAddDeviceToFilterAcceptList, rig) == Self.listSize)
    #expect(count(.leCreateConnection, rig) == 1)
    #expect(rig.controller.opcodes.count == Self.listSize + 3)
  }

  @Test func `A controller that refuses to clear its list is told to remove the peers one by one`()
  {
    var rig = host([.leClearFilterAcceptList: .status(.unknownCommand)])
    for _ in 0..<12 { pass(.milliseconds(500), &rig) }
    #expect(count(.leClearFilterAcceptList, rig) == 0)
    #expect(count(.leRemoveDeviceFromFilterAcceptList, rig) == 2 * Self.listSize)
    #expect(count(.leCreateConnection, rig) == 2)
  }

  @Test func `A peer that is given up leaves its place in the turn at once`() throws {
    var rig = host()
    for _ in 0..<6 { pass(.milliseconds(500), &rig) }
    let listed = rig.controller.received.compactMap {
      try? $0.decode(as: LEAddDeviceToFilterAcceptList.self).address
    }
    let peer = try #require(listed.first)
    rig.controller.received = []
    rig.request(.disconnect(peer))
    pass(.zero, &rig)
    #expect(
      rig.controller.last(LERemoveDeviceFromFilterAcceptList.self)?.address == peer)
    #expect(count(.leRemoveDeviceFromFilterAcceptList, rig) == 1)
    #expect(count(.leAddDeviceToFilterAcceptList, rig) == 1)
  }

  @Test func `A peer that is wanted while a turn goes on has its turn after the others`() {
    var rig = host()
    rig.request(.connect(.peer(41), ConnectOptions()))
    for _ in 0..<40 { pass(.milliseconds(500), &rig) }
    let listed = rig.controller.received.compactMap {
      try? $0.decode(as: LEAddDeviceToFilterAcceptList.self).address
    }
    #expect(Set(listed).count == 41)
    #expect(listed.contains(.peer(41)))
  }
}

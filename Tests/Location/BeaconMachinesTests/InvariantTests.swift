import BluetoothWire
import Essentials
import Testing

@testable import BeaconMachines

@Suite("The invariants of ranging and monitoring")
struct InvariantTests {
  private let all = BeaconConstraint(uuid: museum)

  /// One beacon under two addresses.
  private func ranging() throws -> RangingHost {
    var host = try RangingHost([all])
    host.hear(sighting(address: 1))
    host.run(for: 1)
    host.hear(sighting(address: 2))
    #expect(host.machine.violations() == [])
    #expect(host.machine.table[0]?.successor == 1)
    return host
  }

  @Test("a track whose successor has another predecessor is found")
  func successor() throws {
    var host = try ranging()
    host.machine.table.update(1) { $0.predecessor = nil }
    #expect(host.machine.violations() == ["the successor of slot 0 has another predecessor"])
  }

  @Test("a track that its identity doesn't lead to is found")
  func lost() throws {
    var host = try ranging()
    host.machine.table.update(1) { $0.next = nil }
    #expect(host.machine.violations() == ["slot 0 is not among those of its identity"])
  }

  @Test("a free slot that is in use, and tracks that nothing ranges, are found")
  func free() throws {
    var host = try ranging()
    host.machine.ranged = []
    #expect(
      host.machine.violations() == ["slot 0 is of no constraint", "slot 1 is of no constraint"])
    host = try ranging()
    host.machine.table.freeSlots = [0, 1]
    #expect(host.machine.violations() == ["1 identities have 0 tracks"])
  }

  @Test("a region that is inside without an enter is found")
  func region() throws {
    let hall = BeaconRegion(identifier: "hall", constraint: all)
    var host = try MonitoringHost([hall])
    host.handle(.sighted(sighting()))
    #expect(host.monitor.violations() == [])
    host.monitor.monitored[0].isEntered = false
    #expect(host.monitor.violations() == ["hall is inside, but was not entered"])
    host.monitor.monitored[0].isEntered = true
    host.monitor.monitored.append(host.monitor.monitored[0])
    #expect(host.monitor.violations() == ["two regions have one name"])
  }

  @Test("a room that was entered without a reading is found")
  func room() {
    var monitor = RoomMonitor()
    monitor.improbableSince = .zero
    monitor.candidate = ("a", monitor.settings.enterCount)
    #expect(
      monitor.violations()
        == ["the candidate has \(monitor.settings.enterCount) fixes", "no room is improbable"])
  }
}

import BluetoothInterface
import Essentials

@testable import HubWire

// What was added to the state of a hub: units, programs of Multicast DNS, and refusals.
extension Version1 {
  static var networkStates: [String: HubMessage] {
    var status = HubStatus(
      version: "", processID: 0, uptime: .zero,
      radio: HubStatus.Radio(name: "none", state: .poweredOff, isSimulated: true))
    var unit = status
    unit.programs = [
      HubStatus.Program(connection: 300, app: "Lamp", processID: 77, userID: 1_000, age: .zero)
    ]
    unit.programs[0].unit = "lamp.service"
    var network = HubStatus.NetworkProgram(processID: 77, userID: 1_000, name: "Lamp")
    network.serviceCount = 1
    network.recordCount = 2
    network.browserCount = 3
    network.queryCount = 4
    network.waitingByteCount = 300
    status.networkPrograms = [network]
    var refusals = status
    refusals.networkPrograms = []
    refusals.counts.refusals.shortenedKeepingCount = 1
    refusals.counts.refusals.unkeptSessionCount = 2
    refusals.counts.refusals.networkConnectionCount = 3
    refusals.counts.refusals.networkRequestCount = 4
    refusals.counts.refusals.otherNetworkProgramCount = 5
    var problem = status
    problem.networkPrograms = []
    problem.networkProblem = "Old units."
    return [
      "statusWithNetworkProblem": .status(1, problem), "statusWithUnit": .status(1, unit),
      "statusWithNetwork": .status(1, status),
      "statusWithRefusals": .status(1, refusals),
    ]
  }

  /// What was added behind that: shortages of descriptors, and the file of the hub's bonds.
  static var bondStates: [String: HubMessage] {
    var shortage = HubStatus(
      version: "", processID: 0, uptime: .zero,
      radio: HubStatus.Radio(name: "none", state: .poweredOff, isSimulated: true))
    var bonds = shortage
    bonds.bondFile = HubStatus.BondFile(
      path: "/var/lib/ambit/bonds", problem: "Full disk.", bondCount: 3)
    shortage.counts.refusals.descriptorShortageCount = 6
    return ["statusWithShortage": .status(1, shortage), "statusWithBonds": .status(1, bonds)]
  }
}

import BonjourHost
import HubMachines
import HubWire

extension HubNetworkStatus {
  /// The state of a hub's Multicast DNS, as the hub reports it.
  init(_ status: BonjourHubStatus) {
    self.init(
      programs: status.programs.map { program in
        var reported = HubWire.HubStatus.NetworkProgram(
          processID: Int(program.processID), userID: program.userID, name: program.name)
        reported.serviceCount = program.serviceCount
        reported.recordCount = program.recordCount
        reported.browserCount = program.browserCount
        reported.queryCount = program.queryCount
        reported.waitingByteCount = program.waitingByteCount
        return reported
      }, refusalCounts: status.refusalCounts, limitedRequestCount: status.limitedRequestCount)
  }
}

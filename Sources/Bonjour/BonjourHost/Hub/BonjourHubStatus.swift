import PortSharing

/// What a hub's Multicast DNS does for programs, and what it has refused.
package struct BonjourHubStatus: Hashable, Sendable {
  /// A program that is connected.
  package struct Program: Hashable, Sendable {
    /// The number of its process; 0 for one in another namespace of processes.
    package var processID: Int32
    package var userID: UInt32
    /// The name of its process, which it may choose; empty if it isn't known.
    package var name: String
    package var serviceCount: Int
    /// The number of its other records.
    package var recordCount: Int
    /// The number of its queries for services of a type.
    package var browserCount: Int
    /// The number of its other queries.
    package var queryCount: Int
    /// Bytes that wait for it.
    package var waitingByteCount: Int
  }

  /// The programs, in the order in which they connected.
  package var programs: [Program] = []
  /// Connections that were refused, or ended for a reason of the hub, by the label of each reason.
  package var refusalCounts: [String: Int] = [:]
  /// Services, records, queries and reconfirmations beyond a limit or quota.
  package var limitedRequestCount = 0
}

extension BonjourHub {
  /// The state at this moment.
  package func status() async -> BonjourHubStatus {
    await withCheckedContinuation { continuation in
      engine.onLoop { continuation.resume(returning: $0.hubStatus()) }
    }
  }
}

extension BonjourEngine {
  fileprivate func hubStatus() -> BonjourHubStatus {
    var status = BonjourHubStatus()
    guard case .owning(let ownership) = state else { return status }
    status.programs = ownership.machine.clientStatuses.map { id, client in
      let process = ownership.server.clientProcesses[id]
      return BonjourHubStatus.Program(
        processID: process?.number ?? 0, userID: client.userID, name: process?.name ?? "",
        serviceCount: client.serviceCount, recordCount: client.recordCount,
        browserCount: client.browserCount, queryCount: client.queryCount,
        waitingByteCount: ownership.server.backlogByteCount(of: id))
    }
    let refusals = ownership.machine.refusals
    for reason in OwnerMachine.Refusals.Reason.allCases {
      status.refusalCounts[reason.label] = refusals.connectionCounts[reason] ?? 0
    }
    status.limitedRequestCount = refusals.requestCount
    return status
  }
}

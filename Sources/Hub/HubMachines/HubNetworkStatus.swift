package import HubWire

/// What a hub's Multicast DNS does for programs, and what it has refused.
package struct HubNetworkStatus: Hashable, Sendable {
  /// The programs that it serves, in the order in which they connected.
  package var programs: [HubStatus.NetworkProgram]
  /// Connections that were refused, or ended for a reason of the hub, by the reason: lower-case words with
  /// underscores.
  package var refusalCounts: [String: Int]
  /// Services, records, queries and reconfirmations beyond a limit or quota.
  package var limitedRequestCount: Int

  package init(
    programs: [HubStatus.NetworkProgram] = [], refusalCounts: [String: Int] = [:],
    limitedRequestCount: Int = 0
  ) {
    self.programs = programs
    self.refusalCounts = refusalCounts
    self.limitedRequestCount = limitedRequestCount
  }
}

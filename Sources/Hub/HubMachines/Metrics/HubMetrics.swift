import BluetoothInterface
import Essentials
import HubWire

/// Numbers of a hub for monitoring. They name no program, peer or user, so that there are as many at any time.
package struct HubMetrics: Hashable, Sendable {
  /// Numbers of one kind, with labels that tell them apart.
  package struct Family: Hashable, Sendable {
    /// What becomes of a number.
    package enum Kind: String, Hashable, Sendable {
      /// It only grows, while the hub runs.
      case counter
      /// It grows and falls.
      case gauge
    }

    /// The name, which has the unit, by the conventions of Prometheus.
    package var name: String
    /// What is counted, in a sentence.
    package var help: String
    package var kind: Kind
    /// The numbers.
    package var samples: [Sample]
  }

  /// A number, with the name and the value of its label if it has one.
  package struct Sample: Hashable, Sendable {
    package var label: Label?
    package var value: Double
  }

  /// What tells a number from the others of its family.
  package struct Label: Hashable, Sendable {
    package var name: String
    package var value: String
  }

  /// All numbers, in the order in which they are written.
  package private(set) var families: [Family] = []

  private mutating func add(
    _ kind: Family.Kind, _ name: String, _ help: String, _ samples: [Sample]
  ) {
    families.append(Family(name: "ambit_hub_" + name, help: help, kind: kind, samples: samples))
  }

  private mutating func add(_ kind: Family.Kind, _ name: String, _ help: String, _ value: Int) {
    add(kind, name, help, [Sample(value: Double(value))])
  }

  /// Adds a number for each value of a label.
  private mutating func add(
    _ kind: Family.Kind, _ name: String, _ help: String, by label: String,
    _ values: [(String, Int)]
  ) {
    add(
      kind, name, help,
      values.map {
        Sample(label: Label(name: label, value: $0.0), value: Double($0.1))
      })
  }
}

extension HubMachine {
  /// The hub's numbers at this moment.
  ///
  /// - Parameters:
  ///   - host: The host's part of the hub's state.
  ///   - radioRestartCount: How often the radio worked again after it didn't.
  package func metrics(_ host: HubHostStatus, radioRestartCount: Int) -> HubMetrics {
    let load = users.values.reduce(into: UserLoad()) { $0 += $1 }
    var metrics = HubMetrics()
    metrics.addHub(host, connections.values.count { $0.app != nil }, load)
    metrics.addHoldings(host, load.sessions)
    metrics.addTotals(totals, limitedRequestCount: limitedRequestCount)
    metrics.addHost(host, radioRestartCount: radioRestartCount)
    if let network = host.network { metrics.addNetwork(network) }
    return metrics
  }
}

extension HubMetrics {
  fileprivate mutating func addHub(
    _ host: HubHostStatus, _ programCount: Int, _ load: UserLoad
  ) {
    add(
      .gauge, "info", "The version of the hub.",
      [Sample(label: Label(name: "version", value: host.version), value: 1)])
    add(
      .gauge, "uptime_seconds", "How long the hub has served.",
      [Sample(value: max(0, host.uptime.seconds))])
    add(.gauge, "programs", "Programs that the hub serves.", programCount)
    add(
      .gauge, "connections", "Connections, with or without a greeting of a program.",
      load.connectionCount)
    add(
      .gauge, "sessions", "Sessions of programs, those that are kept included.", load.sessionCount)
    add(
      .gauge, "program_queued_bytes", "Bytes that wait for programs to take them.",
      load.waitingByteCount)
  }

  fileprivate mutating func addHoldings(_ host: HubHostStatus, _ load: SessionState.Load) {
    add(.gauge, "pending_requests", "Requests that are not completed.", load.requestCount)
    add(.gauge, "scans", "Sessions that scan.", load.scanCount)
    add(.gauge, "advertisements", "Sessions that advertise.", load.advertisementCount)
    add(.gauge, "services", "Published services.", load.serviceCount)
    add(.gauge, "psms", "PSMs that programs listen on.", load.listenerCount)
    let sessions = host.sessions.values
    add(
      .gauge, "subscriptions", "Subscriptions of sessions to characteristics of peers.",
      sessions.reduce(0) { $0 + $1.subscriptionCount })
    add(
      .gauge, "channels", "Connection-oriented channels of sessions.",
      sessions.reduce(0) { $0 + $1.channelCount })
    add(
      .gauge, "late_sessions", "Sessions that have not handled their events in time.",
      sessions.count { $0.isLate })
  }

  fileprivate mutating func addTotals(_ totals: HubTotals, limitedRequestCount: Int) {
    add(.counter, "served_programs_total", "Programs that were served.", totals.programCount)
    add(.counter, "opened_sessions_total", "Sessions that were opened.", totals.sessionCount)
    add(
      .counter, "requests_total", "Requests of programs that were passed to the host.",
      totals.requestCount)
    add(
      .counter, "limited_requests_total", "Requests that were refused because of a limit or quota.",
      limitedRequestCount)
    add(
      .counter, "shortened_keepings_total",
      "Sessions whose program requested to keep them for longer than it may.",
      totals.shortenedKeepingCount)
    add(
      .counter, "unkept_sessions_total",
      "Sessions that were to be kept, and were closed with their program for lack of room.",
      totals.unkeptSessionCount)
    add(
      .counter, "refused_connections_total",
      "Connections that were refused, or ended for a reason of the hub.", by: "reason",
      HubRefusal.Reason.allCases.map { ($0.label, totals.refusalCounts[$0] ?? 0) })
    add(
      .counter, "events_total", "Events of the host that were passed to programs.",
      totals.eventCount)
    add(
      .counter, "notifications_total",
      "Notified and indicated values of peers, each counted for each program that got it.",
      totals.valueCount)
    add(
      .counter, "advertising_reports_total",
      "Advertising reports, each counted for each program that got it.", totals.reportCount)
  }

  fileprivate mutating func addNetwork(_ network: HubNetworkStatus) {
    let programs = network.programs
    func sum(_ count: (HubStatus.NetworkProgram) -> Int) -> Int {
      programs.reduce(0) { $0 + count($1) }
    }
    add(
      .gauge, "network_programs", "Programs that use the hub's Multicast DNS.", programs.count)
    add(
      .gauge, "network_services", "Services of programs in Multicast DNS.",
      sum { $0.serviceCount })
    add(
      .gauge, "network_records", "Other records of programs in Multicast DNS.",
      sum { $0.recordCount })
    add(
      .gauge, "network_queries", "Queries of programs in Multicast DNS.", by: "kind",
      [("services", sum { $0.browserCount }), ("other", sum { $0.queryCount })])
    add(
      .gauge, "network_queued_bytes", "Bytes of Multicast DNS that wait for programs.",
      sum { $0.waitingByteCount })
    add(
      .counter, "limited_network_requests_total",
      "Services, records, queries and reconfirmations that were refused because of a limit or quota.",
      network.limitedRequestCount)
    add(
      .counter, "refused_network_connections_total",
      "Connections with Multicast DNS that were refused, or ended for a reason of the hub.",
      by: "reason", network.refusalCounts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }

  fileprivate mutating func addHost(_ host: HubHostStatus, radioRestartCount: Int) {
    add(
      .counter, "dropped_total", "What slow programs missed.", by: "kind",
      [
        ("value", host.droppedValueCount), ("advertising_report", host.droppedReportCount),
        ("request", host.expiredRequestCount),
      ])
    add(
      .counter, "descriptor_shortages_total",
      "How often connections waited because the hub had no descriptor or memory for them.",
      host.descriptorShortageCount)
    let open = host.links.map(\.link).filter { $0.role != nil }
    add(
      .gauge, "links", "Links of the radio, by the role of the hub.", by: "role",
      LinkInfo.Role.allCases.map { role in (role.rawValue, open.count { $0.role == role }) })
    add(
      .gauge, "pending_links", "Peers that programs wait to be connected to, or to leave.",
      host.links.count - open.count)
    add(
      .gauge, "link_queued_bytes", "Bytes that wait for buffers of the controller.",
      open.reduce(0) { $0 + $1.queuedByteCount })
    add(
      .gauge, "radio_state", "The state of the radio: 1 for the current one.", by: "state",
      RadioState.allCases.map { ($0.label, host.radio.state == $0 ? 1 : 0) })
    add(
      .counter, "radio_restarts_total", "How often the radio worked again after it did not.",
      radioRestartCount)
  }
}

extension HubRefusal.Reason {
  fileprivate var label: String {
    switch self {
    case .other: "other"
    case .otherVersion: "other_version"
    case .denied: "denied"
    case .limitReached: "limit_reached"
    case .invalidMessage: "invalid_message"
    case .notUnderstood: "not_understood"
    case .ending: "ending"
    }
  }
}

extension RadioState {
  fileprivate var label: String {
    switch self {
    case .unknown: "unknown"
    case .resetting: "resetting"
    case .unsupported: "unsupported"
    case .unauthorized: "unauthorized"
    case .poweredOff: "powered_off"
    case .poweredOn: "powered_on"
    }
  }
}

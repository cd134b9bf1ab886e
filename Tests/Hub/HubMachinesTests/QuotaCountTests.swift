import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("The counters of refusals by quotas")
struct QuotaCountTests {
  private static let one = RequestToken(rawValue: 1)
  private static let peers = (1...2).map {
    DeviceAddress(bits: 0xC0FF_EE00_0000 + $0, kind: .public)
  }

  /// A quota, how a program exceeds it, and what counts the refusal.
  struct Quota: CustomTestStringConvertible, Sendable {
    /// Its property of `HubQuotas`.
    var name: String
    var set: @Sendable (inout HubQuotas) -> Void
    var exceed: @Sendable (inout TestHub) throws -> Void
    /// What Multicast DNS has refused.
    var network: HubNetworkStatus?
    var count: any KeyPath<HubStatus.Counts, Int> & Sendable
    /// The line of the metrics without its value.
    var metric: String

    var testDescription: String { name }
  }

  private static func limited(
    _ name: String, _ set: @escaping @Sendable (inout HubQuotas) -> Void,
    _ exceed: @escaping @Sendable (inout TestHub) throws -> Void
  ) -> Quota {
    Quota(
      name: name, set: set, exceed: exceed, count: \.limitedRequestCount,
      metric: "limited_requests_total")
  }

  private static func refused(
    _ name: String, _ set: @escaping @Sendable (inout HubQuotas) -> Void,
    _ exceed: @escaping @Sendable (inout TestHub) throws -> Void
  ) -> Quota {
    Quota(
      name: name, set: set, exceed: exceed, count: \.refusedCount,
      metric: "refused_connections_total{reason=\"limit_reached\"}")
  }

  /// Sends a request in each of two sessions.
  private static func sendTwice(_ request: HostRequest, _ hub: inout TestHub) throws {
    let program = try hub.serve(sessions: [1, 2])
    for number in 1...2 as ClosedRange<UInt64> {
      try hub.send(.request(HubSessionID(rawValue: number), .known(request)), from: program)
    }
  }

  static let quotas: [Quota] = [
    refused("connectionCount", { $0.connectionCount = 1 }) { hub in
      _ = try hub.serve()
      _ = hub.connect()
    },
    limited("linkCount", { $0.linkCount = 1 }) { hub in
      let program = try hub.serve()
      for peer in peers { try hub.send(.connect(peer, ConnectOptions()), from: program) }
    },
    limited("scanCount", { $0.scanCount = 1 }) { try sendTwice(.startScan(ScanOptions()), &$0) },
    limited("serviceCount", { $0.serviceCount = 1 }) { hub in
      let program = try hub.serve()
      for token in 1...2 as ClosedRange<UInt64> {
        let service = ServiceDefinition(uuid: 0x180F)
        try hub.send(.addService(service, RequestToken(rawValue: token)), from: program)
      }
    },
    limited("serviceByteCount", { $0.serviceByteCount = 1 }) { hub in
      try hub.send(.addService(ServiceDefinition(uuid: 0x180F), one), from: hub.serve())
    },
    limited("advertisementCount", { $0.advertisementCount = 1 }) {
      try sendTwice(.startAdvertising(AdvertisingOptions(), one), &$0)
    },
    refused("queuedByteCount", { $0.queuedByteCount = HubQuotas.queuedByteCountMin }) { hub in
      let program = try hub.serve()
      hub.stuck = [program]
      let value = HostEvent.valueUpdated(
        peers[0], handle: 3, ArraySlice([UInt8](repeating: 7, count: 500)))
      for _ in 0..<1_000 { hub.handle(.delivered(HubSessionKey(program), [value])) }
    },
    Quota(
      name: "keptSeconds", set: { $0.keptSeconds = 5 },
      exceed: { hub in
        let opening = SessionOpening(
          id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: "central:lock",
          keptFor: .seconds(6))
        let greeting = HubGreeting(
          app: "lock", abilities: [.bluetooth, .identity], openings: [opening])
        try hub.send(.greeting(greeting), from: hub.connect())
      }, count: \.refusals.shortenedKeepingCount, metric: "shortened_keepings_total"),
    // `OwnerMachineTests` has a client that exceeds it.
    Quota(
      name: "networkRequestCount", set: { $0.networkRequestCount = 1 }, exceed: { _ in },
      network: HubNetworkStatus(limitedRequestCount: 1),
      count: \.refusals.networkRequestCount, metric: "limited_network_requests_total"),
  ]

  private static func values(
    _ hub: TestHub, _ quota: Quota
  ) throws -> (status: Int?, metric: Substring?) {
    var (hub, host) = (hub, StatusTests.host)
    host.network = quota.network
    let asker = hub.connect(user: 0)
    let metric = hub.machine.metrics(host, radioRestartCount: 0).text.split(separator: "\n")
      .first { $0.hasPrefix("ambit_hub_\(quota.metric) ") }
    return (
      hub.machine.status(host, for: asker, now: hub.now)?.counts[keyPath: quota.count],
      metric?.split(separator: " ").last
    )
  }

  @Test("a refusal by each quota is counted in the state and in the metrics", arguments: quotas)
  func counts(_ quota: Quota) throws {
    var quotas = HubQuotas()
    quota.set(&quotas)
    let rules = HubRules([HubRules.Rule(.allow, userID: TestHub.user, quotas: quotas)])
    var hub = TestHub(rules: rules)
    if quota.network == nil {
      let before = try Self.values(hub, quota)
      #expect(before.status == 0 && before.metric == "0")
    }
    try quota.exceed(&hub)
    let after = try Self.values(hub, quota)
    #expect(after.status == 1 && after.metric == "1", "\(after)")
  }

  @Test("no quota is without such a test")
  func all() {
    let names = Mirror(reflecting: HubQuotas()).children.compactMap(\.label)
    #expect(Set(names) == Set(Self.quotas.map(\.name)) && !names.isEmpty)
  }

  @Test("a session that was to be kept, and has no room, is closed and counted")
  func unkept() throws {
    var limits = HubLimits()
    limits.keptSessionCountPerUserMax = 1
    var hub = TestHub(limits)
    for app in ["lock", "lamp"] {
      let opening = SessionOpening(
        id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: "central:it",
        keptFor: .seconds(60))
      let id = hub.connect()
      let greeting = HubGreeting(app: app, abilities: [.bluetooth, .identity], openings: [opening])
      try hub.send(.greeting(greeting), from: id)
      try hub.send(.startScan(ScanOptions()), from: id)
      hub.handle(.disconnected(id))
    }
    let asker = hub.connect()
    let counts = hub.machine.status(StatusTests.host, for: asker, now: hub.now)?.counts
    #expect(counts?.refusals.unkeptSessionCount == 1)
    let text = hub.machine.metrics(StatusTests.host, radioRestartCount: 0).text
    #expect(text.contains("\nambit_hub_unkept_sessions_total 1\n"))
  }
}

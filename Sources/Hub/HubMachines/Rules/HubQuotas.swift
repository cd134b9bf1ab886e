import Essentials

/// How much a program may take of the hub, in place of the hub's own limits; nil where these hold.
package struct HubQuotas: Hashable, Sendable {
  /// The connections of one process.
  package var connectionCount: Int?
  /// The peers that a connection wants links with.
  package var linkCount: Int?
  /// The scans of a connection at the same time.
  package var scanCount: Int?
  /// The services that a connection has published.
  package var serviceCount: Int?
  /// The size of these services, in bytes of the messages that publish them.
  package var serviceByteCount: Int?
  /// The advertisements of a connection at the same time.
  package var advertisementCount: Int?
  /// The bytes that wait for a program that doesn't read them.
  package var queuedByteCount: Int?
  /// How long a session is kept that requests it, in seconds, when its program has ended; 0 for not at all.
  package var keptSeconds: Int?
  /// The services, records and queries of a connection at the hub's Multicast DNS.
  package var networkRequestCount: Int?

  /// The least number of bytes that may wait: a program must get the answers to what it does at its start.
  package static let queuedByteCountMin = 64 << 10
  /// The services, records and queries that a connection may have without a quota.
  package static let networkRequestCountMax = 10_000

  package init() {}

  /// The limits of a program: the quotas, as far as they are lower than those of the hub.
  package func limits(_ hub: HubLimits) -> HubLimits {
    var limits = hub
    limits.connectionCountPerProcessMax = Self.lower(
      hub.connectionCountPerProcessMax, connectionCount)
    limits.linkCountMax = Self.lower(hub.linkCountMax, linkCount)
    limits.scanCountMax = Self.lower(hub.scanCountMax, scanCount)
    limits.serviceCountMax = Self.lower(hub.serviceCountMax, serviceCount)
    limits.serviceByteCountMax = Self.lower(hub.serviceByteCountMax, serviceByteCount)
    limits.advertisementCountMax = Self.lower(hub.advertisementCountMax, advertisementCount)
    if let keptSeconds { limits.keptTimeMax = min(hub.keptTimeMax, .seconds(Int64(keptSeconds))) }
    guard let queuedByteCount else { return limits }
    limits.waitingByteCountMax = min(hub.waitingByteCountMax, queuedByteCount)
    // Its requests must wait long before it loses its connection.
    limits.waitingByteCountHigh = min(hub.waitingByteCountHigh, queuedByteCount / 4)
    limits.waitingByteCountLow = min(hub.waitingByteCountLow, queuedByteCount / 16)
    return limits
  }

  private static func lower(_ max: Int, _ quota: Int?) -> Int { quota.map { min(max, $0) } ?? max }
}

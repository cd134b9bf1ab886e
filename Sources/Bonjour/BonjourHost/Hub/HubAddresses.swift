import HubPlaces

/// The hubs that a host uses.
struct HubAddresses: Hashable, Sendable {
  /// The paths of their sockets.
  let paths: [String]
  /// Where they listen, in the order in which they are tried.
  let all: [OwnerSocketAddress]
  /// Whether the user has named it, so that it is waited for, also if it has never been there.
  let isNamed: Bool

  /// The hubs at these places; nil if nothing can listen there.
  init?(_ places: BonjourPlaces) {
    paths = places.paths
    all = paths.compactMap { OwnerSocketAddress(path: $0) }
    isNamed = places.isNamed
    if all.isEmpty { return nil }
  }
}

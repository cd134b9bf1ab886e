import HubPlaces

/// The hubs that a host prefers to owners.
struct HubAddresses: Hashable, Sendable {
  /// Where they listen, in the order in which they are tried.
  let all: [OwnerSocketAddress]
  /// Whether the user has named it, so that it is waited for, also if it has never been there.
  let isNamed: Bool

  /// The hubs at these places; nil if nothing can listen there.
  init?(_ places: BonjourPlaces) {
    all = places.paths.compactMap { OwnerSocketAddress(path: $0) }
    isNamed = places.isNamed
    if all.isEmpty { return nil }
  }
}

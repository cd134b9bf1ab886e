/// A set of beacons to monitor, with the name that identifies it in actions for the client.
package struct BeaconRegion: Hashable, Sendable {
  /// The name. A second region with the same name replaces the first.
  package var identifier: String
  /// The beacons that belong to the region.
  package var constraint: BeaconConstraint
  /// Whether entering is reported.
  package var notifiesOnEntry: Bool
  /// Whether leaving is reported.
  package var notifiesOnExit: Bool
  /// Whether the state is reported when the display is switched on while inside.
  package var notifiesStateOnDisplay: Bool

  /// Creates a region.
  package init(
    identifier: String, constraint: BeaconConstraint, notifiesOnEntry: Bool = true,
    notifiesOnExit: Bool = true, notifiesStateOnDisplay: Bool = false
  ) {
    self.identifier = identifier
    self.constraint = constraint
    self.notifiesOnEntry = notifiesOnEntry
    self.notifiesOnExit = notifiesOnExit
    self.notifiesStateOnDisplay = notifiesStateOnDisplay
  }
}

/// The state of a region; the raw values are those of `CLRegionState`.
package enum BeaconRegionState: UInt8, Hashable, Sendable {
  /// The state has not been determined, or can't be while nothing is received.
  case unknown = 0
  /// A beacon of the region was received within the exit delay.
  case inside = 1
  /// No beacon of the region was received within the exit delay.
  case outside = 2
}

/// The reason why a region is not monitored.
package enum RegionMonitorError: Error, Hashable, Sendable {
  /// The limit of monitored regions is reached.
  case tooManyRegions(max: Int)
  /// The name is longer than the limit, in bytes of UTF-8.
  case identifierTooLong(byteCount: Int, max: Int)
}

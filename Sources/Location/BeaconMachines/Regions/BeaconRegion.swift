/// A set of beacons to monitor, with the name that identifies it in actions for the client.
public struct BeaconRegion: Hashable, Sendable {
  /// The name; a second region of the same name replaces the first.
  public var identifier: String
  /// Which beacons belong to the region.
  public var constraint: BeaconConstraint
  /// Whether entering is reported.
  public var notifiesOnEntry: Bool
  /// Whether leaving is reported.
  public var notifiesOnExit: Bool
  /// Whether the state is reported when the display is switched on while inside.
  public var notifiesStateOnDisplay: Bool

  /// A region of some beacons.
  public init(
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

/// Where the receiver is with regard to a region; the values are those of `CLRegionState`.
public enum BeaconRegionState: UInt8, Hashable, Sendable {
  /// Not determined yet, or not while nothing can be heard.
  case unknown = 0
  /// A beacon of the region was heard within the exit delay.
  case inside = 1
  /// None was.
  case outside = 2
}

/// Why a region is not monitored.
public enum RegionMonitorError: Error, Hashable, Sendable {
  /// The limit of monitored regions is reached.
  case tooManyRegions(max: Int)
  /// The name is longer than it may be, in bytes of UTF-8.
  case identifierTooLong(byteCount: Int, max: Int)
}

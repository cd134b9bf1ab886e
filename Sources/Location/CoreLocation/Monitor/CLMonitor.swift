/// What a monitor looks for.
public protocol CLCondition: Sendable {}

/// Monitors conditions, and reports when they become satisfied or no longer are.
///
/// Conditions last until they are removed, also beyond this object and this process: a program that
/// makes a monitor of the same name again gets them with their pending events, and receives the
/// changes since then. `AMBIT_LOCATIONS` names their file. There is one monitor of a name at a
/// time: a second one replaces the first, whose events end.
public actor CLMonitor {
  /// What happens to the conditions. One task at a time takes them.
  public let events: Events
  private let core: MonitorCore

  /// The monitor of this name, with the conditions that it had before.
  public init(_ name: String) async {
    core = MonitorCore(name: name, services: .current)
    events = Events(core: core)
    core.open()
  }

  deinit { core.close() }

  /// Adds a condition, or puts it in the place of one of its name. Its state is unknown until it is
  /// determined.
  ///
  /// The 21st condition of a program gets an event with `conditionLimitExceeded`, one that isn't of beacons
  /// with `conditionUnsupported`.
  public func add(_ condition: any CLCondition, identifier: String) {
    core.add(condition, identifier, assuming: .unknown)
  }

  /// Adds a condition, or puts it in the place of one of its name, whose state the program knows. An event
  /// follows only when that changes.
  public func add(_ condition: any CLCondition, identifier: String, assuming state: Event.State) {
    core.add(condition, identifier, assuming: state)
  }

  /// Removes a condition, and with it its event that waits.
  public func remove(_ identifier: String) { core.remove(identifier) }

  /// The names of the conditions, in the order in which they were added.
  public var identifiers: [String] { core.identifiers }

  /// A condition and the last thing that happened to it; nil for an unknown name.
  public func record(for identifier: String) -> Record? { core.record(for: identifier) }

  /// How many tasks wait for an event, for tests.
  var waiterCount: Int { core.waiterCount }
}

/// Whether a condition is satisfied.
public enum __CLMonitoringState: UInt, Sendable {
  /// Not determined yet, or not to be determined, as while Bluetooth is off.
  case unknown = 0
  /// It is.
  case satisfied = 1
  /// It is not.
  case unsatisfied = 2
  /// It isn't monitored; the event's flags are the reason.
  case unmonitored = 3
}

extension CLMonitor {
  /// Something that happened to a condition.
  public struct Event: Sendable {
    /// Whether a condition is satisfied.
    public typealias State = __CLMonitoringState

    /// Whose.
    public let identifier: String
    /// When.
    public let date: Date
    /// Whether the condition is satisfied now.
    public let state: State
    /// The condition that was satisfied, more exactly: if the condition leaves major or minor open,
    /// the identity of the detected beacon.
    public internal(set) var refinement: (any CLCondition)?
    /// Always false: accuracy is never reduced.
    public internal(set) var accuracyLimited = false
    /// The program may not use location services.
    public internal(set) var authorizationDenied = false
    /// Always false: there is no switch for all programs.
    public internal(set) var authorizationDeniedGlobally = false
    /// The program has not asked yet whether it may use location services.
    public internal(set) var authorizationRequestInProgress = false
    /// Location services are restricted on this machine, for example by its administrator.
    public internal(set) var authorizationRestricted = false
    /// The program has too many conditions.
    public internal(set) var conditionLimitExceeded = false
    /// Conditions of this kind are not monitored here.
    public internal(set) var conditionUnsupported = false
    /// Always false: a program of Linux is in use while it runs.
    public internal(set) var insufficientlyInUse = false
    /// The condition ends with this process: another one of this program has the file in which conditions
    /// are kept, or it can't be used.
    public internal(set) var persistenceUnavailable = false
    /// Always false: no session is needed here.
    public internal(set) var serviceSessionRequired = false

    init(_ identifier: String, _ state: State, at date: Date) {
      self.identifier = identifier
      self.state = state
      self.date = date
    }
  }

  /// A condition and its last event.
  public struct Record: Sendable {
    /// The condition.
    public let condition: any CLCondition
    /// The last thing that happened to it; at first, that it was added.
    public let lastEvent: Event
  }

  /// The events of a monitor: those that wait, and those that come. Of one condition the last one waits.
  public struct Events: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event
    let core: MonitorCore

    /// Takes events.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let core: MonitorCore

      /// The next event; nil when another monitor took this one's place, or the task was cancelled.
      public mutating func next() async throws -> Event? { await core.next() }
    }

    /// Takes events.
    public func makeAsyncIterator() -> Iterator { Iterator(core: core) }
  }

  /// Beacons of a UUID, of a group of it, or one.
  public struct BeaconIdentityCondition: CLCondition, Codable, Hashable {
    /// The beacons' UUID.
    public let uuid: UUID
    /// The group; nil for all.
    public let major: UInt16?
    /// The beacon of the group; nil for all.
    public let minor: UInt16?

    /// All beacons of a UUID.
    public init(uuid: UUID) { self.init(uuid, nil, nil) }

    /// A group of beacons.
    public init(uuid: UUID, major: CLBeaconMajorValue) { self.init(uuid, major, nil) }

    /// One beacon.
    public init(uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue) {
      self.init(uuid, major, minor)
    }

    init(_ uuid: UUID, _ major: UInt16?, _ minor: UInt16?) {
      self.uuid = uuid
      self.major = major
      self.minor = minor
    }

    private enum CodingKeys: String, CodingKey { case uuid, major, minor }

    /// A condition from an archive.
    ///
    /// - Throws: `DecodingError`, also for a minor without a major.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      uuid = try values.decode(UUID.self, forKey: .uuid)
      major = try values.decodeIfPresent(UInt16.self, forKey: .major)
      minor = try values.decodeIfPresent(UInt16.self, forKey: .minor)
      if major == nil, minor != nil {
        throw DecodingError.dataCorruptedError(
          forKey: .minor, in: values, debugDescription: "a minor goes with a major")
      }
    }
  }

  /// A circle on the globe. It is there so that code compiles; it is never monitored.
  public struct CircularGeographicCondition: CLCondition {
    /// The centre.
    public let center: CLLocationCoordinate2D
    /// Metres.
    public let radius: CLLocationDistance

    /// A circle.
    public init(center: CLLocationCoordinate2D, radius: CLLocationDistance) {
      self.center = center
      self.radius = radius
    }
  }
}

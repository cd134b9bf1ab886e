/// A condition that a monitor can monitor.
public protocol CLCondition: Decodable, Encodable, Sendable {}

/// Monitors conditions, and reports when they become satisfied or unsatisfied.
///
/// Conditions last until they are removed, also beyond this object and this process: a program that
/// creates a monitor with the same name later gets them with their pending events and the changes
/// since then. They are on the disk when `add` or `remove` returns, unless the disk can't be written,
/// which is tried again. `AMBIT_LOCATIONS` names their file. Only one monitor with a name exists at a time: a
/// second one replaces the first, whose event sequence ends.
public actor CLMonitor {
  /// The events of the conditions. Only one task at a time may iterate them.
  public let events: Events
  private let core: MonitorCore

  /// Creates the monitor with this name. It has the conditions that were added before.
  public init(_ name: String) async {
    core = MonitorCore(name: name, services: .current)
    events = Events(core: core)
    core.open()
  }

  deinit { core.close() }

  /// Adds a condition, or replaces the one with the same identifier. Its state is unknown at first.
  /// Returns once the condition is stored, after five seconds at most.
  ///
  /// The 21st condition of a program gets an event with `conditionLimitExceeded`, and a condition
  /// of another kind than beacons one with `conditionUnsupported`.
  public func add(_ condition: any CLCondition, identifier: String) async {
    core.add(condition, identifier, assuming: .unknown)
    await core.waitForStore()
  }

  /// Adds a condition whose state the program knows, or replaces the one with the same identifier.
  /// An event follows only when the state changes. Returns when that is stored, after five seconds at most.
  public func add(
    _ condition: any CLCondition, identifier: String, assuming state: Event.State
  ) async {
    core.add(condition, identifier, assuming: state)
    await core.waitForStore()
  }

  /// Removes a condition and its pending event. Returns when that is stored, after five seconds at most.
  public func remove(_ identifier: String) async {
    core.remove(identifier)
    await core.waitForStore()
  }

  /// The same for synchronous code that is isolated to this monitor: the condition is stored soon.
  public func add(_ condition: any CLCondition, identifier: String) {
    core.add(condition, identifier, assuming: .unknown)
  }

  /// The same for synchronous code that is isolated to this monitor: the condition is stored soon.
  public func add(
    _ condition: any CLCondition, identifier: String, assuming state: Event.State
  ) {
    core.add(condition, identifier, assuming: state)
  }

  /// The same for synchronous code that is isolated to this monitor: the removal is stored soon.
  public func remove(_ identifier: String) { core.remove(identifier) }

  /// The identifiers of the conditions, in the order in which they were added.
  public var identifiers: [String] { core.identifiers }

  /// A condition and its latest event; nil for an unknown identifier.
  public func record(for identifier: String) -> Record? { core.record(for: identifier) }

  /// How many tasks wait for an event, for tests.
  var waiterCount: Int { core.waiterCount }
}

/// The state of a condition.
public enum __CLMonitoringState: UInt, Sendable {
  /// Not determined yet, or impossible to determine because Bluetooth is off.
  case unknown = 0
  /// The condition is satisfied.
  case satisfied = 1
  /// The condition is not satisfied.
  case unsatisfied = 2
  /// The condition isn't monitored; the event's flags are the reason.
  case unmonitored = 3
}

extension CLMonitor {
  /// An event of a condition.
  public struct Event: Sendable {
    /// The state of a condition.
    public typealias State = __CLMonitoringState

    /// The identifier of the condition.
    public let identifier: String
    /// The time of the event.
    public let date: Date
    /// The state of the condition at that time.
    public let state: State
    /// The satisfied condition with the identity of the detected beacon, if the condition leaves
    /// major or minor open.
    public internal(set) var refinement: (any CLCondition)?
    /// Always false: accuracy is never reduced.
    public internal(set) var accuracyLimited = false
    /// The program may not use location services.
    public internal(set) var authorizationDenied = false
    /// Always false: location services can't be switched off for all programs.
    public internal(set) var authorizationDeniedGlobally = false
    /// The program has not requested authorization yet.
    public internal(set) var authorizationRequestInProgress = false
    /// Location services are restricted on this machine, for example by its administrator.
    public internal(set) var authorizationRestricted = false
    /// The program has too many conditions.
    public internal(set) var conditionLimitExceeded = false
    /// Conditions of this kind are not supported.
    public internal(set) var conditionUnsupported = false
    /// Always false: a program on Linux is in use while it runs.
    public internal(set) var insufficientlyInUse = false
    /// The condition ends with this process, because the file of conditions is in use by another
    /// process of this program, or can't be used.
    public internal(set) var persistenceUnavailable = false
    /// Always false: no service session is required.
    public internal(set) var serviceSessionRequired = false

    init(_ identifier: String, _ state: State, at date: Date) {
      self.identifier = identifier
      self.state = state
      self.date = date
    }
  }

  /// A condition and its latest event.
  public struct Record: Sendable {
    /// The condition.
    public let condition: any CLCondition
    /// The latest event; at first, that the condition was added.
    public let lastEvent: Event
  }

  /// The pending and the following events of a monitor. Only the latest event of each condition is
  /// kept.
  public struct Events: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event
    let core: MonitorCore

    /// An iterator over the events of a monitor.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      /// The task that iterates may leave its loop.
      private final class End: Sendable {
        let core: MonitorCore
        init(_ core: MonitorCore) { self.core = core }
        deinit { core.handled() }
      }

      let core: MonitorCore
      private let end: End

      init(core: MonitorCore) {
        self.core = core
        end = End(core)
      }

      /// The next event; nil when another monitor replaced this one, or the task was cancelled.
      public mutating func next() async throws -> Event? { await core.next() }
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(core: core) }
  }

  /// A condition that is satisfied by beacons with a UUID, optionally of one group, or by one
  /// beacon.
  public struct BeaconIdentityCondition: CLCondition, Hashable {
    /// The beacons' UUID.
    public let uuid: UUID
    /// The major number; nil for all.
    public let major: UInt16?
    /// The minor number; nil for all.
    public let minor: UInt16?

    /// Creates a condition that matches all beacons with a UUID.
    public init(uuid: UUID) { self.init(uuid, nil, nil) }

    /// Creates a condition that matches a group of beacons.
    public init(uuid: UUID, major: CLBeaconMajorValue) { self.init(uuid, major, nil) }

    /// Creates a condition that matches one beacon.
    public init(uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue) {
      self.init(uuid, major, minor)
    }

    init(_ uuid: UUID, _ major: UInt16?, _ minor: UInt16?) {
      self.uuid = uuid
      self.major = major
      self.minor = minor
    }

    private enum CodingKeys: String, CodingKey { case uuid, major, minor }

    /// Decodes a condition.
    ///
    /// - Throws: `DecodingError`, also for a minor number without a major number.
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

  /// A geographic circle. It exists so that code compiles, but is never monitored.
  public struct CircularGeographicCondition: CLCondition {
    /// The centre of the circle.
    public let center: CLLocationCoordinate2D
    /// The radius in metres.
    public let radius: CLLocationDistance

    /// Creates a circle.
    public init(center: CLLocationCoordinate2D, radius: CLLocationDistance) {
      self.center = center
      self.radius = radius
    }

    private enum CodingKeys: String, CodingKey { case latitude, longitude, radius }

    /// Decodes a circle.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      center = CLLocationCoordinate2D(
        latitude: try values.decode(CLLocationDegrees.self, forKey: .latitude),
        longitude: try values.decode(CLLocationDegrees.self, forKey: .longitude))
      radius = try values.decode(CLLocationDistance.self, forKey: .radius)
    }

    /// Encodes the circle.
    public func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: CodingKeys.self)
      try values.encode(center.latitude, forKey: .latitude)
      try values.encode(center.longitude, forKey: .longitude)
      try values.encode(radius, forKey: .radius)
    }
  }
}

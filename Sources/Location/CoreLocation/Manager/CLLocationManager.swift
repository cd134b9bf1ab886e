internal import BluetoothInterface
internal import EventLoop

/// Monitors regions of beacons, and ranges beacons.
///
/// The delegate is called on the run loop of the thread that created the manager, which has to run,
/// or on the queue of `init(queue:)`. If the manager was created in a task, as in an `async` main
/// function, that is the main queue. If nothing is called for ten seconds, an error is logged. The
/// first call is `locationManagerDidChangeAuthorization`.
/// Methods may be called from any thread. Releasing a manager ends its ranging; regions are
/// monitored for the program, and reported to all of its managers. Region events without a manager
/// wait for the next one.
///
/// Regions outlive the process: when the program runs again they are in `monitoredRegions`, and the
/// delegate receives the changes since then, as soon as beacons are heard or were not for the exit
/// delay. `AMBIT_LOCATIONS` names the file of regions; by default it has the executable's name, in
/// the folder `ambit/locations` of this user's state. It is written within moments, not before
/// methods return. On the simulated radio, whose beacons are new each time, there is no default
/// file.
///
/// The manager uses the Bluetooth host that is current in its task, else the one that the environment
/// selects, as Core Bluetooth's managers do. `AMBIT_LOCATION_AUTHORIZATION` sets the policy for authorization.
open class CLLocationManager: NSObject, @unchecked Sendable {
  // Unchecked: `session` is constant, the rest is guarded by `lock`.

  private struct Settings {
    weak var delegate: (any CLLocationManagerDelegate)?
    weak var delegateProxy: (any CLLocationManagerDelegate)?
    var allowsBackgroundLocationUpdates = false
    var pausesLocationUpdatesAutomatically = true
    var showsBackgroundLocationIndicator = false
    var desiredAccuracy = kCLLocationAccuracyBest
    var distanceFilter = kCLDistanceFilterNone
    var headingFilter: CLLocationDegrees = 1
    var activityType = CLActivityType.other
    var headingOrientation = CLDeviceOrientation.portrait
  }

  private let session: ManagerSession
  private let lock = SharedLock()
  private var settings = Settings()

  /// Creates a manager that calls its delegate on the run loop of this thread; in a task, on the main
  /// queue.
  public override convenience init() { self.init(queue: nil) }

  /// Creates a manager that calls its delegate on a queue, which doesn't need a run loop. Not part
  /// of Apple's interface.
  ///
  /// - Parameter queue: A serial queue; nil for the run loop of this thread, or the main queue in a
  ///   task.
  public init(queue: DispatchQueue?) {
    session = ManagerSession(services: .current, queue: queue)
    super.init()
    session.start(for: self)
  }

  deinit { session.end() }

  private func setting<Value>(_ path: WritableKeyPath<Settings, Value>) -> Value {
    lock.withLock { settings[keyPath: path] }
  }

  private func set<Value>(_ path: WritableKeyPath<Settings, Value>, to value: Value) {
    lock.withLock { settings[keyPath: path] = value }
  }

  /// The object that receives the manager's events.
  open weak var delegate: (any CLLocationManagerDelegate)? {
    get { setting(\.delegate) }
    set {
      set(\.delegate, to: newValue)
      if newValue != nil { session.delegateWasSet() }
    }
  }

  /// Receives the calls in the delegate's stead, and forwards them to it. A bridge sets it, and then
  /// receives every call, also after the app has set another delegate.
  package var delegateProxy: (any CLLocationManagerDelegate)? {
    get { setting(\.delegateProxy) }
    set {
      set(\.delegateProxy, to: newValue)
      if newValue != nil { session.delegateWasSet() }
    }
  }

  /// The object to call: the proxy or, without one, the delegate.
  var receiver: (any CLLocationManagerDelegate)? { delegateProxy ?? delegate }

  // MARK: State

  /// Whether location services are switched on; always true.
  open class func locationServicesEnabled() -> Bool { true }

  /// Whether regions of a class can be monitored. True for `CLBeaconRegion`, unless the radio
  /// doesn't support Bluetooth LE.
  open class func isMonitoringAvailable(for regionClass: AnyClass) -> Bool {
    regionClass is CLBeaconRegion.Type && isRangingAvailable()
  }

  /// Whether beacons can be ranged. False if the radio doesn't support Bluetooth LE.
  open class func isRangingAvailable() -> Bool { LocationServices.current.radio != .unsupported }

  /// Always false: locations are not supported.
  open class func significantLocationChangeMonitoringAvailable() -> Bool { false }

  /// Always false: headings are not supported.
  open class func headingAvailable() -> Bool { false }

  // MARK: Authorization

  /// Whether the program may use location services.
  open var authorizationStatus: CLAuthorizationStatus { session.services.status }

  /// Whether the program may use location services.
  @available(*, deprecated, message: "Use the manager's property instead")
  open class func authorizationStatus() -> CLAuthorizationStatus { LocationServices.current.status }

  /// Always `fullAccuracy`.
  open var accuracyAuthorization: CLAccuracyAuthorization { .fullAccuracy }

  /// Whether widgets of the program may use location services; true if the program may. Linux has
  /// no widgets.
  open var isAuthorizedForWidgetUpdates: Bool { authorizationStatus.allowsLocation }

  /// Requests authorization to use location services. If it is not determined yet, the policy
  /// decides, and the delegate's `locationManagerDidChangeAuthorization` is called.
  open func requestWhenInUseAuthorization() {
    session.services.perform { $0.request(.authorizedWhenInUse) }
  }

  /// Requests authorization to use location services at all times, like
  /// `requestWhenInUseAuthorization()`.
  open func requestAlwaysAuthorization() {
    session.services.perform { $0.request(.authorizedAlways) }
  }

  /// Does nothing: accuracy is never reduced.
  open func requestTemporaryFullAccuracyAuthorization(withPurposeKey purposeKey: String) {}

  /// Calls back without an error: accuracy is never reduced.
  open func requestTemporaryFullAccuracyAuthorization(
    withPurposeKey purposeKey: String, completion: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    guard let completion else { return }
    session.services.perform { [session] services in
      services.post(.completed { completion(nil) }, to: session)
    }
  }

  /// Returns at once: accuracy is never reduced.
  open func requestTemporaryFullAccuracyAuthorization(
    withPurposeKey purposeKey: String
  ) async throws {}

  // MARK: Regions

  /// Copies of the regions that the program monitors: of all its managers, and of its earlier
  /// processes.
  open var monitoredRegions: Set<CLRegion> {
    Set(session.services.monitoredRegions.map(\.ownCopy))
  }

  /// The maximum size of a region in metres; negative, as geographic regions are not monitored.
  open var maximumRegionMonitoringDistance: CLLocationDistance { -1 }

  /// Starts monitoring a region. It replaces one with the same identifier.
  ///
  /// The delegate's `didStartMonitoringFor` is called, or `monitoringDidFailFor` with
  /// `CLError.regionMonitoringDenied` without authorization, or with
  /// `CLError.regionMonitoringFailure` for the 21st region and for one that isn't a beacon region.
  open func startMonitoring(for region: CLRegion) { session.startMonitoring(region) }

  /// Starts monitoring a region. The accuracy has no effect.
  @available(*, deprecated, renamed: "startMonitoring(for:)")
  open func startMonitoring(for region: CLRegion, desiredAccuracy accuracy: CLLocationAccuracy) {
    startMonitoring(for: region)
  }

  /// Stops monitoring the region with this identifier.
  open func stopMonitoring(for region: CLRegion) { session.stopMonitoring(region) }

  /// Requests the state of a monitored region, which `didDetermineState` gets. Ignores other
  /// regions.
  open func requestState(for region: CLRegion) { session.requestState(region) }

  // MARK: Ranging

  /// The constraints that this manager ranges.
  open var rangedBeaconConstraints: Set<CLBeaconIdentityConstraint> { session.rangedConstraints }

  /// Starts ranging: `didRange` is called once a second with the beacons in range that satisfy a
  /// constraint.
  open func startRangingBeacons(satisfying constraint: CLBeaconIdentityConstraint) {
    session.startRanging(constraint)
  }

  /// Stops ranging a constraint.
  open func stopRangingBeacons(satisfying constraint: CLBeaconIdentityConstraint) {
    session.stopRanging(constraint)
  }

  /// The regions that this manager ranges.
  @available(*, deprecated, renamed: "rangedBeaconConstraints")
  open var rangedRegions: Set<CLRegion> { Set(session.rangedRegions.map(\.ownCopy)) }

  /// Starts ranging: `didRangeBeacons` is called once a second with the beacons in range of a
  /// region.
  @available(*, deprecated, renamed: "startRangingBeacons(satisfying:)")
  open func startRangingBeacons(in region: CLBeaconRegion) { session.startRanging(region) }

  /// Stops ranging the region with this identifier.
  @available(*, deprecated, renamed: "stopRangingBeacons(satisfying:)")
  open func stopRangingBeacons(in region: CLBeaconRegion) { session.stopRanging(region) }

  /// Whether ranging may become possible later, because Bluetooth is only switched off or the radio
  /// is missing.
  package var mayRangeLater: Bool {
    let services = session.services
    guard services.status.allowsLocation else { return false }
    switch services.radio {
    case .unknown, .resetting, .poweredOff, .poweredOn: return true
    case .unauthorized, .unsupported: return false
    }
  }

  // MARK: Locations, which are not determined here

  /// Always nil: locations are not supported.
  open var location: CLLocation? { nil }

  /// Fails with `CLError.locationUnknown`, or `denied` without authorization.
  open func startUpdatingLocation() { failToLocate() }

  /// Does nothing.
  open func stopUpdatingLocation() {}

  /// Fails as `startUpdatingLocation` does.
  open func requestLocation() { failToLocate() }

  /// Fails as `startUpdatingLocation` does.
  open func startMonitoringSignificantLocationChanges() { failToLocate() }

  /// Does nothing.
  open func stopMonitoringSignificantLocationChanges() {}

  /// Does nothing: visits are not detected.
  open func startMonitoringVisits() {}

  /// Does nothing.
  open func stopMonitoringVisits() {}

  /// Fails with `CLError.headingFailure`.
  open func startUpdatingHeading() { fail { _ in CLError(.headingFailure) } }

  /// Does nothing.
  open func stopUpdatingHeading() {}

  /// Always nil: headings are not supported.
  open var heading: CLHeading? { nil }

  /// Does nothing: no calibration is ever displayed.
  open func dismissHeadingCalibrationDisplay() {}

  /// Always false: locations are not supported.
  @available(*, deprecated, message: "Locations are not deferred any more")
  open class func deferredLocationUpdatesAvailable() -> Bool { false }

  /// Fails with `CLError.deferredFailed`.
  @available(*, deprecated, message: "Locations are not deferred any more")
  open func allowDeferredLocationUpdates(
    untilTraveled distance: CLLocationDistance, timeout: TimeInterval
  ) {
    session.services.perform { [session] services in
      services.post(.deferredUpdatesFailed, to: session)
    }
  }

  /// Does nothing.
  @available(*, deprecated, message: "Locations are not deferred any more")
  open func disallowDeferredLocationUpdates() {}

  private func failToLocate() {
    fail { services in CLError(services.status.allowsLocation ? .locationUnknown : .denied) }
  }

  private func fail(_ error: @escaping @Sendable (LocationServices) -> CLError) {
    session.services.perform { [session] services in
      services.post(.failed(error(services)), to: session)
    }
  }

  // MARK: Settings without effect

  /// Stored without effect: programs on Linux have no background mode.
  open var allowsBackgroundLocationUpdates: Bool {
    get { setting(\.allowsBackgroundLocationUpdates) }
    set { set(\.allowsBackgroundLocationUpdates, to: newValue) }
  }
  /// Stored without effect.
  open var pausesLocationUpdatesAutomatically: Bool {
    get { setting(\.pausesLocationUpdatesAutomatically) }
    set { set(\.pausesLocationUpdatesAutomatically, to: newValue) }
  }
  /// Stored without effect.
  open var showsBackgroundLocationIndicator: Bool {
    get { setting(\.showsBackgroundLocationIndicator) }
    set { set(\.showsBackgroundLocationIndicator, to: newValue) }
  }
  /// Stored without effect.
  open var desiredAccuracy: CLLocationAccuracy {
    get { setting(\.desiredAccuracy) }
    set { set(\.desiredAccuracy, to: newValue) }
  }
  /// Stored without effect.
  open var distanceFilter: CLLocationDistance {
    get { setting(\.distanceFilter) }
    set { set(\.distanceFilter, to: newValue) }
  }
  /// Stored without effect.
  open var activityType: CLActivityType {
    get { setting(\.activityType) }
    set { set(\.activityType, to: newValue) }
  }
  /// Stored without effect.
  open var headingFilter: CLLocationDegrees {
    get { setting(\.headingFilter) }
    set { set(\.headingFilter, to: newValue) }
  }
  /// Stored without effect.
  open var headingOrientation: CLDeviceOrientation {
    get { setting(\.headingOrientation) }
    set { set(\.headingOrientation, to: newValue) }
  }
}

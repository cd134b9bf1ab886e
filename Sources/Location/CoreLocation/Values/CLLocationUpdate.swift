/// A report of this device's location. It exists so that code compiles: the only update reports
/// that the location is unavailable.
public struct CLLocationUpdate: Sendable {
  /// What the updates are for; without effect.
  public enum LiveConfiguration: Int, Sendable {
    /// Anything.
    case `default` = 0
    /// Driving along roads.
    case automotiveNavigation = 1
    /// Moving in another vehicle.
    case otherNavigation = 2
    /// Walking, running, cycling.
    case fitness = 3
    /// Flying.
    case airborne = 4
  }

  /// Nil.
  public let location: CLLocation? = nil
  /// False: unknown.
  public let stationary = false
  /// Whether the program may not use location services.
  public let authorizationDenied: Bool
  /// Always false: there is no switch for all programs.
  public let authorizationDeniedGlobally = false
  /// Whether location services are restricted on this machine, for example by its administrator.
  public let authorizationRestricted: Bool
  /// Whether the program has not asked yet.
  public let authorizationRequestInProgress: Bool
  /// Always true: locations are not determined here.
  public let locationUnavailable = true
  /// Always false: accuracy is never reduced.
  public let accuracyLimited = false
  /// Always false: a program of Linux is in use while it runs.
  public let insufficientlyInUse = false
  /// Always false: no session is needed here.
  public let serviceSessionRequired = false

  init(_ status: CLAuthorizationStatus) {
    authorizationDenied = status == .denied
    authorizationRestricted = status == .restricted
    authorizationRequestInProgress = status == .notDetermined
  }

  /// Returns a sequence with one update: no location is available.
  public static func liveUpdates(_ configuration: LiveConfiguration = .default) -> Updates {
    Updates(update: CLLocationUpdate(LocationServices.current.status))
  }

  /// The one update; more don't come.
  public struct Updates: AsyncSequence, Sendable {
    /// A report.
    public typealias Element = CLLocationUpdate
    let update: CLLocationUpdate

    /// Gives the one update, and waits.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      private var update: CLLocationUpdate?
      private let ending = SessionEnding()

      init(_ update: CLLocationUpdate) { self.update = update }

      /// The next update; nil when the task was cancelled.
      public mutating func next() async throws -> CLLocationUpdate? {
        if let update {
          self.update = nil
          return update
        }
        await ending.wait()
        return nil
      }
    }

    /// Gives the one update, and waits.
    public func makeAsyncIterator() -> Iterator { Iterator(update) }
  }
}

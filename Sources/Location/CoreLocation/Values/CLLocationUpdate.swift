/// An update of this device's location. It exists so that code compiles: the only update reports
/// that the location is unavailable.
public struct CLLocationUpdate: Sendable {
  /// The activity that updates are used for; without effect.
  public enum LiveConfiguration: Int, Sendable {
    /// Any activity.
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

  /// Always nil: locations are not supported.
  public let location: CLLocation? = nil
  /// Always false.
  public let stationary = false
  /// Whether the program may not use location services.
  public let authorizationDenied: Bool
  /// Always false: location services can't be switched off for all programs.
  public let authorizationDeniedGlobally = false
  /// Whether location services are restricted on this machine, for example by its administrator.
  public let authorizationRestricted: Bool
  /// Whether the program has not requested authorization yet.
  public let authorizationRequestInProgress: Bool
  /// Always true: locations are not supported.
  public let locationUnavailable = true
  /// Always false: accuracy is never reduced.
  public let accuracyLimited = false
  /// Always false: a program on Linux is in use while it runs.
  public let insufficientlyInUse = false
  /// Always false: no service session is required.
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

  /// A sequence of one update, which doesn't end before its task is cancelled.
  public struct Updates: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = CLLocationUpdate
    let update: CLLocationUpdate

    /// An iterator that returns one update, and then waits.
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

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(update) }
  }
}

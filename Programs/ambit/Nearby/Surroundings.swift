package import Essentials

/// The known devices, services and beacons.
package struct Surroundings: Sendable {
  package let devices = Guarded(NearbyTable())
  package let network = Guarded(NetworkTable())
  /// The distances of beacons; only for a screen or a page.
  package let beacons: Guarded<BeaconSurvey>

  package init(now: Instant) { beacons = Guarded(BeaconSurvey(constraints: [], now: now)) }
}

/// Time since the command began.
package struct MonotonicClock: Sendable {
  private let start = ContinuousClock.now

  package init() {}

  package var now: Instant {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return .zero + .seconds(seconds) + .nanoseconds(attoseconds / 1_000_000_000)
  }
}

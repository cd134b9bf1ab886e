import Essentials

/// The known devices, services and beacons.
struct Surroundings: Sendable {
  let devices = Guarded(NearbyTable())
  let network = Guarded(NetworkTable())
  /// The distances of beacons; only for a screen or a page.
  let beacons: Guarded<BeaconSurvey>

  init(now: Instant) { beacons = Guarded(BeaconSurvey(constraints: [], now: now)) }
}

/// Time since the command began.
struct MonotonicClock: Sendable {
  private let start = ContinuousClock.now

  var now: Instant {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return .zero + .seconds(seconds) + .nanoseconds(attoseconds / 1_000_000_000)
  }
}

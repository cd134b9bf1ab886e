public import CoreLocation
internal import Synchronization

/// A region that was entered or left.
public enum RegionCrossing: Hashable, Sendable {
  /// A beacon of the region is heard.
  case entered
  /// None is any more.
  case exited
}

/// The beacons around, as sequences.
///
/// ```swift
/// let beacons = Beacons()
/// for try await near in beacons.ranged(satisfying: CLBeaconIdentityConstraint(uuid: museum)) {
///   print(near.first?.minor ?? "nothing")
/// }
/// ```
///
/// A sequence begins to listen when it is made, and ends that when its loop or its task ends. Several of
/// the same constraint or region share one ranging, or one monitoring. From any thread.
///
/// It uses the Bluetooth host that is current in the task that makes it.
public final class Beacons: Sendable {
  private let manager: CLLocationManager
  private let listener = LocationListener()

  /// The beacons that the current Bluetooth host hears.
  public init() {
    manager = CLLocationManager(queue: DispatchQueue(label: "CoreLocationAsync.Beacons"))
    manager.delegate = listener
  }

  /// The underlying manager, to request authorization, for example. Its delegate is this object's.
  public var locationManager: CLLocationManager { manager }

  /// Whether the program may use location services: now, and whenever that changes.
  public func authorizations() -> AsyncStream<CLAuthorizationStatus> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CLAuthorizationStatus.self, bufferingPolicy: .bufferingNewest(1))
    let last = Last<CLAuthorizationStatus>()
    let number = listener.add { event in
      guard case .authorizationChanged(let status) = event, last.isNews(status) else { return }
      continuation.yield(status)
    }
    let status = manager.authorizationStatus
    if last.isNews(status) { continuation.yield(status) }
    continuation.onTermination = { [self] _ in listener.remove(number) }
    return stream
  }

  /// The beacons in range, nearest first, once a second; an empty array if there are none. Only the
  /// latest report is buffered.
  ///
  /// While Bluetooth is off no beacons are in range; ranging goes on when Bluetooth is back. The
  /// sequence throws `CLError.rangingUnavailable` if Bluetooth is unauthorized or unsupported, and
  /// other `CLError`s when ranging doesn't work.
  public func ranged(
    satisfying constraint: CLBeaconIdentityConstraint
  ) -> AsyncThrowingStream<[CLBeacon], any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: [CLBeacon].self, bufferingPolicy: .bufferingNewest(1))
    let number = listener.add { event in
      switch event {
      case .ranged(let beacons, constraint): continuation.yield(beacons)
      case .rangingFailed(constraint, let error, isFinal: true):
        continuation.finish(throwing: error)
      default: break
      }
    }
    continuation.onTermination = { [self] _ in
      listener.remove(number)
      listener.stopRanging(constraint, with: manager)
    }
    listener.startRanging(constraint, with: manager)
    return stream
  }

  /// The state of a region now, as soon as it is known, and whenever it changes. Only the latest
  /// state is buffered.
  ///
  /// The region is monitored as long as the sequence lasts, or longer if it was before. The
  /// sequence throws the `CLError` with which monitoring fails.
  public func states(
    of region: CLBeaconRegion
  ) -> AsyncThrowingStream<CLRegionState, any Error> {
    // Other code may request the state, too.
    let last = Last<CLRegionState>()
    return monitoring(region, waitingCount: 1) { event in
      guard case .determined(let state, region) = event, last.isNews(state) else { return nil }
      return state
    }
  }

  /// Emits when a region is entered and left. The latest two crossings are buffered, so that an
  /// enter doesn't replace the exit before it.
  ///
  /// Monitoring and errors are as those of ``states(of:)``.
  public func crossings(
    of region: CLBeaconRegion
  ) -> AsyncThrowingStream<RegionCrossing, any Error> {
    monitoring(region, waitingCount: 2) { event in
      switch event {
      case .entered(region): .entered
      case .exited(region): .exited
      default: nil
      }
    }
  }

  private func monitoring<Value: Sendable>(
    _ region: CLBeaconRegion, waitingCount: Int,
    _ value: @escaping @Sendable (LocationEvent) -> Value?
  ) -> AsyncThrowingStream<Value, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(waitingCount))
    let number = listener.add { event in
      if case .monitoringFailed(region, let error) = event {
        continuation.finish(throwing: error)
      } else if let value = value(event) {
        continuation.yield(value)
      }
    }
    continuation.onTermination = { [self] _ in
      listener.remove(number)
      listener.stopMonitoring(region, with: manager)
    }
    listener.startMonitoring(region, with: manager)
    return stream
  }
}

/// The value that was reported last.
private final class Last<Value: Equatable & Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  /// Whether a value is another one than the last.
  func isNews(_ new: Value) -> Bool {
    value.withLock { value in
      defer { value = new }
      return new != value
    }
  }
}

public import CoreLocation
internal import RunLoopSupport
internal import Synchronization

/// Whether a region was entered or left.
public enum RegionCrossing: Hashable, Sendable {
  /// The region was entered.
  case entered
  /// The region was left.
  case exited
}

/// Ranges and monitors beacons with async sequences.
///
/// ```swift
/// let beacons = Beacons()
/// for try await near in beacons.ranged(satisfying: CLBeaconIdentityConstraint(uuid: museum)) {
///   print(near.first?.minor ?? "nothing")
/// }
/// ```
///
/// Ranging or monitoring starts when a sequence is created, and stops when its loop or its task
/// ends. Several sequences of the same constraint share the ranging, and those of the same region
/// the monitoring. All methods may be called from any thread.
///
/// It uses the Bluetooth host that is current in the task that creates it.
public final class Beacons: Sendable {
  private let manager: CLLocationManager
  private let listener: LocationListener

  /// Creates an object that uses the current Bluetooth host.
  public init() {
    manager = CLLocationManager(queue: DispatchQueue(label: "CoreLocationAsync.Beacons"))
    listener = LocationListener.all.retain(for: manager)
  }

  deinit { LocationListener.all.release(for: manager) }

  /// The underlying manager, for example to request authorization. Its delegate is free for the
  /// program, which is called before the sequences get their elements.
  public var locationManager: CLLocationManager { manager }

  /// Emits the current authorization and each change.
  public func authorizations() -> AsyncStream<CLAuthorizationStatus> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CLAuthorizationStatus.self, bufferingPolicy: .bufferingNewest(1))
    let last = Last<CLAuthorizationStatus>()
    let observation = LocationListener.all.registration(for: manager) { listener in
      listener.events.add { event in
        guard case .authorizationChanged(let status) = event, last.isNews(status) else { return }
        continuation.yield(status)
      }
    }
    let status = manager.authorizationStatus
    if last.isNews(status) { continuation.yield(status) }
    continuation.onTermination = { _ in observation.cancel() }
    return stream
  }

  /// Emits the beacons in range once a second, nearest first; an empty array if there are none.
  /// Only the latest report is buffered.
  ///
  /// While Bluetooth is off no beacons are in range; ranging resumes when Bluetooth is available
  /// again. The sequence throws `CLError.rangingUnavailable` if Bluetooth is unauthorized or
  /// unsupported, and other `CLError`s when ranging doesn't work.
  public func ranged(
    satisfying constraint: CLBeaconIdentityConstraint
  ) -> AsyncThrowingStream<[CLBeacon], any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: [CLBeacon].self, bufferingPolicy: .bufferingNewest(1))
    let observation = listener.events.add { event in
      switch event {
      case .ranged(let beacons, constraint): continuation.yield(beacons)
      case .rangingFailed(constraint, let error, isFinal: true):
        continuation.finish(throwing: error)
      default: break
      }
    }
    continuation.onTermination = { [self] _ in
      observation.cancel()
      listener.stopRanging(constraint, with: manager)
    }
    listener.startRanging(constraint, with: manager)
    return stream
  }

  /// Emits the state of a region as soon as it is known, and each change. Only the latest state is
  /// buffered.
  ///
  /// The region is monitored while the sequence lasts, or longer if it was monitored before. The
  /// sequence throws a `CLError` if monitoring fails.
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
  /// The region is monitored as with ``states(of:)``, and the sequence throws the same errors.
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
    let observation = listener.events.add { event in
      if case .monitoringFailed(region, let error) = event {
        continuation.finish(throwing: error)
      } else if let value = value(event) {
        continuation.yield(value)
      }
    }
    continuation.onTermination = { [self] _ in
      observation.cancel()
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

internal import LocationFiles

// The conditions of monitors, as they outlive the process.
extension KeptCondition {
  /// Nil for a condition of the program's own kind, which is never monitored.
  init?(_ entry: MonitorCore.Entry, of monitor: String) {
    let event = entry.lastEvent
    self.init(
      of: monitor, identifier: entry.identifier, state: event.state.rawValue,
      date: event.date.timeIntervalSinceReferenceDate,
      reasons: CLMonitor.Event.reasons.filter { event[keyPath: $0.path] }.map(\.name),
      isPending: entry.isPending)
    switch entry.condition {
    case let condition as CLMonitor.BeaconIdentityCondition: beacons = Beacons(condition)
    case let condition as CLMonitor.CircularGeographicCondition:
      circle = Circle(
        latitude: condition.center.latitude, longitude: condition.center.longitude,
        radius: condition.radius)
    default: return nil
    }
    refinement = (event.refinement as? CLMonitor.BeaconIdentityCondition).map(Beacons.init)
  }

  /// The condition as it goes on, under a number of its own; nil where that makes no sense.
  func entry(number: String) -> MonitorCore.Entry? {
    guard let state = CLMonitor.Event.State(rawValue: state), let condition else { return nil }
    var event = CLMonitor.Event(
      identifier, state, at: Date(timeIntervalSinceReferenceDate: date))
    event.refinement = refinement?.condition
    for reason in CLMonitor.Event.reasons where reasons.contains(reason.name) {
      event[keyPath: reason.path] = true
    }
    return MonitorCore.Entry(
      identifier: identifier, condition: condition, number: number, lastEvent: event,
      isPending: isPending)
  }

  private var condition: (any CLCondition)? {
    if let beacons { return beacons.condition }
    return circle.map {
      CLMonitor.CircularGeographicCondition(
        center: CLLocationCoordinate2D(latitude: $0.latitude, longitude: $0.longitude),
        radius: $0.radius)
    }
  }
}

extension KeptCondition.Beacons {
  fileprivate init(_ condition: CLMonitor.BeaconIdentityCondition) {
    self.init(uuid: condition.uuid, major: condition.major, minor: condition.minor)
  }

  fileprivate var condition: CLMonitor.BeaconIdentityCondition {
    CLMonitor.BeaconIdentityCondition(uuid, major, minor)
  }
}

extension CLMonitor.Event {
  /// The flags that are ever set, by their names.
  fileprivate static var reasons: [(name: String, path: WritableKeyPath<Self, Bool>)] {
    [
      ("authorizationDenied", \.authorizationDenied),
      ("authorizationRequestInProgress", \.authorizationRequestInProgress),
      ("authorizationRestricted", \.authorizationRestricted),
      ("conditionLimitExceeded", \.conditionLimitExceeded),
      ("conditionUnsupported", \.conditionUnsupported),
      ("persistenceUnavailable", \.persistenceUnavailable),
    ]
  }
}

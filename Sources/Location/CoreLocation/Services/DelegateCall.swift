internal import Logging

/// A call of a manager's delegate that is on its way.
enum DelegateCall: Sendable {
  case authorizationChanged
  case startedMonitoring(CLRegion)
  case entered(CLRegion)
  case exited(CLRegion)
  case determined(CLRegionState, CLRegion)
  case monitoringFailed(CLRegion?, CLError)
  case ranged([CLBeacon], CLBeaconIdentityConstraint)
  case rangingFailed(CLBeaconIdentityConstraint, CLError)
  case rangedRegion([CLBeacon], CLBeaconRegion)
  case rangingRegionFailed(CLBeaconRegion, CLError)
  case failed(CLError)
  case deferredUpdatesFailed
  case completed(@Sendable () -> Void)
  /// The calls before it are handled.
  case handled(@Sendable () -> Void)
  /// The manager has a delegate, which gets the calls that waited for it.
  case delegateSet

  /// Appends the notice to those that wait, in place of those that it makes obsolete: so a loop that
  /// doesn't run has one report for each constraint and the last transitions of each region.
  func add(to waiting: inout ArraySlice<DelegateCall>) {
    // Most loops are quick: nothing waits.
    if !waiting.isEmpty { removeObsolete(from: &waiting) }
    if waiting.count >= Limits.noticesMax {
      waiting.removeFirst()
      Logger(label: "CoreLocation").error(
        "Callbacks are dropped: \(Limits.noticesMax) wait for a run loop or queue that does not run."
      )
    }
    waiting.append(self)
  }

  private func removeObsolete(from waiting: inout ArraySlice<DelegateCall>) {
    switch self {
    case .entered, .exited:
      // The pair before: entered, exited, then entered again is one entry.
      if let last = waiting.lastIndex(where: { $0.isTransition(like: self) }),
        !waiting[last].isSameKind(as: self),
        let first = waiting[..<last].lastIndex(where: { $0.isTransition(like: self) })
      {
        waiting.remove(at: last)
        waiting.remove(at: first)
      }
    case .authorizationChanged, .startedMonitoring, .determined, .monitoringFailed, .ranged,
      .rangingFailed, .rangedRegion, .rangingRegionFailed, .failed, .deferredUpdatesFailed:
      waiting.removeAll { $0.isSameKind(as: self) }
    case .completed, .handled, .delegateSet: break
    }
  }

  /// The region that something happened to; nil for other notices.
  var region: CLRegion? {
    switch self {
    case .entered(let region), .exited(let region), .determined(_, let region): region
    default: nil
    }
  }

  private func isTransition(like other: DelegateCall) -> Bool {
    switch (self, other) {
    case (.entered(let a), .entered(let b)), (.entered(let a), .exited(let b)),
      (.exited(let a), .entered(let b)), (.exited(let a), .exited(let b)):
      a == b
    default: false
    }
  }

  /// Whether both are the same call for the same region or constraint, perhaps with other values.
  private func isSameKind(as other: DelegateCall) -> Bool {
    switch (self, other) {
    case (.authorizationChanged, .authorizationChanged): true
    case (.startedMonitoring(let a), .startedMonitoring(let b)): a == b
    case (.entered(let a), .entered(let b)), (.exited(let a), .exited(let b)): a == b
    case (.determined(_, let a), .determined(_, let b)): a == b
    case (.monitoringFailed(let a, let one), .monitoringFailed(let b, let two)):
      a == b && one == two
    case (.ranged(_, let a), .ranged(_, let b)): a == b
    case (.rangingFailed(let a, _), .rangingFailed(let b, _)): a == b
    case (.rangedRegion(_, let a), .rangedRegion(_, let b)): a == b
    case (.rangingRegionFailed(let a, _), .rangingRegionFailed(let b, _)): a == b
    case (.failed(let a), .failed(let b)): a == b
    case (.deferredUpdatesFailed, .deferredUpdatesFailed): true
    default: false
    }
  }
}

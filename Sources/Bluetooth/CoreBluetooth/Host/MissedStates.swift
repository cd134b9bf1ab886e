/// The radio's states of the time in which a restored app did not run.
///
/// The host goes on by itself with what it keeps when the radio comes back. So an app hears of a radio that is off,
/// but not that it was off for a while: it would give up the restored links and scans.
struct MissedStates {
  /// What to do about a state.
  enum Handling: Equatable {
    case report
    /// The radio is off; it may have come back since.
    case wait
    /// The radio was off meanwhile.
    case isBack
  }

  private var isCatchingUp = false
  private var isOff = false

  /// A state was restored, and what came since follows.
  mutating func begin() { isCatchingUp = true }

  mutating func handling(of state: CBManagerState, after reported: CBManagerState) -> Handling {
    guard isCatchingUp, reported == .poweredOn else { return .report }
    switch state {
    case .poweredOff:
      isOff = true
      return .wait
    case .poweredOn where isOff:
      isOff = false
      return .isBack
    default:
      isOff = false
      return .report
    }
  }

  /// All events of that time were handled. Returns whether the radio is off.
  mutating func end() -> Bool {
    defer { (isCatchingUp, isOff) = (false, false) }
    return isOff
  }
}

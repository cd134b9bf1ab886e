/// The worth of an advertiser in a full table. One that was heard repeatedly over time is worth more than one
/// that was heard once, however loud; among equals the louder is worth more.
package struct Standing: Comparable, Sendable {
  /// The level of an advertiser whose strength was never measured, in dBm.
  private static let unmeasuredLevel = -128.0
  /// How much louder something must be to take the place of something steady, in dB, so that two of
  /// the same level don't take turns.
  private static let marginDecibels = 6.0

  /// The kinds, the least worth first.
  package enum Kind: Int, Comparable, Sendable {
    /// Silent, and not steady before.
    case passed
    /// Not steady yet.
    case new
    /// Steady, but silent now.
    case paused
    /// Steady.
    case steady

    package static func < (a: Kind, b: Kind) -> Bool { a.rawValue < b.rawValue }
  }

  package var kind: Kind
  /// In dBm.
  package var level: Double

  /// - Parameter level: In dBm; nil if it was never measured.
  package init(isSteady: Bool, isSilent: Bool = false, level: Double?) {
    kind = isSteady ? (isSilent ? .paused : .steady) : isSilent ? .passed : .new
    self.level = level ?? Self.unmeasuredLevel
  }

  package static func < (a: Standing, b: Standing) -> Bool {
    (a.kind, a.level) < (b.kind, b.level)
  }

  /// The one of these whose place a newcomer takes; nil if all are worth more.
  ///
  /// Steady advertisers have three quarters of the places for themselves, and newcomers have the rest to
  /// become steady. Beyond its share, each has to be louder than what it displaces.
  package static func displaced<ID>(
    among places: [(id: ID, standing: Standing)], by newcomer: Standing
  ) -> ID? {
    func weakest(_ isMeant: (Kind) -> Bool) -> (id: ID, standing: Standing)? {
      places.filter { isMeant($0.standing.kind) }.min { $0.standing < $1.standing }
    }
    if let passed = weakest({ $0 == .passed }) { return passed.id }
    let shareOfSteady = 4 * places.count { $0.standing.kind >= .paused }
    let new = weakest { $0 == .new }
    let isSteady = newcomer.kind >= .paused
    if isSteady, let new, shareOfSteady < 3 * places.count { return new.id }
    if isSteady || shareOfSteady > 3 * places.count, let steady = weakest({ $0 >= .paused }),
      steady.standing.kind == .paused
        || newcomer.level > steady.standing.level + marginDecibels
    {
      return steady.id
    }
    return new.flatMap { newcomer.level > $0.standing.level ? $0.id : nil }
  }
}

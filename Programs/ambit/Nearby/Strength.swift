import Essentials

/// How strongly a device is heard, smoothed so that people can read it.
package struct Strength: Hashable, Sendable {
  /// How near a device seems.
  enum Zone: Int, CaseIterable, Comparable, Sendable {
    case near
    case around
    case far

    static func < (a: Zone, b: Zone) -> Bool { a.rawValue < b.rawValue }
  }

  /// Where the strength is going.
  enum Trend: Hashable, Sendable {
    case rising
    case falling
    case steady
  }

  /// Follows within about two seconds at ten advertisements a second.
  private var fast: Double
  /// Follows within about ten.
  private var slow: Double
  /// The number shown; moves only when the smoothed one has moved away from it.
  package private(set) var shown: Int
  private(set) var zone: Zone
  private(set) var trend = Trend.steady
  private var lastHeard: Instant

  init(rssi: Int, now: Instant) {
    fast = Double(rssi)
    slow = Double(rssi)
    shown = rssi
    lastHeard = now
    zone = Self.zone(of: Double(rssi))
  }

  /// Takes one more measurement, in dBm.
  mutating func add(rssi: Int, now: Instant) {
    let elapsed = max(0, (now - lastHeard).seconds)
    lastHeard = now
    // Measurements that follow each other closely weigh less: the time constant stays the same.
    fast += (Double(rssi) - fast) * min(1, max(0.05, elapsed / 2))
    slow += (Double(rssi) - slow) * min(1, max(0.01, elapsed / 10))
    if abs(fast - Double(shown)) >= 2 { shown = Int(fast.rounded()) }
    let change = fast - slow
    switch trend {
    case .steady: if abs(change) >= 4 { trend = change > 0 ? .rising : .falling }
    case .rising: if change < 2 { trend = .steady }
    case .falling: if change > -2 { trend = .steady }
    }
    let next = Self.zone(of: slow)
    // A device leaves its zone only when it is clearly in another one, so that rows don't jump.
    if next != zone, Self.zone(of: slow + (next > zone ? 4 : -4)) == next { zone = next }
  }

  private static func zone(of rssi: Double) -> Zone {
    rssi >= -60 ? .near : rssi >= -80 ? .around : .far
  }

  /// A bar of `columns` columns, in half columns: empty at -100 dBm, full at -40 dBm. The full part
  /// and the rest of the track are separate, because they are coloured differently.
  static func bar(rssi: Int, columns: Int) -> (full: String, track: String) {
    let share = min(1, max(0, Double(rssi + 100) / 60))
    let halves = Int((share * Double(columns * 2)).rounded())
    let full = String(repeating: "━", count: halves / 2) + (halves.isMultiple(of: 2) ? "" : "╸")
    return (full, String(repeating: "─", count: columns - full.count))
  }
}

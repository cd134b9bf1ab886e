/// A point on a monotonic time line, in nanoseconds since an origin that the caller chose.
///
/// Machines never read a clock; they are given an `Instant`. In the simulated world the origin is
/// the start of the simulation; in a host it is that of the event loop's clock.
@frozen
public struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since the origin.
  public var nanoseconds: Int64

  /// Creates the instant `nanoseconds` after the origin.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The origin.
  @inlinable
  public static var zero: Instant { Instant(nanoseconds: 0) }

  /// An instant that never comes.
  @inlinable
  public static var distantFuture: Instant { Instant(nanoseconds: .max) }

  /// Whether `a` comes before `b`.
  @inlinable
  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

  /// The instant `span` after `instant`; saturates instead of overflowing.
  @inlinable
  public static func + (instant: Instant, span: TimeSpan) -> Instant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(span.nanoseconds)
    if overflow { return span.nanoseconds > 0 ? .distantFuture : Instant(nanoseconds: .min) }
    return Instant(nanoseconds: sum)
  }

  /// The time from `b` to `a`; saturates instead of overflowing.
  @inlinable
  public static func - (a: Instant, b: Instant) -> TimeSpan {
    let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
    if overflow { return TimeSpan(nanoseconds: a > b ? .max : .min) }
    return TimeSpan(nanoseconds: difference)
  }
}

/// A duration in nanoseconds. It is one machine word, whereas `Duration` needs two and a division.
@frozen
public struct TimeSpan: Comparable, Hashable, Sendable {
  /// The length in nanoseconds.
  public var nanoseconds: Int64

  /// Creates a span from a number of nanoseconds.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// A span of length zero.
  @inlinable
  public static var zero: TimeSpan { TimeSpan(nanoseconds: 0) }

  /// A span of `count` nanoseconds.
  @inlinable
  public static func nanoseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count) }

  /// A span of `count` microseconds; saturates.
  @inlinable
  public static func microseconds(_ count: Int64) -> TimeSpan { .zero.adding(count, of: 1_000) }

  /// A span of `count` milliseconds; saturates.
  @inlinable
  public static func milliseconds(_ count: Int64) -> TimeSpan {
    .zero.adding(count, of: 1_000_000)
  }

  /// A span of `count` seconds; saturates.
  @inlinable
  public static func seconds(_ count: Int64) -> TimeSpan { .zero.adding(count, of: 1_000_000_000) }

  /// The length in seconds, for computations and for display.
  @inlinable
  public var seconds: Double { Double(nanoseconds) / 1e9 }

  /// Whether `a` is shorter than `b`.
  @inlinable
  public static func < (a: TimeSpan, b: TimeSpan) -> Bool { a.nanoseconds < b.nanoseconds }

  /// The sum of two spans; saturates.
  @inlinable
  public static func + (a: TimeSpan, b: TimeSpan) -> TimeSpan { a.adding(b.nanoseconds, of: 1) }

  /// A span `count` times as long; saturates.
  @inlinable
  public static func * (a: TimeSpan, count: Int64) -> TimeSpan {
    .zero.adding(count, of: a.nanoseconds)
  }

  @usableFromInline
  func adding(_ count: Int64, of unit: Int64) -> TimeSpan {
    let (product, overflow) = count.multipliedReportingOverflow(by: unit)
    let addend = overflow ? ((count > 0) == (unit > 0) ? Int64.max : .min) : product
    let (sum, sumOverflow) = nanoseconds.addingReportingOverflow(addend)
    return TimeSpan(nanoseconds: sumOverflow ? (addend > 0 ? .max : .min) : sum)
  }
}

/// Determines when the inner streams of a stream of streams run.
public struct FlattenStrategy: Sendable {
  enum Kind: Sendable {
    case concurrent(limit: Int)
    case latest
    case race
    case throttle
  }
  let kind: Kind

  /// All inner streams run at the same time.
  public static let merge = FlattenStrategy(kind: .concurrent(limit: .max))

  /// Inner streams run one after the other, in order.
  public static let concat = FlattenStrategy(kind: .concurrent(limit: 1))

  /// A new inner stream replaces the previous one, which is disposed of.
  public static let latest = FlattenStrategy(kind: .latest)

  /// The first inner stream that sends an event is passed, and all others are disposed of. Its
  /// interruption interrupts the result; its completion completes the result when the outer stream
  /// has completed.
  public static let race = FlattenStrategy(kind: .race)

  /// An inner stream is dropped while another is running.
  public static let throttle = FlattenStrategy(kind: .throttle)

  /// At most `limit` inner streams run at a time; the others wait, in order.
  ///
  /// The number of waiting streams is not limited, except under ``AsyncBuffering/backpressure(_:)``.
  ///
  /// - Parameter limit: The maximum number of running streams; traps if it isn't positive.
  /// - Returns: The strategy.
  public static func concurrent(limit: UInt) -> FlattenStrategy {
    precondition(limit > 0, "of flattened streams at least one must run")
    return FlattenStrategy(kind: .concurrent(limit: Int(clamping: limit)))
  }
}

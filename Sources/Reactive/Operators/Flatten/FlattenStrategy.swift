/// What becomes of the inner streams of a stream of streams.
public struct FlattenStrategy: Sendable {
  enum Kind: Sendable {
    case concurrent(limit: Int)
    case latest
    case race
    case throttle
  }
  let kind: Kind

  /// All inner streams are started as they come, and their values passed.
  public static let merge = FlattenStrategy(kind: .concurrent(limit: .max))

  /// An inner stream is started when those before it have ended.
  public static let concat = FlattenStrategy(kind: .concurrent(limit: 1))

  /// An inner stream replaces the one before, which is disposed of.
  public static let latest = FlattenStrategy(kind: .latest)

  /// The first inner stream to send an event is passed, and all others are disposed of. Its
  /// interruption is one of the whole; its completion, of the whole once the outer one completes.
  public static let race = FlattenStrategy(kind: .race)

  /// An inner stream that comes while another is running is dropped.
  public static let throttle = FlattenStrategy(kind: .throttle)

  /// At most `limit` inner streams run at a time; the others wait, in order.
  ///
  /// How many wait is not limited.
  ///
  /// - Parameter limit: How many may run; positive, or the call traps.
  /// - Returns: The strategy.
  public static func concurrent(limit: UInt) -> FlattenStrategy {
    precondition(limit > 0, "of flattened streams at least one must run")
    return FlattenStrategy(kind: .concurrent(limit: Int(clamping: limit)))
  }
}

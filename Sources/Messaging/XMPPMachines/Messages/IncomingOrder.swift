#if Messaging
  import Essentials

  /// The messages of one stream of a sender: the next for the app, and those that wait for one before
  /// them.
  struct IncomingOrder: Sendable {
    struct Held: Hashable, Sendable {
      var row: RowID
      var byteCount: Int
      var arrival = IncomingRow.Arrival.inOrder
    }

    /// Where a message belongs.
    enum Place: Hashable {
      case next
      case held
      /// Before the next one.
      case late
      /// Another message that is held back has its number.
      case taken
    }

    /// The next number for the app; nil until the base line is known.
    var next: UInt64?
    var held: [UInt64: Held] = [:]
    /// A void number waits, too, and has no row.
    var voids: Set<UInt64> = []
    var lastUse: Int64 = 0
    /// When the hole was found. The waiting is over at one of two times.
    var holeSince: Instant?
    /// Since when the hole is waited for while connected and caught up.
    var waitsSince: Instant?
    var missingRequested: Instant?

    var waitingCount: Int { held.count + voids.count }
    var hasHole: Bool { waitingCount > 0 }
    var leastWaiting: UInt64? {
      [held.keys.min(), voids.min()].compactMap { $0 }.min()
    }

    func place(_ number: UInt64) -> Place {
      guard let next else { return held[number] == nil && !voids.contains(number) ? .held : .taken }
      if number < next { return .late }
      if number == next { return .next }
      return held[number] == nil && !voids.contains(number) ? .held : .taken
    }

    /// The numbers that are missing before the first one that waits; nil if none does.
    var hole: ClosedRange<UInt64>? {
      guard let next, let least = leastWaiting, least > next else { return nil }
      return next...least - 1
    }

    /// Removes what follows without a hole, and advances.
    mutating func takeContiguous() -> [Held] {
      var taken: [Held] = []
      while let number = next {
        if let entry = held.removeValue(forKey: number) {
          taken.append(entry)
        } else if voids.remove(number) == nil {
          break
        }
        next = number + 1
      }
      // Another hole has times of its own.
      holeSince = nil
      waitsSince = nil
      missingRequested = nil
      return taken
    }

    /// Gives the hole up. Returns the missing numbers and what follows them.
    mutating func skipHole() -> (missing: ClosedRange<UInt64>?, taken: [Held]) {
      let missing = hole
      guard let least = leastWaiting else { return (nil, []) }
      next = least
      return (missing, takeContiguous())
    }
  }
#endif

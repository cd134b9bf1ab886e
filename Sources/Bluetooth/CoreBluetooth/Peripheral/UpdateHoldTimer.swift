internal import BluetoothInterface
internal import Essentials

/// Measures, on the host's loop, how long some centrals hold up updates to others, and ends that at a
/// limit.
///
/// The limit is for the sum of all holds, whichever centrals cause them. It is restored by updates that
/// pass: completely by half a window of them. So the others get at least half a window in each two
/// seconds, and a central that is only slower than they are, but as fast as that, misses nothing.
final class UpdateHoldTimer: @unchecked Sendable {
  // Sendable because everything is accessed on the loop only.
  private let loop: any SessionLoop
  private let onExpiry: @Sendable (UInt64) -> Void
  private var timeLeft = Limits.updateHoldMax
  private var hold: (number: UInt64, since: Instant)?
  private var lastEnded: UInt64 = 0
  private var timer: (any LoopTimer)?

  /// - Parameter onExpiry: Called on the loop with the number of a hold that has lasted too long.
  init(loop: any SessionLoop, onExpiry: @escaping @Sendable (UInt64) -> Void) {
    self.loop = loop
    self.onExpiry = onExpiry
  }

  /// A hold begins. May be called from any thread.
  func begin(_ hold: UpdateWindows.Hold) {
    loop.execute { [weak self] in self?.begun(hold) }
  }

  /// A hold has ended. May be called from any thread.
  func end(_ number: UInt64) {
    loop.execute { [weak self] in self?.ended(number) }
  }

  private func begun(_ hold: UpdateWindows.Hold) {
    // Its end may have been reported first, by another thread.
    guard hold.number > lastEnded else { return }
    if let earlier = self.hold { spend(since: earlier.since) }
    let restored = Limits.updateHoldRestored * Int64(hold.passedCount)
    timeLeft = min(timeLeft + restored, Limits.updateHoldMax)
    self.hold = (hold.number, loop.now)
    if timer == nil { timer = loop.makeTimer { [weak self] in self?.expired() } }
    timer?.set(loop.now + timeLeft)
  }

  private func ended(_ number: UInt64) {
    lastEnded = max(lastEnded, number)
    guard let hold, hold.number <= number else { return }
    spend(since: hold.since)
    timer?.cancel()
    timer = nil
    self.hold = nil
  }

  private func expired() {
    guard let hold else { return }
    ended(hold.number)
    onExpiry(hold.number)
  }

  private func spend(since start: Instant) {
    timeLeft = max((start + timeLeft) - loop.now, .zero)
  }
}

import Essentials

/// When a client may get its next patch: the first change leaves at once, what follows is merged.
/// On average no more than one leaves in each ``BindingLimits/patchInterval``.
struct PatchRateLimit {
  /// The time up to which patches have been taken.
  private var taken = Instant.zero

  /// When the next patch may leave.
  ///
  /// - Parameter isUrgent: Whether the patch acknowledges user input: a few of those may leave in
  ///   advance. Others may by half an interval, so that all clients of a model get in step.
  func next(isUrgent: Bool) -> Instant {
    let interval = BindingLimits.patchInterval
    let advance =
      isUrgent ? interval * Int64(BindingLimits.urgentPatchCountMax) : interval.half
    return taken + advance * -1
  }

  /// Counts a patch.
  mutating func take(now: Instant) {
    taken = max(taken, now) + BindingLimits.patchInterval
  }
}

extension TimeSpan {
  var half: TimeSpan { TimeSpan(nanoseconds: nanoseconds / 2) }
}

package import Essentials
package import EventLoop
package import HubClientMachines
package import HubWire

/// What a hub has done about the request to forget sessions that it keeps.
package enum ForgottenSessions: Hashable, Sendable {
  /// The number of sessions that were kept, and aren't any more.
  case count(Int)
  /// They are another user's, and only root and the hub's user may have them forgotten.
  case notPermitted
}

/// The sessions that a hub keeps of programs that have ended.
package enum KeptSessions {
  /// Has the hub that listens at a path forget some of them: their scans, links, services and advertisements end. The
  /// hub is believed if root or this user runs it.
  ///
  /// - Parameters:
  ///   - filter: Which ones.
  ///   - path: Where the hub listens.
  ///   - limit: How long the answer may take.
  ///   - loop: The event loop.
  package static func forget(
    _ filter: KeptSessionFilter, at path: String,
    within limit: TimeSpan = HubClientLimits.greetingMax, on loop: EpollLoop = .shared
  ) async throws(HubFailure) -> ForgottenSessions {
    try await HubStatusReader.answer(
      to: .forgetting(filter), from: "ambit hub forget", at: path, within: limit, on: loop)
  }
}

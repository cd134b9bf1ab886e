import Synchronization

/// Keeps requests from a server that doesn't answer: each of them takes one of a browser's few connections until it
/// is given up. After one without an answer there is a pause, which doubles up to a minute; then a single request
/// tries the server, until one is answered.
final class SilentServer: Sendable {
  static let pauseMin = Duration.seconds(2)
  static let pauseMax = Duration.seconds(64)

  private struct State {
    /// When the server is tried again; nil if it answers.
    var pauseEnd: ContinuousClock.Instant?
    var pause = Duration.zero
    var isTried = false
  }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// - Parameter now: The time, from any thread.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

  /// The answer to a request.
  ///
  /// - Throws: What the request throws, or ``HTTPClient/Failure/noAnswer`` at once during a pause.
  func answer(
    _ request: () async throws(HTTPClient.Failure) -> HTTPClient.Answer
  ) async throws(HTTPClient.Failure) -> HTTPClient.Answer {
    guard begin() else { throw .noAnswer }
    do throws(HTTPClient.Failure) {
      let answer = try await request()
      state.withLock { $0 = State() }
      return answer
    } catch {
      if error == .noAnswer { beginPause() } else { state.withLock { $0 = State() } }
      throw error
    }
  }

  /// Whether a request may be made now.
  private func begin() -> Bool {
    state.withLock { state in
      guard let end = state.pauseEnd else { return true }
      guard !state.isTried, now() >= end else { return false }
      state.isTried = true
      return true
    }
  }

  /// Requests that were made together begin one pause.
  private func beginPause() {
    state.withLock { state in
      guard state.pauseEnd == nil || state.isTried else { return }
      state.isTried = false
      state.pause = min(max(state.pause * 2, Self.pauseMin), Self.pauseMax)
      state.pauseEnd = now() + state.pause
    }
  }
}

package import Essentials
package import EventLoop
package import HubClientMachines
package import HubWire

/// Reads the state of a hub, on a connection of its own.
package enum HubStatusReader {
  /// The usual pause before the next question, at least.
  package static let pauseMin = TimeSpan.seconds(2)

  /// Reads the state of the hub that listens at a path once. The hub is believed if root or this user runs it.
  ///
  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - limit: How long the answer may take.
  ///   - loop: The event loop.
  package static func read(
    at path: String, within limit: TimeSpan = HubClientLimits.greetingMax,
    on loop: EpollLoop = .shared
  ) async throws(HubFailure) -> HubStatus {
    try await answer(to: .status, from: "ambit hub status", at: path, within: limit, on: loop)
  }

  /// Reads the state of the hub that listens at a path once, and which user's process has sent it. Another process may
  /// have made the socket: the service manager, which is root's.
  ///
  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - limit: How long the answer may take.
  ///   - loop: The event loop.
  /// - Returns: The state, and the hub's user; nil if the system doesn't know it.
  package static func readWithUser(
    at path: String, within limit: TimeSpan = HubClientLimits.greetingMax,
    on loop: EpollLoop = .shared
  ) async throws(HubFailure) -> (status: HubStatus, userID: UInt32?) {
    let result: Result<(HubStatus, UInt32?), HubFailure> = await withCheckedContinuation {
      continuation in
      loop.execute {
        var sender: UInt32?
        let connection = HubQuestionConnection(
          .status, "ambit bonds", path: path, within: limit, on: loop, onSender: { sender = $0 },
          onResult: { result in continuation.resume(returning: result.map { ($0, sender) }) })
        connection.ask()
      }
    }
    return try result.get()
  }

  /// The answer of the hub that listens at a path to a question.
  ///
  /// - Parameter app: The name of this program among those of the hub. The user's ID is added.
  static func answer<Answer>(
    to question: HubQuestion<Answer>, from app: String, at path: String, within limit: TimeSpan,
    on loop: EpollLoop
  ) async throws(HubFailure) -> Answer {
    let result: Result<Answer, HubFailure> = await withCheckedContinuation { continuation in
      loop.execute {
        let connection = HubQuestionConnection(question, app, path: path, within: limit, on: loop) {
          continuation.resume(returning: $0)
        }
        connection.ask()
      }
    }
    return try result.get()
  }

  /// The states of the hub that listens at a path, and failures to read them, until the stream is ended.
  ///
  /// There is one connection, and one question at a time. The next one follows after a pause of `pause`, or of four
  /// times what the answer took: a hub that has much to do is asked less often. After a failure and the pause, it
  /// connects again. A reader that is slow gets the last result.
  ///
  /// - Parameters:
  ///   - app: The name of this program among those of the hub. The user's ID is added.
  ///   - path: Where the hub listens.
  ///   - limit: How long an answer may take.
  ///   - pause: The pause before the next question, at least.
  ///   - loop: The event loop.
  package static func states(
    for app: String, at path: String, within limit: TimeSpan = HubClientLimits.greetingMax,
    pause: TimeSpan = pauseMin, on loop: EpollLoop = .shared
  ) -> AsyncStream<Result<HubStatus, HubFailure>> {
    let (results, result) = AsyncStream.makeStream(
      of: Result<HubStatus, HubFailure>.self, bufferingPolicy: .bufferingNewest(1))
    let follower = LoopConfined(
      HubStatusFollower(app, path: path, within: limit, pause: pause, on: loop) {
        result.yield($0)
      },
      to: loop)
    result.onTermination = { _ in loop.execute { follower.value.close() } }
    loop.execute { follower.value.begin() }
    return results
  }
}

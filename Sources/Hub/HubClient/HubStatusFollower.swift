import Essentials
import EventLoop
import HubClientMachines
import HubWire

/// Reads the state of a hub again and again. Used on its loop only, until it is closed.
final class HubStatusFollower {
  private let app: String
  private let path: String
  private let limit: TimeSpan
  private let pause: TimeSpan
  private let loop: EpollLoop
  private let onResult: (Result<HubStatus, HubFailure>) -> Void
  private var connection: HubQuestionConnection<HubStatus>?
  private var timer: (any LoopTimer)?
  private var askedAt = Instant.zero
  private var isClosed = false

  init(
    _ app: String, path: String, within limit: TimeSpan, pause: TimeSpan, on loop: EpollLoop,
    onResult: @escaping (Result<HubStatus, HubFailure>) -> Void
  ) {
    self.app = app
    self.path = path
    self.limit = limit
    self.pause = pause
    self.loop = loop
    self.onResult = onResult
  }

  /// Connects, and sends the first question.
  func begin() {
    timer = loop.makeTimer { [weak self] in self?.ask() }
    ask()
  }

  /// Ends the connection. No result follows.
  func close() {
    isClosed = true
    timer?.cancel()
    timer = nil
    connection?.close()
    connection = nil
  }

  private func ask() {
    guard !isClosed else { return }
    askedAt = .now
    let connection =
      self.connection
      ?? HubQuestionConnection(.status, app, path: path, within: limit, isKept: true, on: loop) {
        [weak self] in
        self?.heard($0)
      }
    self.connection = connection
    connection.ask()
  }

  private func heard(_ result: Result<HubStatus, HubFailure>) {
    guard !isClosed else { return }
    switch result {
    case .success: timer?.set(.now + max(pause, (.now - askedAt) * 4))
    case .failure:
      // An end without a question, during the pause, is reported at once, too.
      connection = nil
      timer?.set(.now + pause)
    }
    onResult(result)
  }
}

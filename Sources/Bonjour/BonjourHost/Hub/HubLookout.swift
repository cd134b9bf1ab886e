import Essentials
import EventLoop
import PortSharing

/// Looks for a hub that was left, until it answers. On one event loop.
///
/// A hub that accepts connections, and whose process was stopped, is waited for at one connection. One
/// that has ended is looked for again and again. One that refuses the host is asked again after pauses that
/// grow: its rules may change, and another hub may take its place.
final class HubLookout {
  /// What a hub's answer means for the host.
  enum Answer {
    /// It serves the host.
    case serves
    /// It refuses it, with the reason, which is new. The search goes on.
    case refuses(OwnerMessage.RejectionReason)
  }

  private let addresses: [OwnerSocketAddress]
  private let trust: OwnerMachine.Trust
  private let configuration: SharedConfiguration
  private let loop: EpollLoop
  private var rng = SeededGenerator.random()
  private let isReady: () -> Bool
  private let onAnswer: (Answer) -> Void
  /// The reason of the last refusal, of which the host knows.
  private var refusal: OwnerMessage.RejectionReason?
  private var refusalPauses: RetryPauses
  private var connection: MessageConnection<OwnerMessage>?
  private lazy var timer = loop.makeTimer { [weak self] in self?.look() }

  /// The longest pause after a refusal, in shortest ones.
  private static let pauseFactorMax: Int64 = 16

  /// - Parameters:
  ///   - addresses: Where hubs listen. The first one that accepts connections is asked.
  ///   - trust: The users whose hubs are believed.
  ///   - configuration: That of the host.
  ///   - pauseMin: The time between two looks, without a random part, so that programs don't look at once.
  ///   - loop: The event loop of everything here.
  ///   - isReady: Whether the host would use a hub now; called before each look.
  ///   - onAnswer: Called once with a hub that serves the host, and before that with refusals.
  init(
    _ addresses: [OwnerSocketAddress], trust: OwnerMachine.Trust,
    _ configuration: SharedConfiguration, pauseMin: TimeSpan, on loop: EpollLoop,
    isReady: @escaping () -> Bool, onAnswer: @escaping (Answer) -> Void
  ) {
    self.addresses = addresses
    self.trust = trust
    self.configuration = configuration
    self.loop = loop
    refusalPauses = RetryPauses(from: pauseMin, to: pauseMin * Self.pauseFactorMax)
    self.isReady = isReady
    self.onAnswer = onAnswer
  }

  /// Looks for the first time after a pause, which is longer each time that a hub was left because it
  /// refused the host.
  ///
  /// - Parameters:
  ///   - isRefused: Whether the host left the hub because of a refusal, or of messages that are invalid.
  ///   - refusal: The reason of the refusal.
  func start(afterRefusal isRefused: Bool, _ refusal: OwnerMessage.RejectionReason?) {
    self.refusal = refusal
    if isRefused { return lookLater(after: refusalPauses.failed().pause) }
    refusalPauses.succeeded()
    lookLater()
  }

  /// Ends it; `onAnswer` is not called any more.
  func stop() {
    timer.cancel()
    connection?.close()
    connection = nil
  }

  /// - Parameter pause: Nil for the shortest.
  private func lookLater(after pause: TimeSpan? = nil) {
    let shortest = refusalPauses.shortest
    let more = Int64(rng.next(upperBound: UInt64(max(shortest.nanoseconds / 4, 1))))
    timer.set(.now + (pause ?? shortest) + .nanoseconds(more))
  }

  private func look() {
    guard isReady() else { return lookLater() }
    for address in addresses {
      guard let descriptor = address.connect(trust: trust).descriptor else { continue }
      connection = MessageConnection(descriptor, on: loop) { [weak self] _, event in
        self?.handle(event)
      }
      guard let connection else { break }
      _ = connection.send(
        ClientMessage.hello(versions: PortSharingProtocol.versions, configuration))
      return connection.flush()
    }
    lookLater()
  }

  private func handle(_ event: MessageConnection<OwnerMessage>.Event) {
    switch event {
    case .incomplete: break
    case .message(.welcome):
      stop()
      onAnswer(.serves)
    case .message(.rejected(let reason)): refused(reason)
    case .invalidMessage: refused(nil)
    case .closed:
      stop()
      lookLater()
    case .message(.report), .message(.pong): break
    }
  }

  private func refused(_ reason: OwnerMessage.RejectionReason?) {
    stop()
    lookLater(after: refusalPauses.failed().pause)
    guard let reason, reason != refusal else { return }
    refusal = reason
    onAnswer(.refuses(reason))
  }
}

import Essentials
import EventLoop
import PortSharing

/// Looks for a hub that was left, until it answers. On one event loop.
///
/// A hub that accepts connections, and whose process was stopped, is waited for at one connection. One
/// that has ended is looked for again and again.
final class HubLookout {
  /// What a hub's answer means for the host.
  enum Answer {
    /// It serves the host.
    case serves
    /// It won't, with the reason.
    case refuses(OwnerMessage.RejectionReason)
  }

  private let addresses: [OwnerSocketAddress]
  private let trust: OwnerMachine.Trust
  private let configuration: SharedConfiguration
  private let loop: EpollLoop
  private var rng = SeededGenerator.random()
  private let onAnswer: (Answer) -> Void
  private var connection: MessageConnection<OwnerMessage>?
  private lazy var timer = loop.makeTimer { [weak self] in self?.look() }

  /// The time between two looks, which programs must not take at the same moment.
  private static let pauseMin = TimeSpan.seconds(4)
  private static let spread = TimeSpan.seconds(1)

  /// - Parameters:
  ///   - addresses: Where hubs listen. The first one that accepts connections is asked.
  ///   - trust: The users whose hubs are believed.
  ///   - configuration: That of the host.
  ///   - loop: The event loop of everything here.
  ///   - onAnswer: Called once.
  init(
    _ addresses: [OwnerSocketAddress], trust: OwnerMachine.Trust,
    _ configuration: SharedConfiguration, on loop: EpollLoop,
    onAnswer: @escaping (Answer) -> Void
  ) {
    self.addresses = addresses
    self.trust = trust
    self.configuration = configuration
    self.loop = loop
    self.onAnswer = onAnswer
  }

  /// Looks for the first time after a pause.
  func start() { lookLater() }

  /// Ends it; `onAnswer` is not called any more.
  func stop() {
    timer.cancel()
    connection?.close()
    connection = nil
  }

  private func lookLater() {
    let more = Int64(rng.next(upperBound: UInt64(Self.spread.nanoseconds)))
    timer.set(.now + Self.pauseMin + .nanoseconds(more))
  }

  private func look() {
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
    case .message(.welcome): end(.serves)
    case .message(.rejected(.tooManyClients)), .message(.rejected(.tooManyRequests)),
      .invalidMessage, .closed:
      stop()
      lookLater()
    case .message(.rejected(let reason)): end(.refuses(reason))
    case .message(.report), .message(.pong): break
    }
  }

  private func end(_ answer: Answer) {
    stop()
    onAnswer(answer)
  }
}

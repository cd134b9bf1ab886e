import Essentials
import EventLoop
import PortSharing

// Whether the machines work that work for a host.

extension BonjourEngine {
  /// Calls back with whether the machines that work for this host do so now: where its owner is
  /// another process, when that has answered, has ended, or is left, in five seconds at most.
  func whenAvailable(_ body: @escaping @Sendable (BonjourHost.Availability) -> Void) {
    switch state {
    case .alone, .owning: body(.works)
    case .following(let owner):
      awaitingAvailability.append(body)
      updateNeed()
      _ = owner.connection.send(ClientMessage.ping)
      owner.connection.flush()
    case .searching: body(wasServedLately ? .works : .silent)
    case .refused: body(wasServedLately ? .works : .refused)
    case .stopping, .ended: body(.silent)
    }
  }

  /// Whether an owner ended so lately that its successor can't be missed yet.
  private var wasServedLately: Bool { servedUntil.map { .now - $0 < .seconds(1) } ?? false }

  func answered(_ availability: BonjourHost.Availability) {
    let waiting = awaitingAvailability
    awaitingAvailability = []
    for body in waiting { body(availability) }
    updateNeed()
  }
}

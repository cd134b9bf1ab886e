import BluetoothWire
import Essentials

/// Notices a controller that died, or lost its settings, without a word.
///
/// A controller behind a serial line that is reset or loses power for a moment comes back silent:
/// it knows no link, scans nothing, and has the default event mask, which hides all LE events. So
/// LE events prove that it is well; data doesn't, because no mask hides that. When none came for a
/// while it is asked for a setting that the host made at the start and that a reset undoes: the
/// suggested data length (Core 5.4, Vol 4, Part E, §7.8.34). A controller without data length extension can only prove
/// that it is alive, and so can one whose default is what the host suggests.
struct ControllerWatch: Sendable {
  /// How long a controller may have nothing to tell before it is asked. A person who waits for a
  /// device that nobody can find begins to doubt after that.
  static let patience = TimeSpan.seconds(10)

  private var mark: LESuggestedDataLength?
  private var asksAt = Instant.distantFuture

  /// When the controller is to be asked.
  var nextWake: Instant { asksAt }

  /// The controller is up; `abilities` say what it has kept of the host's settings.
  mutating func controllerStarted(_ abilities: ControllerAbilities, now: Instant) {
    mark = abilities.suggestedDataLength
    provenWell(now: now)
  }

  mutating func controllerStopped() { asksAt = .distantFuture }

  /// The controller sent what only one with the host's settings sends.
  mutating func provenWell(now: Instant) { asksAt = now + Self.patience }

  /// The question, if it is time for it.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard asksAt <= now else { return nil }
    asksAt = now + Self.patience
    return mark == nil
      ? LEReadFilterAcceptListSize().packet : LEReadSuggestedDefaultDataLength().packet
  }

  /// Whether the answer to the question is that of a controller with the host's settings.
  func isWell(_ answer: CommandAnswer) -> Bool {
    guard let mark, answer.status == .success else { return true }
    var reader = ByteReader(answer.parameters)
    return (try? LESuggestedDataLength(decoding: &reader)) == mark
  }
}

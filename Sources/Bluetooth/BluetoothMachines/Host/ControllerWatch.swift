import BluetoothWire
import Essentials

/// Notices a controller that died, lost its settings, or contradicts itself without reporting it.
///
/// A controller behind a serial line that is reset or loses power for a moment comes back silent:
/// it knows no link, scans nothing, and has the default event mask, which hides all LE events. So
/// LE events prove that it is well; data doesn't, because no mask hides that. When none came for a
/// while it is asked for a setting that the host made at the start and that a reset undoes: the
/// suggested data length (Core 5.4, Vol 4, Part E, §7.8.34). A controller without data length
/// extension can only prove that it is alive, and so can one whose default is what the host suggests.
struct ControllerWatch: Sendable {
  enum Limits {
    /// How long a controller may send no LE event before it is asked.
    static let silenceMax = TimeSpan.seconds(10)
    /// How many contradictions in a row make the host reset its controller: some ten seconds of
    /// them, longer than any end of a link or of a scan is late.
    static let contradictionsMax = 20
  }

  /// What a controller can contradict itself about.
  enum Activity: Int, Sendable, CaseIterable {
    case scanning
    case connecting
  }

  private var mark: LESuggestedDataLength?
  private var asksAt = Instant.distantFuture
  /// Contradictions in a row, by activity.
  private var contradictions = [0, 0]

  /// The time of the next check of the controller.
  var nextWake: Instant { asksAt }

  /// The controller is up; `abilities` contains the settings that it reports.
  mutating func controllerStarted(_ abilities: ControllerAbilities, now: Instant) {
    mark = abilities.suggestedDataLength
    provenWell(now: now)
  }

  mutating func controllerStopped() {
    asksAt = .distantFuture
    contradictions = [0, 0]
  }

  /// The controller sent what only one with the host's settings sends.
  mutating func provenWell(now: Instant) { asksAt = now + Limits.silenceMax }

  /// The question, if it is time for it.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard asksAt <= now else { return nil }
    asksAt = now + Limits.silenceMax
    return mark == nil
      ? LEReadFilterAcceptListSize().packet : LEReadSuggestedDefaultDataLength().packet
  }

  /// Whether the answer to the question is that of a controller with the host's settings.
  func isWell(_ answer: CommandAnswer) -> Bool {
    guard let mark, answer.status == .success else { return true }
    var reader = ByteReader(answer.parameters)
    return (try? LESuggestedDataLength(decoding: &reader)) == mark
  }

  /// Counts answers, one after the other, that contradict what the controller reported before: that
  /// it is still busy with an activity whose end it reported. Returns whether it is to be reset,
  /// which is what both sides can agree on again.
  mutating func isContradicted(_ status: HCIStatus, about activity: Activity) -> Bool {
    guard [.commandDisallowed, .connectionAlreadyExists].contains(status) else {
      contradictions[activity.rawValue] = 0
      return false
    }
    contradictions[activity.rawValue] += 1
    guard contradictions[activity.rawValue] >= Limits.contradictionsMax else { return false }
    contradictions[activity.rawValue] = 0
    return true
  }
}

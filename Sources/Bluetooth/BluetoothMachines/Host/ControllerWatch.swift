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
    /// The same while it scans: what clients take for the absence of a device may be its death, which is
    /// noticed after this and the times for an answer to the question and to the probe
    /// (`ScanOptions.radioFailureTimeMax`).
    static let scanSilenceMax = TimeSpan.seconds(2)
    /// For how long a controller must refuse an activity until the host restarts it: longer than any
    /// report of the end of a link or of a scan takes.
    static let refusalTimeMin = TimeSpan.seconds(10)
    /// How often it must have refused in that time.
    static let refusalCountMin = 4
    /// How often `refusalTimeMin` doubles, while restarts don't help.
    static let doublingsMax = 6
  }

  /// What a controller may refuse to begin.
  enum Activity: Int, Sendable, CaseIterable {
    case scanning
    case advertising
    case connecting
  }

  /// The refusals of one activity in a row.
  private struct Refusals: Sendable {
    var count = 0
    var first = Instant.zero
    /// How often the controller was restarted because of them without beginning the activity since.
    var restartCount = 0

    var timeMin: TimeSpan {
      Limits.refusalTimeMin * Int64(1 << min(restartCount, Limits.doublingsMax))
    }
  }

  private let checksSilence: Bool
  private var mark: LESuggestedDataLength?
  /// When it was proven well or asked last; nil while no controller is up.
  private var quietSince: Instant?
  /// Whether the controller scans, or is about to.
  var isScanning = false
  private var refusals = Activity.allCases.map { _ in Refusals() }

  /// - Parameter checksSilence: Whether a controller that sends nothing is asked.
  init(checksSilence: Bool) { self.checksSilence = checksSilence }

  /// The time of the next check of the controller.
  var nextWake: Instant {
    guard checksSilence else { return .distantFuture }
    let silenceMax = isScanning ? Limits.scanSilenceMax : Limits.silenceMax
    return quietSince.map { $0 + silenceMax } ?? .distantFuture
  }

  /// The controller is up; `abilities` contains the settings that it reports.
  mutating func controllerStarted(_ abilities: ControllerAbilities, now: Instant) {
    mark = abilities.suggestedDataLength
    confirmHealthy(now: now)
  }

  mutating func controllerStopped() {
    quietSince = nil
    isScanning = false
    for index in refusals.indices { refusals[index].count = 0 }
  }

  /// The controller sent what only one with the host's settings sends.
  mutating func confirmHealthy(now: Instant) { quietSince = now }

  /// The question, if it is time for it.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard nextWake <= now else { return nil }
    quietSince = now
    return mark == nil
      ? LEReadFilterAcceptListSize().packet : LEReadSuggestedDefaultDataLength().packet
  }

  /// Whether the answer to the question is that of a controller with the host's settings.
  func matchesSettings(_ answer: CommandAnswer) -> Bool {
    guard let mark, answer.status == .success else { return true }
    var reader = ByteReader(answer.parameters)
    return (try? LESuggestedDataLength(decoding: &reader)) == mark
  }

  /// Takes the answer to a command for an activity. Returns whether the controller is to be restarted,
  /// because it goes on refusing what nothing that it has reported forbids: it is still busy with
  /// something whose end it reported, or should have reported. What both sides agree on after a
  /// restart is that nothing is under way.
  ///
  /// - Parameters:
  ///   - begins: Whether the command begins the activity. The success of others, which prepare or
  ///     end it, proves nothing.
  ///   - isExplained: Whether what the host knows to be under way explains a refusal.
  mutating func mustRestart(
    _ status: HCIStatus, to activity: Activity, begins: Bool, isExplained: Bool, now: Instant
  ) -> Bool {
    let index = activity.rawValue
    if status == .success {
      if begins { refusals[index] = Refusals() }
      return false
    }
    guard [.commandDisallowed, .connectionAlreadyExists].contains(status), !isExplained else {
      refusals[index].count = 0
      return false
    }
    if refusals[index].count == 0 { refusals[index].first = now }
    refusals[index].count += 1
    guard refusals[index].count >= Limits.refusalCountMin,
      now - refusals[index].first >= refusals[index].timeMin
    else { return false }
    refusals[index].count = 0
    refusals[index].restartCount += 1
    return true
  }
}

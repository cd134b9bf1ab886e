package import Essentials

/// The times of RFC 6762 that have to do with asking.
package enum QuerierLimits {
  /// The random delay of the first question of a series that was caused by the network, so that
  /// hosts that wake at the same moment do not all send at once (RFC 6762, §5.2).
  static let firstDelay = (shortest: TimeSpan.milliseconds(20), longest: TimeSpan.milliseconds(120))
  /// The same where only a client caused the question: time for its other questions to be sent in
  /// the same packet.
  static let clientDelay = (shortest: TimeSpan.milliseconds(1), longest: TimeSpan.milliseconds(5))
  /// Within this time after a new record was multicast, other hosts may send the same question at
  /// the same moment as a client of this one.
  static let newsSpan = TimeSpan.milliseconds(100)
  /// The pause between the first two questions of a series (RFC 6762, §5.2).
  static let firstInterval = TimeSpan.seconds(1)
  /// By which factor pauses grow; RFC 6762, §5.2 requires at least two.
  static let intervalFactor: Int64 = 3
  /// The longest pause (RFC 6762, §5.2).
  static let intervalMax = TimeSpan.seconds(3_600)
  /// Unicast answers are taken for so long after a question that allowed them (RFC 6762, §6).
  static let unicastTimeout = TimeSpan.seconds(2)
  /// A question may be sent earlier, along with one that is due, by this part of its pause…
  static let joinDivisor: Int64 = 10
  /// …and by no more than this.
  static let joinMax = TimeSpan.seconds(1)
  /// When a reconfirmed record is queried, after the request (RFC 6762, §10.4 requires two at
  /// least).
  static let reconfirmationPauses: [TimeSpan] = [.zero, .seconds(1), .seconds(3)]
  /// Questions and clients at once: ten for each of five thousand programs.
  static let clientsMax = 50_000
  /// How many records are reconfirmed at once by own questions.
  static let reconfirmationsMax = 256
  /// Aliases followed for one client.
  static let aliasesMax = 8
  /// How long a service with a known host and port waits for its TXT record before it is reported
  /// without.
  package static let textTimeout = TimeSpan.seconds(1)
}

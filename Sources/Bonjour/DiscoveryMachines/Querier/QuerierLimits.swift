package import Essentials

/// The times and limits of a querier (RFC 6762).
package enum QuerierLimits {
  /// The random delay of the first question if the network caused it, so that hosts that wake at
  /// the same time don't all send at once (RFC 6762, §5.2).
  static let firstDelay = (shortest: TimeSpan.milliseconds(20), longest: TimeSpan.milliseconds(120))
  /// The random delay of the first question if only a client caused it, so that its other questions
  /// can be sent in the same packet.
  static let clientDelay = (shortest: TimeSpan.milliseconds(1), longest: TimeSpan.milliseconds(5))
  /// The time after a new record was multicast within which other hosts may send the same question
  /// as a client of this one.
  static let newsSpan = TimeSpan.milliseconds(100)
  /// The pause between the first two questions of a series (RFC 6762, §5.2).
  static let firstInterval = TimeSpan.seconds(1)
  /// The factor by which intervals grow; RFC 6762, §5.2 requires at least two.
  static let intervalFactor: Int64 = 3
  /// The maximum interval (RFC 6762, §5.2).
  static let intervalMax = TimeSpan.seconds(3_600)
  /// The time after a question within which unicast responses to it are accepted (RFC 6762, §6).
  static let unicastTimeout = TimeSpan.seconds(2)
  /// A question may be sent early, together with one that is due, by this fraction of its interval…
  static let joinDivisor: Int64 = 10
  /// …and by at most this time.
  static let joinMax = TimeSpan.seconds(1)
  /// The times after the request at which a reconfirmed record is queried (RFC 6762, §10.4 requires
  /// at least two queries).
  static let reconfirmationPauses: [TimeSpan] = [.zero, .seconds(1), .seconds(3)]
  /// The maximum number of queries: ten for each of five thousand programs.
  static let clientsMax = 50_000
  /// The maximum number of records that are reconfirmed at the same time without a client's query.
  static let reconfirmationsMax = 256
  /// The maximum number of aliases that are followed for one query.
  static let aliasesMax = 8
  /// The time that a service with a known host and port waits for its TXT record before it is
  /// reported without one.
  package static let textTimeout = TimeSpan.seconds(1)
}

/// What the simulated world bounds, and why at these numbers.
enum Limits {
  /// Commands a host may have outstanding. Controllers allow one; some hosts send two at once after
  /// a reset. More than this is a host that does not count, and the rest is dropped.
  static let queuedCommandsMax = 16
  /// Advertisers that the duplicate filter remembers. Real controllers keep dozens to hundreds;
  /// 5,000 advertisers in front of one scanner should still be reported once each.
  static let duplicateFilterMax = 8_192
  /// Resolved private addresses remembered, so that AES runs once per address, not per report.
  static let resolutionCacheMax = 4_096
  /// Longest advertising data of a set (Core 5.4, Vol 4, Part E, §7.8.57).
  static let advertisingDataMax = 1_650
  /// Largest piece of advertising data in one report: 255 bytes of event parameters less 26 of
  /// header (Core 5.4, Vol 4, Part E, §7.7.65.13).
  static let reportDataMax = 229
  /// Advertising data carried by AUX_ADV_IND before a chain is needed: 255 less the longest
  /// extended header.
  static let auxiliaryDataMax = 238
  /// Time on air after which a connection event hands control back, so that hosts can answer
  /// within a long event.
  static let eventSliceNanoseconds: Int64 = 2_500_000
  /// Link-layer procedures give up after this long (Core 5.4, Vol 6, Part B, §5.2).
  static let procedureTimeoutNanoseconds: Int64 = 40_000_000_000
  /// The number of intervals without any packet after which a new connection is given up (Core 5.4,
  /// Vol 6, Part B, §4.5.2).
  static let establishmentEvents: Int64 = 6
  /// From an LL procedure with an instant to that instant, in connection events
  /// (Core 5.4, Vol 6, Part B, §5.1.1).
  static let instantEvents: UInt64 = 6
  /// Longest payload of a packet of a connection, without its MIC (Core 5.4, Vol 6, Part B, §2.4).
  static let linkPayloadMax = 251
  /// Highest connection handle (Core 5.4, Vol 4, Part E, §5.4.2).
  static let connectionHandleMax: UInt16 = 0x0EFF
  /// High duty cycle directed advertising ends after 1.28 s (Core 5.4, Vol 6, Part B, §4.4.2.4.3).
  static let directedAdvertisingNanoseconds: Int64 = 1_280_000_000
  /// How long a single completed packet waits to be reported without pacing, as TCP delays an
  /// acknowledgement: a fraction of the shortest connection interval, after which a real controller
  /// would report it.
  static let completionDelayNanoseconds: Int64 = 2_000_000
}

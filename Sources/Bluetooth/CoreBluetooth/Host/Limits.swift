internal import Essentials

/// The bounds of the face, each with the reason for its number.
enum Limits {
  /// The attribute protocol's smallest MTU (Core 5.4, Vol 3, Part F, §3.2.8).
  static let mtuMin = 23
  /// Opcode and handle before the value (Core 5.4, Vol 3, Part F, §3.4.7.1).
  static let notificationHeaderByteCount = 3
  /// The longest attribute value (Core 5.4, Vol 3, Part F, §3.2.9).
  static let valueByteCountMax = 512
  /// Writes without response on their way at once per peripheral: enough that a fast radio never
  /// waits for the app, little enough that a write is on the air within a second at 30 ms with four
  /// packets an event.
  static let writesWithoutResponseMax = 128
  /// Updates on their way at once to each central of a peripheral manager; as above.
  static let updatesMax = 128
  /// How long a central that takes nothing at all may hold up updates to others: shorter than anyone
  /// waits for a value, longer than a link with interference needs for one of them.
  static let updateHoldMax: TimeSpan = .seconds(2)
  /// The same in connection intervals, for links on which they are long: an indication and its
  /// confirmation take two, and one may be lost.
  static let updateHoldIntervals: Int64 = 3
  /// The maximum of both: three of the longest connection intervals (Core 5.4, Vol 4, Part E, §7.8.18).
  static let updateHoldLimit: TimeSpan = .seconds(12)
  /// How long a central has room before the app is called, if it is less than half a window: a slow link
  /// must not run empty, and a fast one should be filled in large pieces.
  static let updateRoomDelay: TimeSpan = .milliseconds(100)
  /// For how long a state shall be preserved: without an end, as Apple's is. The host grants what its rules allow.
  static let keptTime: TimeSpan = .seconds(10 * 366 * 86_400)
  /// Handled events that are acknowledged to the host at once. The host stops peers at a multiple of
  /// this, so that a few that are not acknowledged yet stop nothing.
  static let acknowledgedBatch = 64
  /// Advertisers whose data is remembered during a scan: as many as the host remembers.
  static let advertisementsMax = 4_096
  /// Bytes that wait in a channel's output stream: a stream of 64 kB is ahead of any radio.
  static let channelOutputByteCountMax = 65_536
  /// Advertising data of Core Bluetooth beside the flags, headers included.
  static let advertisingByteCountMax = 28
  /// A name in the scan response, without its header.
  static let scanResponseNameByteCountMax = 10
  /// A legacy advertising PDU's data (Core 5.4, Vol 6, Part B, §2.3.1.1).
  static let legacyByteCountMax = 31
}

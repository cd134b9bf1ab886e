internal import Essentials

/// The bounds of the API module, each with the reason for its number.
enum Limits {
  /// Regions that a program monitors at once, and conditions of its monitors (Apple: Region Monitoring
  /// and iBeacon).
  static let regionsMax = 20
  /// Bytes of a text in an archive or a snapshot: identifiers are names that a program made up.
  static let textByteCountMax = 1_024
  /// Notices that wait for a manager's run loop or queue. Those that supersede each other take one place,
  /// so that only a program that causes them itself, without ever running its loop, gets there.
  static let noticesMax = 1_024
  /// How long the first call of a delegate waits before that is logged. Programs are busy for seconds
  /// when they start.
  static let firstCallMax = TimeSpan.seconds(10)
}

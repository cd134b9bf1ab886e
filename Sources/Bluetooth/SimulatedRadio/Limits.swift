import Essentials

/// What bounds the simulated radio's use of memory and time, and why so.
enum Limits {
  /// Rounds of requests and events at one point of virtual time: a client that answers every event
  /// with a request that fails at once would stop time.
  static let roundsPerInstant = 10_000
  /// Bytes that wait for one slow reader before it misses advertising reports and its own packets
  /// are no longer read.
  static let slowReaderByteCount = 256 * 1024
  /// Bytes that wait for one slow reader before it is disconnected.
  static let pendingByteCount = 4 * 1024 * 1024
  /// How far a world in real time may lag behind before its clock is set back; shorter than the
  /// shortest supervision timeout, so that no link drops because a process was stopped.
  static let worldLag = TimeSpan.milliseconds(90)
}

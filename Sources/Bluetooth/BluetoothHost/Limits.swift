import Essentials

/// What bounds this host's use of memory and time, and why so.
enum Limits {
  /// Linux has room for 108 bytes in a `sockaddr_un`, the last of them zero.
  static let unixPathByteCount = 107
  /// The most that is read at once: holds the largest HCI packet and a burst of small ones.
  static let readByteCount = 128 * 1024
  /// How long a connection may take: loopback takes a millisecond, a continent a second.
  static let connectTimeout = TimeSpan.seconds(5)
  /// Captured packets wait so long to be written: what a killed process loses at most.
  static let captureFlushInterval = TimeSpan.milliseconds(100)
  /// Captured bytes that wait at most; the size from which writing in one piece gains nothing more.
  static let captureBufferByteCount = 64 * 1024
  /// Rounds of requests and events at one point of virtual time: a client that answers every event
  /// with a request that fails at once would stop time.
  static let roundsPerInstant = 10_000
  /// Bytes that wait for one slow reader before it misses advertising reports and its own packets
  /// are no longer read.
  static let slowReaderByteCount = 256 * 1024
  /// Bytes that wait for one slow reader before it is cut off.
  static let pendingByteCount = 4 * 1024 * 1024
  /// How far a world in real time may lag behind before its clock is set back; shorter than the
  /// shortest supervision timeout, so that no link drops because a process was stopped.
  static let worldLag = TimeSpan.milliseconds(90)
}

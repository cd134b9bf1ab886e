import Essentials

/// What bounds this host's use of memory and time, and why so.
enum Limits {
  /// How long a connection may take: loopback takes a millisecond, a continent a second.
  static let connectTimeout = TimeSpan.seconds(5)
  /// Captured bytes that wait at most; the size from which writing in one piece gains nothing more.
  static let captureBufferByteCount = 64 * 1024
  /// Bytes that wait for a controller that reads slowly before the connection is given up.
  static let pendingByteCount = 4 * 1024 * 1024
}

@preconcurrency import Glibc

/// The C library's stream for what an app prints.
enum StandardOutput {
  /// Writes each line at once, so that no crash loses one.
  static func divideIntoLines() { setvbuf(stdout, nil, _IOLBF, 0) }
}

@preconcurrency internal import Glibc

/// The C library's stream for what an app prints.
enum StandardOutput {
  /// Writes each line at once: the manager reads it from a pipe.
  static func divideIntoLines() { setvbuf(stdout, nil, _IOLBF, 0) }
}

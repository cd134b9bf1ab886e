@preconcurrency import Glibc

/// The C library's stream for what a program prints.
enum StandardOutput {
  /// Writes each line at once, also into a pipe or a file.
  static func divideIntoLines() { setvbuf(stdout, nil, _IOLBF, 0) }
}

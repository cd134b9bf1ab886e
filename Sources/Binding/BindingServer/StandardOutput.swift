#if BindingServer
  @preconcurrency internal import Glibc

  /// The C library's stream for what a program prints.
  enum StandardOutput {
    /// Writes printed text, which would wait for more on its way into a file or a pipe.
    static func flush() { fflush(stdout) }
  }
#endif

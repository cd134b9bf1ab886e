import Glibc

/// The files that the program may have open (getrlimit(2), `RLIMIT_NOFILE`).
enum OpenFiles {
  /// How many more any command has to be able to open: for signals, timers, the event loop, and the
  /// sockets of one or two interfaces.
  static let countMin = 24

  /// Opens standard input, output and error where the caller closed them. Otherwise the program's own
  /// descriptors would have their numbers: its text would go to an event queue, and it would wait for
  /// that for ever.
  ///
  /// Reading finds no bytes. Writing fails, as on a closed descriptor, because the text would be lost.
  static func openStandard() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      guard fcntl(descriptor, F_GETFD) < 0, errno == EBADF else { continue }
      // The system uses the lowest free number, which is this one.
      _ = open("/dev/null", O_RDONLY)
    }
  }

  /// Fails where fewer may be opened, raising the soft limit first if the hard one allows it. Dispatch
  /// and the Swift runtime end the program without a sentence when they get no descriptor.
  static func check() throws(CommandFailure) {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    var mayRaise = true
    while opened.count < countMin {
      let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      if descriptor >= 0 {
        opened.append(descriptor)
      } else if errno == EMFILE, mayRaise {
        mayRaise = false
        raiseSoftLimit()
      } else if errno == EMFILE || errno == ENFILE {
        throw CommandFailure(
          .failure,
          "only \(opened.count) more files may be opened, and \(countMin) are needed (ulimit -n)")
      } else {
        return
      }
    }
  }

  private static func raiseSoftLimit() {
    var limits = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return }
    guard limits.rlim_cur < limits.rlim_max else { return }
    limits.rlim_cur += min(limits.rlim_max - limits.rlim_cur, rlim_t(countMin))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  }
}

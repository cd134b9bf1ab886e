import BonjourHost
import CLinux
import Glibc

/// The host on which everything of this process happens.
enum SharedHost {
  private struct Started: Sendable {
    let host: BonjourHost
    let processID: pid_t
  }

  private static let started = start()

  /// The host, which starts with its first use. A process that was forked off from one where it
  /// runs has no part in it, nor a host of its own.
  static func host() throws(ServiceError) -> BonjourHost {
    guard started.processID == getpid() else { throw .notRunning }
    return started.host
  }

  private static func start() -> Started {
    let host = BonjourHost()
    atexit { SharedHost.sayGoodbye() }
    return Started(host: host, processID: getpid())
  }

  /// How long the process may be kept from ending.
  private static let timeoutMilliseconds: Int32 = 1_000

  /// Registrations end with the process; goodbye records notify other hosts.
  private static func sayGoodbye() {
    guard started.processID == getpid() else { return }
    let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
    guard descriptor >= 0 else { return }
    started.host.close { eventfd_write(descriptor, 1) }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, timeoutMilliseconds)
  }
}

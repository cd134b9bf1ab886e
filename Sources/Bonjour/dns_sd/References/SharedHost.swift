import BonjourHost
import CLinux
import Glibc
import Synchronization

/// The host on which everything of this process happens.
enum SharedHost {
  private struct Started: Sendable {
    let host: BonjourHost
    let processID: pid_t
  }

  private static let started = start()
  private static let isStarted = Atomic(false)

  /// What a host opens at first: for its event loop, changes of interfaces, and a hub's connection or
  /// the sockets of one or two interfaces.
  private static let descriptorCountMin = 12

  /// The host, which starts with its first use. Throws ``ServiceError/noMemory`` where the process
  /// has no descriptors left for it, without which it would never answer. A process that was forked
  /// off from one where it runs has no part in it, nor a host of its own.
  static func host() throws(ServiceError) -> BonjourHost {
    if !isStarted.load(ordering: .relaxed) {
      guard FreeDescriptors.canOpen(descriptorCountMin) else { throw .noMemory }
      isStarted.store(true, ordering: .relaxed)
    }
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

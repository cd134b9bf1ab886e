import Glibc
import NIOCore
import NIOPosix

extension BonjourHost {
  /// Starts a host inside a library, in a process that is somebody else's: it has one thread, which
  /// takes no signals, and what the process does about SIGPIPE stays as it was.
  ///
  /// Call it before anything else in the process starts an event loop, and once.
  public static func forLibrary(
    configuration: BonjourConfiguration = BonjourConfiguration()
  ) -> BonjourHost {
    NIOSingletons.groupLoopCountSuggestion = 1
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    // Threads begin with the mask of who makes them.
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var brokenPipe = sigaction()
    sigaction(SIGPIPE, nil, &brokenPipe)
    openFirstDescriptor()
    // A thread that takes no signals needs nobody to ignore this one.
    sigaction(SIGPIPE, &brokenPipe, nil)
    return BonjourHost(configuration: configuration)
  }

  /// The first descriptor that swift-nio is given makes it ignore SIGPIPE in the whole process.
  private static func openFirstDescriptor() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    let opening = NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .takingOwnershipOfDescriptor(input: ends[0])
    if let channel = try? opening.wait() { channel.close(promise: nil) }
    Glibc.close(ends[1])
  }
}

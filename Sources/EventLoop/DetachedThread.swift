import Glibc

/// Creates detached threads.
package enum DetachedThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Runs `body` on a new thread, which blocks all signals except those that it raises itself.
  ///
  /// - Returns: Whether the thread could be created.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    for own in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&all, own) }
    // A thread starts with the mask of the thread that makes it.
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let retained = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let status = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, retained.toOpaque())
    guard status == 0 else {
      retained.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}

import Dispatch
import Glibc
import Synchronization

/// Ctrl-C and its kin: the first ends the command in order, the second at once. Ctrl-Z stops it,
/// with the terminal as it was before.
final class Interrupts: Sendable {
  private struct State {
    var received: Int32?
    var task: Task<Void, any Error>?
    var onRedraw: (@Sendable () -> Void)?
    var interceptor: (@Sendable () -> Bool)?
  }

  /// How often a job in the background that wants the whole screen looks whether it is there.
  private static let backgroundTime = DispatchTimeInterval.milliseconds(100)

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "ambit.signals")

  static let shared = Interrupts()

  private init() {}

  /// The signal that ended the command, if one did.
  var received: Int32? { state.withLock(\.received) }

  /// Begins to watch.
  func watch() {
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT] {
      signal(number, SIG_IGN)
      // Sources may be used from any thread; the handler keeps its own alive as long as the
      // program runs.
      nonisolated(unsafe) let source = DispatchSource.makeSignalSource(
        signal: number, queue: queue)
      source.setEventHandler { [self] in
        if !source.isCancelled { handle(number) }
      }
      source.resume()
    }
  }

  /// The task that a signal cancels.
  func cancels(_ task: Task<Void, any Error>) {
    let isLate = state.withLock { state in
      state.task = task
      return state.received != nil
    }
    if isLate { task.cancel() }
  }

  /// Calls `body` whenever the terminal changes its size, or is the program's again after another
  /// had it.
  func onRedraw(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRedraw = body } }

  /// Lets `body` see each Ctrl-C first; where it returns true, the command goes on.
  func intercept(_ body: (@Sendable () -> Bool)?) { state.withLock { $0.interceptor = body } }

  private func handle(_ number: Int32) {
    if number == SIGINT, let interceptor = state.withLock(\.interceptor), interceptor() { return }
    switch number {
    case SIGWINCH: state.withLock(\.onRedraw)?()
    case SIGTSTP: stop()
    case SIGCONT: continued()
    default: end(number)
    }
  }

  private func end(_ number: Int32) {
    let (isSecond, task) = state.withLock { state in
      let isSecond = state.received != nil
      state.received = number
      return (isSecond, state.task)
    }
    if isSecond {
      Terminal.restore()
      _exit(128 + number)
    }
    task?.cancel()
  }

  // MARK: Ctrl-Z

  /// Gives the terminal back and stops, until the shell continues the job.
  private func stop() {
    Terminal.suspend()
    Self.stopProcess()
    continued()
  }

  private func continued() {
    guard Terminal.isInBackground else {
      Terminal.resume()
      state.withLock(\.onRedraw)?()
      return
    }
    // In the background there is nothing to show: it stops again, as editors do. A shell gives no
    // sign when a running job is in the foreground again.
    Terminal.suspend()
    guard Terminal.isSuspended else { return }
    queue.asyncAfter(deadline: .now() + Self.backgroundTime) { [self] in
      guard Terminal.isSuspended else { return }
      if Terminal.isInBackground { Self.stopProcess() }
      continued()
    }
  }

  /// Stops as if the signal were not watched. Returns when continued, or at once where no shell is
  /// there to continue it.
  private static func stopProcess() {
    var stopping = sigset_t()
    sigemptyset(&stopping)
    sigaddset(&stopping, SIGTSTP)
    var mask = sigset_t()
    var standard = sigaction()
    standard.__sigaction_handler.sa_handler = SIG_DFL
    // Dispatch watches the signal with a handler of its own.
    var watching = sigaction()
    sigaction(SIGTSTP, &standard, &watching)
    pthread_sigmask(SIG_UNBLOCK, &stopping, &mask)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    sigaction(SIGTSTP, &watching, nil)
  }
}

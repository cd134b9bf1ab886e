import Dispatch
import Glibc
import Synchronization

/// Ctrl-C and its kin: the first ends the command in order, the second at once. Ctrl-Z stops it,
/// with the terminal as it was before.
///
/// A repeated SIGTERM is the same request: service managers, wrappers and scripts send it to the process and to its
/// group. Only the third one ends the clean-up.
///
/// The process ends by the signal itself, as if it were not watched: a shell then ends its loop, and
/// systemd doesn't count a failure (docs/decisions/0185-commands-end-and-fail-as-services-expect.md). A signal that
/// was ignored when the program began stays ignored.
final class Interrupts: Sendable {
  private struct State {
    var received: Int32?
    var endings = SignalEndings()
    var task: Task<Void, any Error>?
    var onRedraw: (@Sendable () -> Void)?
    var interceptor: (@Sendable () -> Bool)?
    var stopInterceptor: (@Sendable () -> Bool)?
  }

  /// How often a job in the background that wants the whole screen looks whether it is there.
  private static let backgroundTime = DispatchTimeInterval.milliseconds(100)

  /// How often a reader of keys looks whether the terminal is this program's again, in microseconds.
  private static let suspendedPause: UInt32 = 50_000
  /// How long the clean-up may take while the process runs. After it the process ends without.
  private static let cleanUpTime = Duration.seconds(5)
  /// The signals that end the process.
  private static let endings = [SIGINT, SIGTERM, SIGHUP]

  private let state = Mutex(State())
  private let endQueue = DispatchQueue(label: "ambit.end")
  /// Of its own, because it waits for a terminal that takes no output.
  private let terminalQueue = DispatchQueue(label: "ambit.terminal")

  static let shared = Interrupts()

  private init() {}

  /// The signals that were ignored when this was read first, before any is watched: `nohup` and
  /// shells without job control ignore some for their commands.
  static let inheritedIgnored: Set<Int32> = Set(
    (endings + [SIGTSTP, SIGPIPE, SIGQUIT]).filter { number in
      var action = sigaction()
      guard sigaction(number, nil, &action) == 0 else { return false }
      // A function pointer, which can't be compared as such.
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
    })

  /// The signal that ended the command, if one did.
  var received: Int32? { state.withLock(\.received) }

  /// Begins to watch.
  func watch() {
    for number in Self.endings { watch(number, on: endQueue) }
    for number in [SIGWINCH, SIGTSTP, SIGCONT] { watch(number, on: terminalQueue) }
  }

  private func watch(_ number: Int32, on queue: DispatchQueue) {
    guard !Self.inheritedIgnored.contains(number) else { return }
    // Until the source is registered, which happens on another thread, a signal has its default action:
    // one that was ignored meanwhile would be lost.
    //
    // Sources may be used from any thread; the handler keeps its own alive as long as the
    // program runs.
    nonisolated(unsafe) let source = DispatchSource.makeSignalSource(
      signal: number, queue: queue)
    source.setEventHandler { [self] in
      if !source.isCancelled { handle(number) }
    }
    source.resume()
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

  /// The same for each Ctrl-Z.
  func interceptStop(_ body: (@Sendable () -> Bool)?) {
    state.withLock { $0.stopInterceptor = body }
  }

  /// Does what Ctrl-C does in a terminal that makes signals of keys: interrupts all programs of this job. This one
  /// handles it a moment later, as any signal.
  func interruptByKey() {
    guard !Self.inheritedIgnored.contains(SIGINT) else { return }
    kill(0, SIGINT)
  }

  /// Stops all programs of this job, as Ctrl-Z does, until the terminal is this program's again. Waits.
  func stopByKey() {
    terminalQueue.sync {
      if Self.inheritedIgnored.contains(SIGTSTP) { continued() } else { stop(withJob: true) }
    }
    while Terminal.isSuspended { usleep(Self.suspendedPause) }
  }

  private func handle(_ number: Int32) {
    if number == SIGINT, let interceptor = state.withLock(\.interceptor), interceptor() { return }
    if number == SIGTSTP, let interceptor = state.withLock(\.stopInterceptor), interceptor() {
      return
    }
    switch number {
    case SIGWINCH: state.withLock(\.onRedraw)?()
    case SIGTSTP: stop()
    case SIGCONT: continued()
    default: end(number)
    }
  }

  private func end(_ number: Int32) {
    let (step, task) = state.withLock { state in
      let step = state.endings.receive(number)
      if step != .goOn { state.received = number }
      return (step, state.task)
    }
    switch step {
    case .goOn: return
    case .endNow: endNow(number)
    case .end: break
    }
    // A reader that is stuck would hold up the clean-up.
    Output.limitWaiting()
    task?.cancel()
    endNow(number, after: RunningTime(Self.cleanUpTime))
  }

  private func endNow(_ number: Int32, after time: RunningTime) {
    var time = time
    guard let pause = time.look() else { endNow(number) }
    endQueue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [self, time] in
      endNow(number, after: time)
    }
  }

  private func endNow(_ number: Int32) -> Never {
    Output.waitNoMore()
    Terminal.restore()
    Self.endProcess(by: number)
  }

  /// Ends the process by a signal, as if it were not watched.
  static func endProcess(by number: Int32) -> Never {
    var ending = sigset_t()
    sigemptyset(&ending)
    sigaddset(&ending, number)
    signal(number, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &ending, nil)
    raise(number)
    // The first process of a container has no default actions.
    _exit(128 + number)
  }

  // MARK: Ctrl-Z

  /// Gives the terminal back and stops, until the shell continues the job.
  private func stop(withJob: Bool = false) {
    Terminal.suspend()
    Self.stopProcess(withJob: withJob)
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
    terminalQueue.asyncAfter(deadline: .now() + Self.backgroundTime) { [self] in
      guard Terminal.isSuspended else { return }
      if Terminal.isInBackground { Self.stopProcess() }
      continued()
    }
  }

  /// Stops as if the signal were not watched. Returns when continued, or at once where no shell is
  /// there to continue it.
  private static func stopProcess(withJob: Bool = false) {
    var stopping = sigset_t()
    sigemptyset(&stopping)
    sigaddset(&stopping, SIGTSTP)
    var mask = sigset_t()
    var standard = sigaction()
    standard.__sigaction_handler.sa_handler = SIG_DFL
    // Dispatch watches the signal with a handler of its own.
    var watching = sigaction()
    sigaction(SIGTSTP, &standard, &watching)
    if withJob {
      // This process last, as the others couldn't be signalled any more.
      signal(SIGTSTP, SIG_IGN)
      kill(0, SIGTSTP)
      sigaction(SIGTSTP, &standard, nil)
    }
    pthread_sigmask(SIG_UNBLOCK, &stopping, &mask)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    sigaction(SIGTSTP, &watching, nil)
  }
}

/// The reaction of a command to each signal that ends it.
struct SignalEndings {
  enum Step: Hashable {
    /// It cleans up, and ends.
    case end
    /// It ends without the rest of the clean-up.
    case endNow
    /// It goes on with what it does.
    case goOn
  }

  /// A hub that is ended twice by a script still removes its sockets, and a stuck one can be ended.
  private static let terminationsMax = 3

  private var isEnding = false
  private var terminationCount = 0

  /// A signal arrives: SIGINT, SIGTERM or SIGHUP.
  mutating func receive(_ number: Int32) -> Step {
    if number == SIGTERM { terminationCount += 1 }
    guard isEnding else {
      isEnding = true
      return .end
    }
    switch number {
    // A terminal that is closed sends more than one.
    case SIGHUP: return .goOn
    case SIGTERM: return terminationCount < Self.terminationsMax ? .goOn : .endNow
    default: return .endNow
    }
  }
}

/// Ctrl-C and Ctrl-Z, for a command in another module for which they mean something of its own.
package enum TerminalKeys {
  /// Calls `body` with `SIGINT` or `SIGTSTP` instead of ending or stopping the command.
  package static func intercept(_ body: @escaping @Sendable (Int32) -> Void) {
    Interrupts.shared.intercept {
      body(SIGINT)
      return true
    }
    Interrupts.shared.interceptStop {
      body(SIGTSTP)
      return true
    }
  }
}

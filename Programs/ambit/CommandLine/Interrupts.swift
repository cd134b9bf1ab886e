import Dispatch
import Glibc
import Synchronization

/// Ctrl-C and its kin: the first ends the command in order, the second at once.
final class Interrupts: Sendable {
  private struct State {
    var received: Int32?
    var task: Task<Void, any Error>?
    var onResize: (@Sendable () -> Void)?
    var interceptor: (@Sendable () -> Bool)?
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "ambit.signals")

  static let shared = Interrupts()

  private init() {}

  /// The signal that ended the command, if one did.
  var received: Int32? { state.withLock(\.received) }

  /// Begins to watch.
  func watch() {
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGWINCH] {
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

  /// Calls `body` whenever the terminal changes its size.
  func onResize(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onResize = body } }

  /// Lets `body` see each Ctrl-C first; where it returns true, the command goes on.
  func intercept(_ body: (@Sendable () -> Bool)?) { state.withLock { $0.interceptor = body } }

  private func handle(_ number: Int32) {
    if number == SIGINT, let interceptor = state.withLock(\.interceptor), interceptor() { return }
    if number == SIGWINCH {
      state.withLock(\.onResize)?()
      return
    }
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
}

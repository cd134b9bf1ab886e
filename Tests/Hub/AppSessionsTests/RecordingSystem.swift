import AppMachines
import AppSessions
import Essentials
import Synchronization

/// A system that writes down what a process reports.
final class RecordingSystem: AppSystem {
  private struct State {
    var reports: [AppMachine.ProcessEvent] = []
    var refusesTasks = false
    var nextSocket: UInt64 = 1
    var onExchange: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  weak var session: AppSession? {
    get { box.withLock { $0 } }
    set { box.withLock { $0 = newValue } }
  }
  private let box = Mutex<AppSession?>(nil)

  var reports: [AppMachine.ProcessEvent] { state.withLock { $0.reports } }

  func refuseTasks() { state.withLock { $0.refusesTasks = true } }

  func report(_ event: AppMachine.ProcessEvent) {
    let refuses = state.withLock { state in
      state.reports.append(event)
      return state.refusesTasks
    }
    if refuses, case .beganBackgroundTask(let task) = event {
      session?.receive(.refuseBackgroundTask(task))
    }
  }

  func request(_ request: AppRequest) -> AppReply { .done }

  var nextSocket: UInt64 { state.withLock(\.nextSocket) }

  /// Sets the number of the next socket that it holds.
  func setNextSocket(_ number: UInt64) { state.withLock { $0.nextSocket = number } }

  /// Sets what happens in the process while it waits for the next answers about sockets.
  func setOnExchange(_ body: (@Sendable () -> Void)?) { state.withLock { $0.onExchange = body } }

  func exchange(
    _ request: HeldSocketRequest, with descriptor: Int32?
  ) -> (reply: HeldSocketReply, descriptor: Int32?) {
    state.withLock(\.onExchange)?()
    if case .take = request { return (.none, nil) }
    let number = state.withLock { state in
      defer { state.nextSocket += 1 }
      return state.nextSocket
    }
    return (.held(number), nil)
  }

  var backgroundTimeRemaining: TimeSpan? { nil }
}

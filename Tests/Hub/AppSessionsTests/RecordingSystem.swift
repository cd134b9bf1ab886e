import AppMachines
import AppSessions
import Essentials
import Synchronization

/// A system that writes down what a process reports.
final class RecordingSystem: AppSystem {
  private struct State {
    var reports: [AppMachine.ProcessEvent] = []
    var refusesTasks = false
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
  var backgroundTimeRemaining: TimeSpan? { nil }
}

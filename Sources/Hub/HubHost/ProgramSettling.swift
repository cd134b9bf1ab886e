import BluetoothInterface
import Dispatch
import Essentials
import Synchronization

/// The answer of a program that virtual time waits for. The thread that advances the time waits for it.
final class SettlingAnswer: Sendable {
  private let wake = Mutex<Instant?>(nil)
  private let arrival = DispatchSemaphore(value: 0)

  /// The program has handled its events, or is gone. Called once.
  func arrived(_ wake: Instant?) {
    self.wake.withLock { $0 = wake }
    arrival.signal()
  }

  /// Waits for the program. Returns when it is to be asked again.
  func wait() -> Instant? {
    arrival.wait()
    return wake.withLock { $0 }
  }
}

/// A session of a program with a radio of virtual time, on which the time stops for the program's timers.
final class ProgramWake: @unchecked Sendable {
  // Sendable because everything that changes is used on the radio's loop only.
  private let loop: any SessionLoop
  private weak var session: (any HostSession)?
  private var timer: (any LoopTimer)?

  init(of session: any HostSession) {
    loop = session.loop
    self.session = session
  }

  /// Has the program asked again at a time, or not.
  func set(_ wake: Instant?) {
    loop.execute { [self] in
      guard let wake else {
        timer?.cancel()
        return
      }
      let timer = self.timer ?? loop.makeTimer { [weak self] in self?.session?.hasWork() }
      self.timer = timer
      timer.set(wake)
    }
  }
}

/// The wake of a session, for the closure with which the session is opened.
final class ProgramWakeBox: Sendable {
  private let wake = Mutex<ProgramWake?>(nil)

  var value: ProgramWake? { wake.withLock { $0 } }
  func set(_ value: ProgramWake) { wake.withLock { $0 = value } }
}

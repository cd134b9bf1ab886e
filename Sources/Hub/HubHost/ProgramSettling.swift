import BluetoothInterface
import Essentials
import Glibc
import Synchronization

/// The answer of a program that virtual time waits for. The thread that advances the time waits for it.
@safe final class SettlingAnswer: @unchecked Sendable {
  // Sendable because the time has a lock of its own, and a semaphore is for several threads.
  private let wake = Mutex<Instant?>(nil)
  private let arrival = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(arrival, 0, 0) }

  deinit {
    unsafe sem_destroy(arrival)
    unsafe arrival.deallocate()
  }

  /// The program has handled its events, or is gone. Called once.
  func arrived(_ wake: Instant?) {
    self.wake.withLock { $0 = wake }
    unsafe sem_post(arrival)
  }

  /// Waits for the program. Returns when it is to be asked again.
  func wait() -> Instant? {
    // A signal of the process interrupts it.
    while unsafe sem_wait(arrival) != 0 {}
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
      // A time that has come already would hold the virtual time where it is.
      timer.set(max(wake, loop.now + .microseconds(1)))
    }
  }
}

/// The wake of a session, for the closure with which the session is opened.
final class ProgramWakeBox: Sendable {
  private let wake = Mutex<ProgramWake?>(nil)

  var value: ProgramWake? { wake.withLock { $0 } }
  func set(_ value: ProgramWake) { wake.withLock { $0 = value } }
}

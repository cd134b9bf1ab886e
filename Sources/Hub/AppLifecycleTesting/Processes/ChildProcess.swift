import AppHubMachines
import AppMachines
import AppSessions
import BluetoothInterface
import Dispatch
import Essentials
import EventLoop
import Glibc
import SimulatedRadio
import Synchronization

/// A process of an app that is one of the system: this program, started again.
///
/// A step sends frames and the number of a `settle`, and waits until the process reports that number. A thread reads
/// what the process sends, also between steps.
final class ChildProcess: PhoneProcess, @unchecked Sendable {
  // Sendable because `given` and `timer` are used under the radio's lock only, `state` is in a mutex, and everything
  // else is constant.
  let id: AppProcessID
  let app: SimulatedApp
  var given = GivenDeliveries()
  private var timer: (any LoopTimer)?
  private let limit: TimeSpan
  private let core: PhoneCore
  private let state = Mutex(State())
  /// Requests that the process waits for. Not on the reader's thread, which must read on, and not one after the other:
  /// one that runs the world may need the next.
  private let requests = DispatchQueue(
    label: "ambit.simulated-phone.requests", attributes: .concurrent)

  private struct State {
    /// Nil before it was started, and when it was reaped.
    var spawned: SpawnedProcess?
    var isGone = false
    /// The phone has ended it: what it sends has no effect.
    var isClosed = false
    var isStopped = false
    var lastSettle: UInt64 = 0
    var settled: UInt64 = 0
    /// The step that waits until a number was settled, or until the process is gone.
    var waiter: Waiter?
    var now = Instant.zero
    /// What it is doing, for people.
    var work = "its start"
    var output = OutputLines()
  }

  private struct Waiter {
    /// Nil for the end of the process.
    var number: UInt64?
    var waiting = DispatchGroup()
  }

  init(id: AppProcessID, app: SimulatedApp, limit: TimeSpan, core: PhoneCore) {
    self.id = id
    self.app = app
    self.limit = limit
    self.core = core
  }

  // MARK: Under the lock

  func received(_ bytes: [UInt8]) { core.append(.deliver(self, bytes)) }

  func refuse(_ task: AppTaskID) {
    channel?.write(ProcessFrame(PhoneMessage.instruct(.refuseBackgroundTask(task))))
  }

  func close() {
    timer?.cancel()
    timer = nil
    state.withLock { $0.isClosed = true }
  }

  private func setTimer(_ nanoseconds: Int64?) {
    guard let nanoseconds else { return timer?.cancel() ?? () }
    let timer =
      timer
      ?? core.loop.makeTimer { [weak self] in
        guard let self else { return }
        core.append(.wake(self))
      }
    self.timer = timer
    timer.set(Instant(nanoseconds: nanoseconds))
  }

  // MARK: Steps

  func begin() {
    guard let address = app.code.address else {
      preconditionFailure(
        "The closure that launches \(app.identifier) uses a value of the test, which a process of its own doesn't "
          + "have. Make the value in the closure, or run the phone with .inProcess.")
    }
    do {
      var environment = try core.home.environment(of: app.id)
      environment[SpawnedProcess.variable] = "\(SpawnedProcess.socket)"
      let spawned = try SpawnedProcess.start(environment)
      spawned.channel.setWriteLimit(seconds: limit.seconds)
      state.withLock { $0.spawned = spawned }
      guard DetachedThread.start({ self.read(spawned) }) else {
        signal(SIGKILL)
        _ = spawned.wait()
        throw SystemError.current
      }
    } catch {
      state.withLock { state in
        state.spawned = nil
        state.isGone = true
      }
      core.log.failed(.notStarted(app: app.identifier, reason: "\(error)"))
      return core.execute { $0.ended(self, .notStarted) }
    }
    let beginning = ProcessBeginning(
      identifier: app.identifier, infoPlist: app.infoPlist, code: address)
    exchange(ProcessFrame(PhoneMessage.begin(beginning)))
  }

  func perform(_ instruction: AppInstruction) {
    state.withLock { $0.work = instruction.work }
    exchange(ProcessFrame(PhoneMessage.instruct(instruction)))
  }

  func deliver(_ bytes: [UInt8]) { exchange(ProcessFrame(.hub, bytes)) }

  func wake() { exchange() }

  func setStopped(_ isStopped: Bool) {
    state.withLock { $0.isStopped = isStopped }
    signal(isStopped ? SIGSTOP : SIGCONT)
    if !isStopped { exchange() }
  }

  func end() {
    signal(SIGKILL)
    awaitEnd()
  }

  /// Sends a frame, and waits until the process has handled it.
  private func exchange(_ frames: ProcessFrame...) {
    let now = core.radio.now
    let (channel, number, isStopped) = state.withLock { state in
      state.now = now
      state.lastSettle += 1
      return (state.spawned?.channel, state.lastSettle, state.isStopped)
    }
    guard let channel, !state.withLock({ $0.isClosed }) else { return }
    var isWritten = channel.write(ProcessFrame(.time, UInt64(bitPattern: now.nanoseconds)))
    for frame in frames where isWritten { isWritten = channel.write(frame) }
    isWritten = isWritten && channel.write(ProcessFrame(.settle, number))
    // One that is stopped settles when it goes on.
    if isStopped && isWritten { return }
    if !awaitSettle(number) { endHanging() }
  }

  /// Waits until a number was settled, or the process is gone. Returns false if the time is over.
  private func awaitSettle(_ number: UInt64?) -> Bool {
    let waiter = Waiter(number: number)
    waiter.waiting.enter()
    state.withLock { $0.waiter = waiter }
    progress()
    if waiter.waiting.wait(timeout: DispatchTime.now() + limit.seconds) == .success { return true }
    // It may have been reported just now.
    let isOver = state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter != nil
    }
    if isOver { waiter.waiting.leave() }
    return !isOver
  }

  /// Lets the step go on that waits, if its condition holds.
  private func progress() {
    let waiter = state.withLock { state -> Waiter? in
      guard let waiter = state.waiter else { return nil }
      guard state.isGone || waiter.number.map({ $0 <= state.settled }) ?? false else { return nil }
      state.waiter = nil
      return waiter
    }
    waiter?.waiting.leave()
  }

  private func awaitEnd() { _ = awaitSettle(nil) }

  private func endHanging() {
    let work = state.withLock { $0.work }
    fail(.hangs(app: app.identifier, work: work, limit: limit))
    awaitEnd()
  }

  /// Ends the process for something that it must not do.
  private func fail(_ failure: SimulatedAppFailure) {
    if !state.withLock({ $0.isClosed }) { core.log.failed(failure) }
    signal(SIGKILL)
  }

  private func signal(_ number: Int32) {
    // Under the lock, in which it is reaped: later, its number may be another process's. With the processes that it
    // has started, which are of its group.
    state.withLock { state in if let spawned = state.spawned { _ = kill(-spawned.id, number) } }
  }

  private var channel: ProcessChannel? { state.withLock { $0.spawned?.channel } }

  // MARK: The reader's thread

  private func read(_ spawned: SpawnedProcess) {
    var reader = ProcessFrameReader()
    var output: OutputPipe? = spawned.output
    do {
      while true {
        guard spawned.channel.awaitBytes(besides: output) else {
          // A crash report fills the pipe while no thread of the process can send it.
          let bytes = spawned.output.drain()
          if bytes.isEmpty { output = nil } else { wrote(bytes) }
          continue
        }
        guard let bytes = spawned.channel.read() else { break }
        reader.append(bytes)
        while let frame = try reader.next() { try handle(frame, spawned.channel) }
      }
    } catch {
      fail(.violatesProtocol(app: app.identifier, error: "\(error)"))
    }
    let exit = reap(spawned)
    // Before a step goes on that waits for the process.
    core.execute { $0.ended(self, exit) }
    state.withLock { $0.isGone = true }
    progress()
  }

  private func handle(
    _ frame: ProcessFrame, _ channel: ProcessChannel
  ) throws(ProcessFrameError) {
    switch frame.kind {
    case .hub: inCore { $0.handle(.received($1.id, frame.contents)) }
    case .output: wrote(frame.contents)
    case .settle:
      let number = frame.number ?? 0
      state.withLock { $0.settled = max($0.settled, min(number, $0.lastSettle)) }
      progress()
    case .message: handle(try frame.message(ProcessMessage.self), channel)
    case .time: throw .malformed
    }
  }

  private func handle(_ message: ProcessMessage, _ channel: ProcessChannel) {
    switch message {
    case .connected: inCore { $0.handle(.connected($1.id)) }
    case .disconnected: inCore { $0.handle(.disconnected($1.id)) }
    case .report(.endedBackgroundTask(let task)): core.ended(task, by: id)
    case .report(let event): inCore { $0.reported(event, by: $1.id) }
    case .called(let name): called(name)
    case .failed(let sentence): inCore { $0.log.failed($1.app.id, sentence, at: $0.loop.now) }
    case .wake(let nanoseconds): inCore { $1.setTimer(nanoseconds) }
    case .request(let number, let request):
      answer(number, channel) { .reply($0.answer(request, of: $1.app)) }
    case .beginBackgroundTask(let number, let task):
      answer(number, channel) {
        $0.began(task, by: $1.id)
        return .done
      }
    case .timeRemaining(let number):
      answer(number, channel) { .timeRemaining($0.backgroundTimeRemaining(of: $1.app.id)) }
    }
  }

  private func called(_ name: String) {
    let now = state.withLock { state -> Instant? in
      state.work = name
      return state.isClosed ? nil : state.now
    }
    if let now { core.log.told(app.id, name, at: now) }
  }

  private func wrote(_ bytes: [UInt8]) {
    let (lines, now) = state.withLock { ($0.output.append(bytes), $0.now) }
    for line in lines { core.log.wrote(app.id, line, at: now) }
  }

  /// Does something in the core, soon, if the phone still has this process.
  private func inCore(_ body: @escaping @Sendable (PhoneCore, ChildProcess) -> Void) {
    core.execute { core in if core.has(self) { body(core, self) } }
  }

  /// Answers a request of the process, which waits. Inside of the radio's lock: what follows from the request may need
  /// the process.
  private func answer(
    _ number: UInt64, _ channel: ProcessChannel,
    _ body: @escaping @Sendable (PhoneCore, ChildProcess) -> PhoneAnswer
  ) {
    requests.async { [self] in
      core.locked { core in
        let answer = core.has(self) ? body(core, self) : .reply(.refused(.unavailable))
        channel.write(ProcessFrame(PhoneMessage.answer(number, answer)))
      }
    }
  }

  /// Waits for the end of the process, which has closed its socket.
  private func reap(_ spawned: SpawnedProcess) -> AppExit {
    if !spawned.awaitExit() {
      signal(SIGKILL)
      spawned.awaitKill()
    }
    wrote(spawned.output.drain())
    // Those that it has started end with it.
    signal(SIGKILL)
    let status = state.withLock { state in
      state.spawned = nil
      return spawned.wait()
    }
    let rest = state.withLock { $0.output.takeRest() }
    if let rest { wrote(Array(rest.utf8) + [0x0A]) }
    let signal = status & 0x7F
    let exit = signal == 0 ? AppExit.status(status >> 8 & 0xFF) : .signal(signal)
    if !state.withLock({ $0.isClosed }) { core.log.exited(app.id, exit) }
    return exit
  }
}

/// Divides an app's output into lines.
struct OutputLines {
  private static let byteCountMax = 4_096
  private var bytes: [UInt8] = []

  /// Returns the lines that are complete. A line that is too long is divided.
  mutating func append(_ new: [UInt8]) -> [String] {
    var lines: [String] = []
    for byte in new {
      if byte == 0x0A {
        lines.append(String(decoding: bytes, as: UTF8.self))
        bytes = []
      } else {
        bytes.append(byte)
        if bytes.count == Self.byteCountMax { lines.append(takeRest() ?? "") }
      }
    }
    return lines
  }

  mutating func takeRest() -> String? {
    defer { bytes = [] }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

extension AppInstruction {
  /// What a process does for it, for people.
  fileprivate var work: String {
    switch self {
    case .start: "its launch"
    case .deliver(let deliveries):
      if case .transition(let transition)? = deliveries.first {
        transition.callbackName
      } else {
        "an event"
      }
    case .terminate: "applicationWillTerminate"
    case .expire: "the expiration handler of a background task"
    case .refuseBackgroundTask: "beginBackgroundTask"
    case .expireTask: "the expiration handler of a BGTask"
    }
  }
}

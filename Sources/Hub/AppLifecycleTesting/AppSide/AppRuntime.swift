import AppMachines
import AppSessions
import BluetoothInterface
import BluetoothSessions
import Dispatch
import Essentials
import EventLoop
import Foundation
import Glibc
import HubClientMachines
import HubWire
import InfoPlists
import Synchronization

/// The phone, as a process of an app sees it: a socket.
final class AppRuntime: AppSystem, HubLink, @unchecked Sendable {
  // Sendable because what isn't constant or in a mutex is used on `queue` only.
  private let channel: ProcessChannel
  private let output: OutputPipe
  private let queue = DispatchQueue(label: "ambit.simulated-app")
  private let shared = Mutex(Shared())

  // On the queue.
  private var client: HubClientMachine?
  private var session: AppSession?
  private var slots: [HubSessionID: AppSessionSlot] = [:]
  /// The sessions whose managers may have work.
  private var unsettled: [AppSessionSlot] = []
  private var timers = AppTimers()
  private var reportedWake: Instant?
  /// The number that the phone waits for.
  private var settling: UInt64?

  private struct Shared {
    var now = Instant.zero
    /// How much work is on the queue, with what runs now.
    var workCount = 0
    var lastRequest: UInt64 = 0
    var waiting: [UInt64: Waiting] = [:]
    var session: AppSession?
    /// Ends of background tasks that are reported when the queue gets to them.
    var endedTasks: [AppTaskID] = []
  }

  private final class Waiting: Sendable {
    let answer = Mutex<PhoneAnswer?>(nil)
    let arriving = DispatchGroup()

    init() { arriving.enter() }
  }

  init(_ channel: ProcessChannel, _ output: OutputPipe) {
    self.channel = channel
    self.output = output
  }

  /// Begins to read. Returns false without the threads for it.
  func start() -> Bool {
    DetachedThread.start { self.read() } && DetachedThread.start { self.forwardOutput() }
  }

  // MARK: The reader's thread

  private func read() {
    var reader = ProcessFrameReader()
    while let bytes = channel.read() {
      reader.append(bytes)
      do { while let frame = try reader.next() { try handle(frame) } } catch { break }
    }
    // The phone is gone, or is no phone.
    _exit(0)
  }

  private func handle(_ frame: ProcessFrame) throws(ProcessFrameError) {
    switch frame.kind {
    case .hub: execute { self.take(.received(frame.contents)) }
    case .time:
      let now = Instant(nanoseconds: Int64(bitPattern: frame.number ?? 0))
      execute {
        self.shared.withLock { $0.now = now }
        for timer in self.timers.take(now) { timer.onFire() }
      }
    case .settle:
      let number = frame.number ?? 0
      execute { self.beginSettling(number) }
    case .message: handle(try frame.message(PhoneMessage.self))
    case .output: throw .malformed
    }
  }

  private func handle(_ message: PhoneMessage) {
    switch message {
    case .begin(let beginning): execute { self.begin(beginning) }
    // The process may be waiting for it on the queue.
    case .instruct(.refuseBackgroundTask(let task)):
      shared.withLock { $0.session }?.receive(.refuseBackgroundTask(task))
    case .instruct(let instruction): execute { self.session?.receive(instruction) }
    case .answer(let number, let answer):
      guard let waiting = shared.withLock({ $0.waiting.removeValue(forKey: number) }) else {
        return
      }
      waiting.answer.withLock { $0 = answer }
      waiting.arriving.leave()
    }
  }

  // MARK: The queue

  private func begin(_ beginning: ProcessBeginning) {
    let session = AppSession(system: self, infoPlist: beginning.infoPlist)
    self.session = session
    shared.withLock { $0.session = session }
    client = HubClientMachine(app: beginning.identifier)
    CurrentHost.ofApp = AppSessionProvider(self, modes: Set(beginning.infoPlist.backgroundModes))
    AppSession.current = session
    let (code, now) = (beginning.code.code, now)
    MainQueue.run { code.begin(session, now) }
  }

  func take(_ input: HubClientMachine.Input) { execute { self.handle(input) } }

  func open(_ slot: AppSessionSlot) {
    execute {
      guard slot.isOpen else { return }
      self.slots[slot.id] = slot
      self.handle(slot.opening)
    }
  }

  func hasWork(_ slot: AppSessionSlot) { execute { self.unsettled.append(slot) } }

  private func handle(_ input: HubClientMachine.Input) {
    var actions: [HubClientMachine.Action] = []
    client?.handle(input, now: .zero, into: &actions)
    if case .sessionClosed(let id) = input { slots[id] = nil }
    for action in actions { perform(action) }
  }

  private func perform(_ action: HubClientMachine.Action) {
    switch action {
    case .open:
      send(.connected)
      take(.opened)
    case .close: send(.disconnected)
    case .send(let bytes): channel.write(ProcessFrame(.hub, bytes))
    case .deliver(let id, let events):
      guard let slot = slots[id], slot.isOpen else { return }
      let names = events.flatMap(slot.names.names)
      if !names.isEmpty { sendOutput() }
      for name in names { send(.called(name)) }
      slot.deliver(events)
      unsettled.append(slot)
    case .attached(let id, let attachment):
      guard let slot = slots[id] else { return }
      if attachment.holdings != nil { slot.names.beginsRestored() }
      slot.attach(attachment)
    case .failed(let failure): send(.failed(failure.sentence))
    case .lost(let sentence): send(.failed(sentence))
    // The phone has a protocol of its own for its time.
    case .time, .settle: break
    case .connected: break
    }
  }

  /// Waits for the app, and reports the number when nothing is left. One that was stopped gets several numbers at once:
  /// the last one is enough.
  private func beginSettling(_ number: UInt64) {
    let isSettling = settling != nil
    settling = number
    if !isSettling { settle() }
  }

  private func settle() {
    guard let number = settling else { return }
    let slots = unsettled
    unsettled = []
    EventThread.run { for slot in slots where slot.isOpen { slot.settle?() } }
    if let session {
      let handling = DispatchGroup()
      handling.enter()
      session.settle { DispatchQueue.main.async { handling.leave() } }
      handling.wait()
      session.settleWork()
    }
    MainQueue.settle()
    MainQueue.settleRunLoop()
    let isQuiet = unsettled.isEmpty && shared.withLock { $0.workCount == 1 }
    guard isQuiet else { return execute { self.settle() } }
    settling = nil
    // On a phone another process keeps them, so that they outlive an end without notice.
    UserDefaults.standard.synchronize()
    if timers.first != reportedWake {
      reportedWake = timers.first
      send(.wake(timers.first?.nanoseconds))
    }
    sendOutput()
    channel.write(ProcessFrame(.settle, number))
  }

  private func send(_ message: ProcessMessage) { channel.write(ProcessFrame(message)) }

  // MARK: Output

  private let outputTurn = Mutex(())

  /// Sends what the app has written up to now.
  private func sendOutput() {
    fflush(nil)
    outputTurn.withLock { _ in
      let bytes = output.drain()
      if !bytes.isEmpty { channel.write(ProcessFrame(.output, bytes)) }
    }
  }

  /// Sends what the app writes between callbacks, so that the pipe is not filled.
  private func forwardOutput() {
    while output.wait() {
      outputTurn.withLock { _ in
        let bytes = output.drain()
        if !bytes.isEmpty { channel.write(ProcessFrame(.output, bytes)) }
      }
    }
  }

  // MARK: The system of the session

  func report(_ event: AppMachine.ProcessEvent) {
    switch event {
    case .beganBackgroundTask(let task):
      // The queue may wait for this thread. The ends before it count first.
      sendEndedTasks()
      _ = request { .beginBackgroundTask($0, task) }
    case .endedBackgroundTask(let task):
      shared.withLock { $0.endedTasks.append(task) }
      execute {
        self.sendOutput()
        self.sendEndedTasks()
      }
    default:
      execute {
        self.sendOutput()
        self.send(.report(event))
      }
    }
  }

  private func sendEndedTasks() {
    let tasks = shared.withLock { shared in
      defer { shared.endedTasks = [] }
      return shared.endedTasks
    }
    for task in tasks { send(.report(.endedBackgroundTask(task))) }
  }

  func request(_ request: AppRequest) -> AppReply {
    if case .reply(let reply) = self.request({ .request($0, request) }) { return reply }
    return .refused(.unavailable)
  }

  var backgroundTimeRemaining: TimeSpan? {
    guard case .timeRemaining(let nanoseconds?) = request({ .timeRemaining($0) }) else {
      return nil
    }
    return .nanoseconds(nanoseconds)
  }

  /// Sends a request and waits for the answer. The process ends where the phone is gone.
  private func request(_ message: (UInt64) -> ProcessMessage) -> PhoneAnswer {
    let waiting = Waiting()
    let number = shared.withLock { shared in
      shared.lastRequest += 1
      shared.waiting[shared.lastRequest] = waiting
      return shared.lastRequest
    }
    send(message(number))
    waiting.arriving.wait()
    return waiting.answer.withLock { $0 } ?? .done
  }

  // MARK: The loop of its sessions

  var loop: any SessionLoop { AppLoop(runtime: self) }

  var now: Instant { shared.withLock { $0.now } }

  func execute(_ work: @escaping @Sendable () -> Void) {
    shared.withLock { shared in
      shared.workCount += 1
      queue.async {
        work()
        self.shared.withLock { $0.workCount -= 1 }
      }
    }
  }

  func makeTimer(_ onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    AppTimer(runtime: self, onFire: onFire)
  }

  func set(_ timer: AppTimer, _ time: Instant) { timers.set(timer, time) }
  func cancel(_ timer: AppTimer) { timers.cancel(timer) }
}

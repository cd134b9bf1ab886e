package import AppMachines
package import Dispatch
package import Essentials
package import InfoPlists
internal import Synchronization

/// A process's session with the system that runs its app.
///
/// Instructions are handled in their order, on a queue of the session. A delivery is acknowledged when its handler has
/// called back, and all earlier ones were. One handler that is slow holds up no other.
package final class AppSession: Sendable {
  /// An instruction for the application itself.
  package enum Command: Hashable, Sendable {
    case start(AppLaunch)
    case transition(AppTransition)
    case terminate
    case expire(AppTaskID)
    case expireTask(AppEventID)
  }

  /// Handles a command or delivery, and calls `done` once, from any thread. Called on the session's queue.
  package typealias Handler<Value> =
    @Sendable (_ value: Value, _ done: @escaping @Sendable () -> Void) -> Void

  package let infoPlist: InfoPlist
  private let system: any AppSystem
  private let queue = DispatchQueue(label: "ambit.app-session")
  let state = Mutex(State())

  struct State {
    var application: Handler<Command>?
    /// Commands that came before the application. A machine sends one start, and nothing before `launched`.
    var waiting: [(Command, @Sendable () -> Void)] = []
    var receivers: [AppReceiver: Handler<AppDelivery>] = [:]
    /// Deliveries that are not acknowledged, and whether each one was handled. The machine bounds their number.
    var handled: [Bool] = []
    var acknowledgedCount = 0
    var lastTask: UInt64 = 0
    /// Background tasks whose report the system is being given, and those of them that it refused meanwhile.
    var beginning: Set<AppTaskID> = []
    var refused: Set<AppTaskID> = []
    var begun: Set<AppTaskID> = []
    /// What ends the background tasks that are not the application's.
    var expirations: [AppTaskID: @Sendable () -> Void] = [:]
    /// Events whose completion the app has not reported.
    var work: [AppEventID: AppWork] = [:]
    /// Work that is not completed, and that virtual time has not waited for.
    var unsettledWork: [ObjectIdentifier: AppWork] = [:]
    var hasEnded = false
    /// The system has started the app, and its launch is over.
    var hasStarted = false
    var isLaunched = false
    /// As the application was last told.
    var isInForeground = false
    /// Its launch was not over when the system was gone: the end of it is the report that the next one waits for.
    var resumesWhenLaunched = false
    var heldSockets: [HeldSocket] = []
    /// Sockets that were closed since the last system was gone; nil while there is one. The reports of others begin anew.
    var closedSockets: [UInt64]?
  }

  /// - Parameters:
  ///   - system: Gets the reports and requests.
  ///   - infoPlist: The app's.
  package init(system: any AppSystem, infoPlist: InfoPlist = InfoPlist()) {
    self.system = system
    self.infoPlist = infoPlist
  }

  // MARK: The system's side

  /// Takes an instruction, from any thread; returns before it is handled.
  package func receive(_ instruction: AppInstruction) {
    if case .refuseBackgroundTask(let task) = instruction {
      let isBeginning = state.withLock { state in
        if state.beginning.contains(task) { state.refused.insert(task) }
        return state.beginning.contains(task)
      }
      if isBeginning { return }
    }
    queue.async { self.handle(instruction) }
  }

  /// Ends the session at once, as if the process were killed: no handler is called, and nothing is reported any more.
  package func end() {
    state.withLock { state in
      state = State()
      state.hasEnded = true
    }
  }

  /// Calls back when all instructions up to now were given to their handlers. Those of the application are operations
  /// of the main queue: one more there ends after them.
  package func settle(_ done: @escaping @Sendable () -> Void) { queue.async(execute: done) }

  /// Waits for the app's handlers on other queues, and for the completions of the events that it has got, once for each,
  /// while threads of the process run. For virtual time, and not for a thread on which the app works.
  package func settleWork() {
    while let work = state.withLock({ $0.unsettledWork.popFirst()?.value }) { work.settle() }
  }

  /// Calls a handler of the app on a queue, for which ``settleWork()`` waits.
  package func call(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
    let work = AppWork()
    begin(work)
    queue.async {
      handler()
      self.complete(work)
    }
  }

  private func begin(_ work: AppWork) {
    state.withLock { state in
      if !state.hasEnded { state.unsettledWork[ObjectIdentifier(work)] = work }
    }
  }

  private func complete(_ work: AppWork) {
    work.complete()
    state.withLock { $0.unsettledWork[ObjectIdentifier(work)] = nil }
  }

  private func handle(_ instruction: AppInstruction) {
    switch instruction {
    case .start(let launch):
      state.withLock { state in
        state.hasStarted = true
        state.isInForeground = launch.isInForeground
      }
      perform(.start(launch)) {}
    case .deliver(let deliveries): for delivery in deliveries { deliver(delivery) }
    case .terminate: perform(.terminate) {}
    case .expire(let task): expire(task)
    case .refuseBackgroundTask(let task):
      // The process believes that it has time: the system answered late.
      if state.withLock({ $0.begun.contains(task) }) { expire(task) }
    case .expireTask(let event): perform(.expireTask(event)) {}
    }
  }

  private func expire(_ task: AppTaskID) {
    let handler = state.withLock { $0.expirations.removeValue(forKey: task) }
    if let handler { handler() } else { perform(.expire(task)) {} }
  }

  private func perform(_ command: Command, _ done: @escaping @Sendable () -> Void) {
    let handler = state.withLock { state -> Handler<Command>? in
      if state.application == nil, !state.hasEnded { state.waiting.append((command, done)) }
      return state.application
    }
    handler?(command, done)
  }

  private func deliver(_ delivery: AppDelivery) {
    let number = state.withLock { state -> Int in
      state.handled.append(false)
      return state.acknowledgedCount + state.handled.count
    }
    let done: @Sendable () -> Void = { self.handled(number) }
    if case .transition(let transition) = delivery {
      state.withLock { state in
        switch transition {
        case .willEnterForeground, .didBecomeActive: state.isInForeground = true
        case .didEnterBackground: state.isInForeground = false
        case .willResignActive, .didReceiveMemoryWarning: break
        }
      }
      return perform(.transition(transition), done)
    }
    let receiver = delivery.receiver
    let handler = state.withLock { state in receiver.flatMap { state.receivers[$0] } }
    // A receiver that was closed meanwhile: its events are discarded.
    guard let handler else { return done() }
    if case .event(let id, let event) = delivery, AppWork.isRequired(by: event) { begin(id) }
    handler(delivery, done)
  }

  private func begin(_ id: AppEventID) {
    let work = AppWork()
    state.withLock { $0.work[id] = work }
    begin(work)
  }

  private func handled(_ number: Int) {
    let count = state.withLock { state -> Int in
      let index = number - state.acknowledgedCount - 1
      guard state.handled.indices.contains(index), !state.hasEnded else { return 0 }
      state.handled[index] = true
      let count = state.handled.prefix { $0 }.count
      state.handled.removeFirst(count)
      state.acknowledgedCount += count
      return count
    }
    if count > 0 { report(.acknowledged(count)) }
  }

  // MARK: The process's side

  /// Sets the handler of commands for the application, which gets those that came before.
  package func run(_ application: @escaping Handler<Command>) {
    queue.async {
      let waiting = self.state.withLock { state in
        guard !state.hasEnded else { return [(Command, @Sendable () -> Void)]() }
        state.application = application
        defer { state.waiting = [] }
        return state.waiting
      }
      for (command, done) in waiting { application(command, done) }
    }
  }

  /// Opens a receiver: its deliveries are given to `handler`, each one after the earlier ones, `.restore` first.
  ///
  /// Whoever makes the object registers it: Core Bluetooth or a provider of its sessions each manager, Core Location
  /// `location`, and the application the others.
  package func open(_ receiver: AppReceiver, _ handler: @escaping Handler<AppDelivery>) {
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.receivers[receiver] = handler }
      return state.hasEnded
    }
    if !hasEnded { report(.opened(receiver)) }
  }

  /// Ends a receiver. Events for it are discarded.
  package func close(_ receiver: AppReceiver) {
    let wasOpen = state.withLock { $0.receivers.removeValue(forKey: receiver) != nil }
    if wasOpen { report(.closed(receiver)) }
  }

  /// Begins a background task; nil if the system gives it no time.
  ///
  /// - Parameters:
  ///   - willBegin: Gets the task before it can expire.
  ///   - expiration: Called on the session's queue shortly before the time ends, in place of the application's
  ///     command, maybe before this returns. The caller ends the task then.
  package func beginBackgroundTask(
    _ willBegin: (AppTaskID) -> Void = { _ in }, expiration: (@Sendable () -> Void)? = nil
  ) -> AppTaskID? {
    let task = state.withLock { state in
      state.lastTask += 1
      let task = AppTaskID(rawValue: state.lastTask)
      state.beginning.insert(task)
      state.expirations[task] = expiration
      return task
    }
    willBegin(task)
    report(.beganBackgroundTask(task))
    let isRefused = state.withLock { state in
      state.beginning.remove(task)
      guard state.refused.remove(task) == nil else {
        state.expirations[task] = nil
        return true
      }
      if !state.hasEnded { state.begun.insert(task) }
      return state.hasEnded
    }
    return isRefused ? nil : task
  }

  /// Ends a background task; of no effect for one that isn't begun.
  package func endBackgroundTask(_ task: AppTaskID) {
    let wasBegun = state.withLock { state in
      state.expirations[task] = nil
      return state.begun.remove(task) != nil
    }
    if wasBegun { report(.endedBackgroundTask(task)) }
  }

  /// Reports an event of the process, unless the session has ended.
  package func report(_ event: AppMachine.ProcessEvent) {
    if case .completed(let id) = event {
      let work = state.withLock { $0.work.removeValue(forKey: id) }
      if let work { complete(work) }
    }
    let reported = state.withLock { state -> AppMachine.ProcessEvent? in
      guard !state.hasEnded else { return nil }
      guard case .launched = event else { return event }
      state.isLaunched = true
      guard state.resumesWhenLaunched else { return event }
      state.resumesWhenLaunched = false
      return .resumed(isInForeground: state.isInForeground)
    }
    if let reported { system.report(reported) }
  }

  /// Requests something of the system, and waits for its reply.
  package func request(_ request: AppRequest) -> AppReply {
    if state.withLock({ $0.hasEnded }) { return .refused(.unavailable) }
    return system.request(request)
  }

  /// Hands the system a socket, or takes one back.
  func exchange(
    _ request: HeldSocketRequest, with descriptor: Int32?
  ) -> (reply: HeldSocketReply, descriptor: Int32?) {
    if state.withLock({ $0.hasEnded }) { return (.refused(.unavailable), nil) }
    return system.exchange(request, with: descriptor)
  }

  /// The time that the app may run in the background; nil in the foreground.
  package var backgroundTimeRemaining: TimeSpan? { system.backgroundTimeRemaining }

  // MARK: The current one

  private static let shared = Mutex<AppSession?>(nil)

  /// The session of this process; nil in a program that no system runs, until its application begins.
  package static var current: AppSession? {
    get { shared.withLock { $0 } }
    set { shared.withLock { $0 = newValue } }
  }
}

extension AppDelivery {
  /// The receiver of an event or a restored state; nil for a transition.
  package var receiver: AppReceiver? {
    switch self {
    case .transition: nil
    case .restore(let receiver): receiver
    case .event(_, let event): event.receiver
    }
  }
}

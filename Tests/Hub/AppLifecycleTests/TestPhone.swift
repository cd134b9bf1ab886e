import AppLifecycle
import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists
import Synchronization

/// A phone with one app, whose processes begin in this process. Time passes with `advance`.
final class TestPhone: AppSystem {
  private struct State {
    var machine = AppMachine()
    var now = Instant(nanoseconds: 0)
    var session: AppSession?
    var process: AppProcessID?
    var log: [AppMachine.Action] = []
    var requests: [AppRequest] = []
    var pendingTasks: [AppTaskRequest] = []
    var authorization: Bool?
    /// Changes with each report and action, so that a test can wait until nothing happens any more.
    var changeCount = 0
  }

  static let id = AppID("com.example.app")
  private let plist: InfoPlist
  private let makeDelegate: @MainActor @Sendable () -> (any UIApplicationDelegate)?
  private let state = Mutex(State())

  init(
    _ plist: InfoPlist = InfoPlist(),
    delegate makeDelegate: @escaping @MainActor @Sendable () -> (any UIApplicationDelegate)?
  ) {
    self.plist = plist
    self.makeDelegate = makeDelegate
    send(.installed(Self.id, plist.description))
  }

  var machineState: AppLifeState? { state.withLock { $0.machine.state(of: Self.id) } }
  var requests: [AppRequest] { state.withLock { $0.requests } }
  var session: AppSession? { state.withLock { $0.session } }
  /// The events whose alerts the person could tap.
  var alerts: [AppEventID] {
    state.withLock { state in
      state.log.compactMap { if case .alert(_, let id) = $0 { id } else { nil } }
    }
  }
  func ended(because reason: AppEnd) -> Bool {
    state.withLock { state in
      state.log.contains {
        if case .report(.ended(_, _, reason)) = $0 { true } else { false }
      }
    }
  }

  // MARK: The system

  func report(_ event: AppMachine.ProcessEvent) {
    guard let process = state.withLock({ $0.process }) else { return }
    send(.process(process, event))
  }

  func request(_ request: AppRequest) -> AppReply {
    state.withLock { state in
      state.requests.append(request)
      switch request {
      case .submitTask(let task):
        let others = state.pendingTasks.filter { $0.identifier != task.identifier }
        let isRefresh = task.kind == .refresh
        let count = others.count { ($0.kind == .refresh) == isRefresh }
        let limit = isRefresh ? AppTaskRequest.refreshCountMax : AppTaskRequest.processingCountMax
        guard count < limit else { return .refused(.tooManyPendingTasks) }
        state.pendingTasks = others + [task]
        return .done
      case .cancelTask(let identifier):
        state.pendingTasks.removeAll { $0.identifier == identifier }
        return .done
      case .cancelAllTasks:
        state.pendingTasks = []
        return .done
      case .pendingTasks: return .tasks(state.pendingTasks)
      case .authorizeNotifications:
        state.authorization = true
        return .granted(true)
      case .notificationAuthorization: return .authorization(state.authorization)
      case .pendingNotifications, .deliveredNotifications: return .notifications([])
      case .registerForRemoteNotifications: return .deviceToken([1, 2, 3])
      case .setFetchInterval, .setKeepAliveTimeout, .addNotification, .presentNotification,
        .removePendingNotifications, .removeDeliveredNotifications,
        .unregisterForRemoteNotifications, .setBadge, .regions:
        return .done
      }
    }
  }

  var backgroundTimeRemaining: TimeSpan? {
    state.withLock { $0.machine.backgroundTimeRemaining(of: Self.id, now: $0.now) }
  }

  // MARK: The test

  func send(_ event: AppMachine.Event) {
    let actions = state.withLock { state in
      var actions: [AppMachine.Action] = []
      state.machine.handle(event, now: state.now, into: &actions)
      state.changeCount += 1
      state.log += actions
      for action in actions { perform(action, &state) }
      return actions
    }
    for case .kill(let process) in actions {
      DispatchQueue.main.async { MainActor.assumeIsolated { UIApplication.reset() } }
      send(.process(process, .exited(.signal(9), hasOthers: false)))
    }
  }

  func person(_ event: AppMachine.PersonEvent) { send(.person(Self.id, event)) }
  func arrive(_ event: AppEvent) { send(.arrived(Self.id, event)) }

  private func perform(_ action: AppMachine.Action, _ state: inout State) {
    if case .kill = action { state.session?.end() }
    guard let (process, instruction) = AppInstruction.of(action) else { return }
    if case .start = instruction {
      let session = AppSession(system: self, infoPlist: plist)
      (state.session, state.process) = (session, process)
      let makeDelegate = makeDelegate
      DispatchQueue.main.async {
        MainActor.assumeIsolated { _ = UIApplication.begin(session, delegate: makeDelegate) }
      }
    }
    state.session?.receive(instruction)
  }

  /// Waits until the process has handled everything.
  func settle() async {
    var last = -1
    var quietCount = 0
    while quietCount < 3 {
      if let session {
        await withCheckedContinuation { continuation in session.settle { continuation.resume() } }
      }
      await withCheckedContinuation { continuation in
        OperationQueue.main.addOperation { continuation.resume() }
      }
      await Task.yield()
      let count = state.withLock { $0.changeCount }
      quietCount = count == last ? quietCount + 1 : 0
      last = count
    }
  }

  /// Lets time pass, with a stop at each time at which something is due.
  func advance(by span: TimeSpan) async {
    await settle()
    let end = state.withLock { $0.now + span }
    while let due = state.withLock({ $0.machine.nextWake }), due <= end {
      state.withLock { $0.now = max($0.now, due) }
      send(.wake)
      await settle()
    }
    state.withLock { $0.now = end }
  }

  /// Ends the app of the test.
  func end() async { await MainActor.run { UIApplication.reset() } }
}

/// What an app was called with, in order.
final class Journal: Sendable {
  private let entries = Mutex<[String]>([])

  var all: [String] { entries.withLock { $0 } }
  func write(_ entry: String) { entries.withLock { $0.append(entry) } }
  func take() -> [String] {
    entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
  }
}

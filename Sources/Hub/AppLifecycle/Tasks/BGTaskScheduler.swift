internal import AppMachines
internal import AppSessions
internal import Essentials
public import Foundation
internal import InfoPlists
internal import Synchronization

/// Launches the app for tasks in the background. May be used on any thread.
open class BGTaskScheduler: NSObject, @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `state`.

  /// The scheduler of the app.
  public static let shared = BGTaskScheduler()

  private struct Launch {
    var queue: DispatchQueue
    // Called on its queue only.
    nonisolated(unsafe) var handler: (BGTask) -> Void
  }

  private struct State {
    var session: AppSession?
    var hasLaunched = false
    var launches: [String: Launch] = [:]
    /// Tasks that the app has not completed. The system bounds their number.
    var running: [AppEventID: (task: BGTask, queue: DispatchQueue)] = [:]
  }

  private let state = Mutex(State())

  private override init() { super.init() }

  /// An error of the scheduler, of the domain `BGTaskSchedulerErrorDomain`.
  public struct Error: CustomNSError, Hashable, Sendable {
    /// The codes of errors.
    public enum Code: Int, Sendable {
      /// Nothing schedules tasks: no system runs the app, or the person has switched background refresh off.
      case unavailable = 1
      /// One request to refresh or ten to process are pending.
      case tooManyPendingTaskRequests = 2
      /// `Info.plist` lacks the identifier or the background mode.
      case notPermitted = 3
      /// The task can't run at once.
      case immediateRunIneligible = 4

      /// Makes `catch BGTaskScheduler.Error.notPermitted` work.
      public static func ~= (code: Code, error: any Swift.Error) -> Bool {
        (error as? BGTaskScheduler.Error)?.code == code
      }
    }

    /// The code of the error.
    public let code: Code

    /// Creates an error with a code.
    public init(_ code: Code) { self.code = code }

    /// The name of the errors' domain.
    public static var errorDomain: String { "BGTaskSchedulerErrorDomain" }
    /// The number of the code.
    public var errorCode: Int { code.rawValue }

    /// Nothing schedules tasks.
    public static var unavailable: Code { .unavailable }
    /// Too many requests are pending.
    public static var tooManyPendingTaskRequests: Code { .tooManyPendingTaskRequests }
    /// `Info.plist` doesn't permit the task.
    public static var notPermitted: Code { .notPermitted }
    /// The task can't run at once.
    public static var immediateRunIneligible: Code { .immediateRunIneligible }
  }

  /// The name of the domain of the scheduler's errors.
  public static let errorDomain = "BGTaskSchedulerErrorDomain"

  // MARK: Registering

  /// Registers the handler of a task, before the app has finished launching. A second one for a task, or a later one,
  /// is a programming error.
  ///
  /// - Parameters:
  ///   - identifier: One of `BGTaskSchedulerPermittedIdentifiers` in `Info.plist`.
  ///   - queue: The queue on which the handler is called; nil for one in the background.
  ///   - launchHandler: Called when the task is due.
  /// - Returns: Whether `Info.plist` permits the task.
  @discardableResult
  open func register(
    forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
    launchHandler: @escaping (BGTask) -> Void
  ) -> Bool {
    let session = currentSession()
    let launch = Launch(queue: queue ?? Self.backgroundQueue, handler: launchHandler)
    return state.withLock { state in
      precondition(
        !state.hasLaunched,
        "All launch handlers must be registered before application finishes launching")
      precondition(
        state.launches[identifier] == nil,
        "Launch handler for task with identifier \(identifier) has already been registered")
      guard session.infoPlist.permittedTaskIdentifiers.contains(identifier) else { return false }
      state.launches[identifier] = launch
      return true
    }
  }

  private static let backgroundQueue = DispatchQueue(label: "BGTaskScheduler")

  // MARK: Requests

  /// Submits a request. It replaces one with the same identifier.
  ///
  /// - Throws: ``Error``.
  open func submit(_ taskRequest: BGTaskRequest) throws {
    let session = currentSession()
    let request = AppTaskRequest(
      taskRequest.identifier, taskRequest.kind,
      earliestBegin: taskRequest.earliestBeginDate?.timeIntervalSince1970)
    let modes = session.infoPlist.description.modes
    let hasMode = request.kind == .refresh ? modes.contains(.fetch) : modes.contains(.processing)
    let isPermitted = session.infoPlist.permittedTaskIdentifiers.contains(request.identifier)
    guard hasMode, isPermitted else { throw Error(.notPermitted) }
    switch session.request(.submitTask(request)) {
    case .refused(.tooManyPendingTasks): throw Error(.tooManyPendingTaskRequests)
    case .refused(.notPermitted): throw Error(.notPermitted)
    case .refused(.unavailable): throw Error(.unavailable)
    case .done, .granted, .authorization, .tasks, .notifications, .deviceToken, .regions: break
    }
  }

  /// Submits a request. The same as `submit(_:)`.
  open func submitTaskRequest(_ taskRequest: sending BGTaskRequest) async throws {
    try submit(taskRequest)
  }

  /// Cancels the request of a task.
  open func cancel(taskRequestWithIdentifier identifier: String) {
    _ = currentSession().request(.cancelTask(identifier))
  }

  /// Cancels all requests of the app.
  open func cancelAllTaskRequests() { _ = currentSession().request(.cancelAllTasks) }

  /// Calls back with the requests that are pending, on a queue in the background.
  open func getPendingTaskRequests(
    completionHandler: @escaping @Sendable ([BGTaskRequest]) -> Void
  ) {
    let session = currentSession()
    session.call(on: Self.backgroundQueue) { completionHandler(Self.pending(session)) }
  }

  /// The requests that are pending.
  open func pendingTaskRequests() async -> [BGTaskRequest] { Self.pending(currentSession()) }

  private static func pending(_ session: AppSession) -> [BGTaskRequest] {
    guard case .tasks(let requests) = session.request(.pendingTasks) else { return [] }
    return requests.map(BGTaskRequest.of)
  }

  private func currentSession() -> AppSession {
    state.withLock { $0.session } ?? AppSession.current ?? .unavailable
  }

  // MARK: The app

  /// The app is being launched in this session.
  func attach(_ session: AppSession) {
    state.withLock { state in
      state.session = session
      state.hasLaunched = false
    }
  }

  func finishLaunching() { state.withLock { $0.hasLaunched = true } }

  func reset() { state.withLock { $0 = State() } }

  /// Opens the receiver of tasks. A background fetch is not one of them.
  func open(fetch: @escaping @Sendable (AppEventID) -> Void) {
    let session = currentSession()
    session.open(.tasks) { delivery, done in
      guard case .event(let id, let event) = delivery else { return done() }
      guard !event.payload.isEmpty else {
        fetch(id)
        return done()
      }
      self.launch(id, event, session, done)
    }
  }

  private func launch(
    _ id: AppEventID, _ event: AppEvent, _ session: AppSession,
    _ done: @escaping @Sendable () -> Void
  ) {
    let identifier = String(decoding: event.payload, as: UTF8.self)
    let report: @Sendable () -> Void = { [weak self] in
      self?.state.withLock { $0.running[id] = nil }
      session.report(.completed(id))
    }
    let isProcessing = event.kind == .processing
    let task =
      isProcessing
      ? BGProcessingTask(identifier: identifier, report: report)
      : BGAppRefreshTask(identifier: identifier, report: report)
    let launch = state.withLock { state in
      let launch = state.launches[identifier]
      if let launch { state.running[id] = (task, launch.queue) }
      return launch
    }
    guard let launch else {
      fatalError("No launch handler registered for task with identifier \(identifier)")
    }
    session.call(on: launch.queue) {
      launch.handler(task)
      done()
    }
  }

  /// The time of a task ends.
  func expire(_ id: AppEventID) {
    guard let (task, queue) = state.withLock({ $0.running[id] }) else { return }
    currentSession().call(on: queue) { task.expire() }
  }
}

extension AppSession {
  /// A session for requests of a program whose application has not begun.
  static let unavailable = AppSession(system: Unavailable())

  private final class Unavailable: AppSystem {
    func report(_ event: AppMachine.ProcessEvent) {}
    func request(_ request: AppRequest) -> AppReply { .refused(.unavailable) }
    var backgroundTimeRemaining: TimeSpan? { nil }
  }
}

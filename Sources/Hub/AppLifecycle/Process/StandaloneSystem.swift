internal import AppMachines
internal import AppSessions
internal import Essentials
internal import Foundation
internal import Glibc
internal import InfoPlists
internal import Synchronization

extension AppSession {
  /// The session of a program that no system runs, with the `Info.plist` of the program. It is launched into the
  /// foreground, and becomes active.
  ///
  /// - Parameter isTerminatedBySignals: SIGTERM and SIGINT terminate it. Not where the program runs by itself, and only
  ///   uses the application.
  static func standalone(isTerminatedBySignals: Bool) -> AppSession {
    let system = StandaloneSystem(isTerminatedBySignals: isTerminatedBySignals)
    let session = AppSession(system: system, infoPlist: programInfoPlist())
    system.start(session)
    return session
  }

  private static func programInfoPlist() -> InfoPlist {
    do throws(InfoPlistError) {
      return try InfoPlist.ofProgram() ?? InfoPlist()
    } catch {
      NSLog("The program's Info.plist can't be used: %@", String(describing: error))
      return InfoPlist()
    }
  }
}

/// Stands in for a system where none runs the app. There is no background: background tasks never expire.
private final class StandaloneSystem: AppSystem {
  private struct State {
    var session: AppSession?
    // Kept so that they go on; never used again.
    nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []
    var isTerminating = false
    var terminationCount = 0
  }

  /// A repeated SIGTERM, from a script or for the whole process group, doesn't break off what the app does at its end.
  private static let terminationsMax = 3

  private let isTerminatedBySignals: Bool
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "ambit.app-signals")

  init(isTerminatedBySignals: Bool) { self.isTerminatedBySignals = isTerminatedBySignals }

  func start(_ session: AppSession) {
    state.withLock { $0.session = session }
    session.receive(.start(AppLaunch(isInForeground: true)))
  }

  func report(_ event: AppMachine.ProcessEvent) {
    switch event {
    case .launched:
      if isTerminatedBySignals { handleSignals() }
      let session = state.withLock { $0.session }
      session?.receive(.deliver([.transition(.didBecomeActive)]))
    case .exited: exit(0)
    case .resumed, .opened, .closed, .acknowledged, .beganBackgroundTask, .endedBackgroundTask,
      .completed, .gone, .reclaimed:
      break
    }
  }

  func request(_ request: AppRequest) -> AppReply { request.replyWithoutSystem }

  var backgroundTimeRemaining: TimeSpan? { nil }

  /// The reaction to a signal.
  private enum Step { case terminate, endNow, goOn }

  /// Notes that a signal has come.
  private func note(_ number: Int32) -> Step {
    state.withLock { state in
      if number == SIGTERM { state.terminationCount += 1 }
      guard state.isTerminating else {
        state.isTerminating = true
        return .terminate
      }
      return number == SIGTERM && state.terminationCount < Self.terminationsMax ? .goOn : .endNow
    }
  }

  /// Ends the process with a signal, which the sources have blocked.
  private static func endProcess(_ number: Int32) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    signal(number, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
  }

  /// The first signal lets the app end by itself; a second one, or the third SIGTERM, ends it at once.
  private func handleSignals() {
    let session = state.withLock { $0.session }
    let sources = [SIGTERM, SIGINT].map { (number: Int32) in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [weak self] in
        switch self?.note(number) ?? .endNow {
        case .terminate: session?.receive(.terminate)
        case .endNow: Self.endProcess(number)
        case .goOn: break
        }
      }
      source.resume()
      return source
    }
    state.withLock { $0.sources = sources }
  }
}

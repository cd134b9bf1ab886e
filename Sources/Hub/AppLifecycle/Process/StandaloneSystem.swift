internal import AppMachines
internal import AppSessions
internal import Essentials
internal import Foundation
internal import Glibc
internal import Synchronization

extension AppSession {
  /// The session of a program that no system runs, with the `Info.plist` of the program. It is launched into the
  /// foreground, becomes active, and is terminated by SIGTERM and SIGINT.
  static func standalone() -> AppSession {
    let system = StandaloneSystem()
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
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "ambit.app-signals")

  func start(_ session: AppSession) {
    state.withLock { $0.session = session }
    session.receive(.start(AppLaunch(isInForeground: true)))
  }

  func report(_ event: AppMachine.ProcessEvent) {
    switch event {
    case .launched:
      handleSignals()
      let session = state.withLock { $0.session }
      session?.receive(.deliver([.transition(.didBecomeActive)]))
    case .exited: exit(0)
    case .opened, .closed, .acknowledged, .beganBackgroundTask, .endedBackgroundTask, .completed,
      .gone:
      break
    }
  }

  func request(_ request: AppRequest) -> AppReply {
    switch request {
    case .pendingTasks: .tasks([])
    case .pendingNotifications, .deliveredNotifications: .notifications([])
    case .authorizeNotifications: .granted(false)
    case .notificationAuthorization: .authorization(false)
    case .cancelTask, .cancelAllTasks, .setFetchInterval, .removePendingNotifications,
      .removeDeliveredNotifications, .unregisterForRemoteNotifications:
      .done
    case .submitTask, .setKeepAliveTimeout, .addNotification, .presentNotification,
      .registerForRemoteNotifications, .setBadge:
      .refused(.unavailable)
    }
  }

  var backgroundTimeRemaining: TimeSpan? { nil }

  /// The first signal lets the app end by itself, and a second one ends it at once.
  private func handleSignals() {
    let session = state.withLock { $0.session }
    let sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        signal(number, SIG_DFL)
        session?.receive(.terminate)
      }
      source.resume()
      return source
    }
    state.withLock { $0.sources = sources }
  }
}

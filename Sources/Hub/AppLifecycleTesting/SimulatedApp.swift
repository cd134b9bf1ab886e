public import AppLifecycle
import AppMachines
import AppSessions
import Dispatch
import Essentials
import InfoPlists

/// An app that a ``SimulatedPhone`` can install: its code, and what its `Info.plist` declares.
///
/// Its code runs in the test's process, on the main queue and on the queues that it makes. When the phone ends the
/// app's process, managers of Core Bluetooth get nothing more, and the object of the launch is released. Swift's
/// globals and `static let`, running tasks, threads, timers, `UserDefaults` and files stay as they are: state that the
/// app must not find again belongs to the object.
public struct SimulatedApp: Sendable {
  let id: AppID
  let infoPlist: InfoPlist
  /// Begins a process that was started at a time.
  let begin: @MainActor @Sendable (AppSession, Instant) -> Void
  let end: @MainActor @Sendable () -> Void

  /// The bundle identifier.
  public var identifier: String { id.rawValue }

  init(
    _ identifier: String, _ infoPlist: [String: Any],
    begin: @escaping @MainActor @Sendable (AppSession, Instant) -> Void,
    end: @escaping @MainActor @Sendable () -> Void
  ) {
    id = AppID(identifier)
    do throws(InfoPlistError) { self.infoPlist = try InfoPlist(infoPlist) } catch {
      preconditionFailure("The Info.plist of \(identifier) is invalid: \(error)")
    }
    self.begin = begin
    self.end = end
  }

  /// Describes an app without an application delegate.
  ///
  /// - Parameters:
  ///   - identifier: The bundle identifier.
  ///   - infoPlist: The keys of `Info.plist` on which its life depends, such as `UIBackgroundModes`. A value of
  ///     another type than Apple's ends the program.
  ///   - launch: Runs the app: makes its managers, and returns the object that owns them. The object is released
  ///     when the process ends.
  public init(
    _ identifier: String, infoPlist: [String: Any] = [:],
    launch: @escaping @MainActor @Sendable (SimulatedLaunch) -> AnyObject
  ) {
    let root = AppRoot()
    self.init(identifier, infoPlist) { session, time in
      session.run { command, done in
        DispatchQueue.main.async {
          MainActor.assumeIsolated {
            root.handle(command, session) { launch(SimulatedLaunch($0, time)) }
          }
          done()
        }
      }
    } end: {
      root.object = nil
    }
  }
}

extension SimulatedApp {
  /// Describes an app with an application delegate.
  ///
  /// - Parameters:
  ///   - identifier: The bundle identifier.
  ///   - infoPlist: The keys of `Info.plist` on which its life depends, such as `UIBackgroundModes`. A value of
  ///     another type than Apple's ends the program.
  ///   - delegate: Makes the delegate, in each process of the app. It is released when the process ends.
  public init(
    _ identifier: String, infoPlist: [String: Any] = [:],
    delegate: @escaping @MainActor @Sendable () -> any UIApplicationDelegate
  ) {
    self.init(identifier, infoPlist) { session, _ in
      UIApplication.begin(session, delegate: delegate)
    } end: {
      UIApplication.reset()
    }
  }
}

/// What an app without an application delegate consists of.
@MainActor
private final class AppRoot {
  var object: AnyObject?

  nonisolated init() {}

  func handle(
    _ command: AppSession.Command, _ session: AppSession,
    _ launch: @MainActor (AppLaunch) -> AnyObject
  ) {
    switch command {
    case .start(let start):
      object = launch(start)
      session.report(.launched)
    case .terminate:
      object = nil
      session.report(.exited(.status(0), hasOthers: false))
    case .transition, .expire, .expireTask: break
    }
  }
}

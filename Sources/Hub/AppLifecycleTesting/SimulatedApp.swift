public import AppLifecycle
import AppMachines
import AppSessions
import Dispatch
import Essentials
import InfoPlists

/// An app that a ``SimulatedPhone`` can install: its code, and what its `Info.plist` declares.
///
/// Each launch of it is a process of its own, unless the phone runs its apps in the test's process
/// (``SimulatedPhone/Isolation``). The closure that begins it may not use values of the test, which the other process
/// doesn't have.
public struct SimulatedApp: Sendable {
  let id: AppID
  let infoPlist: InfoPlist
  let code: AppCode

  /// The bundle identifier.
  public var identifier: String { id.rawValue }

  init(_ identifier: String, _ infoPlist: [String: Any], _ code: AppCode) {
    id = AppID(identifier)
    do throws(InfoPlistError) { self.infoPlist = try InfoPlist(infoPlist) } catch {
      preconditionFailure("The Info.plist of \(identifier) is invalid: \(error)")
    }
    self.code = code
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
    self.init(identifier, infoPlist, AppCode(AppCode.Launch(make: launch)))
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
    self.init(identifier, infoPlist, AppCode(AppCode.Delegate(make: delegate)))
  }
}

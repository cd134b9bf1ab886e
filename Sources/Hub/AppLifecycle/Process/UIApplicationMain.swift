internal import AppSessions
internal import Foundation
internal import Glibc

/// Runs the app of this program, and never returns.
///
/// - Parameters:
///   - argc: The number of arguments. Not used.
///   - argv: The arguments. Not used.
///   - principalClassName: Nil. The class of the application is `UIApplication`.
///   - delegateClassName: The class of the delegate, as `NSStringFromClass(_:)` writes it. It is made with `init()`.
/// - Returns: Nothing, as the program ends first.
@discardableResult
@preconcurrency @MainActor public func UIApplicationMain(
  _ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<Int8>?>?,
  _ principalClassName: String?, _ delegateClassName: String?
) -> Int32 {
  guard let delegateClassName else { runApplication { nil } }
  guard let type = NSClassFromString(delegateClassName) else {
    fatalError(
      "Unable to instantiate the UIApplication delegate instance. Could not load class named \"\(delegateClassName)\"."
    )
  }
  runApplication(type)
}

extension UIApplicationDelegate {
  /// Runs the app of this program with a delegate of this class, made with `init()`: the entry point of a class with
  /// `@main`.
  @preconcurrency @MainActor public static func main() {
    runApplication(Self.self)
  }
}

@MainActor private func runApplication(_ type: AnyClass) -> Never {
  runApplication {
    guard let delegate = instance(of: type) as? any UIApplicationDelegate else {
      fatalError(
        "\(NSStringFromClass(type)) is no class of NSObject that conforms to UIApplicationDelegate."
      )
    }
    return delegate
  }
}

@MainActor private func runApplication(
  _ makeDelegate: @escaping @MainActor () -> (any UIApplicationDelegate)?
) -> Never {
  UIApplication.begin(
    AppSession.current ?? .withManager() ?? .standalone(isTerminatedBySignals: true),
    delegate: makeDelegate)
  RunLoop.main.run()
  dispatchMain()
}

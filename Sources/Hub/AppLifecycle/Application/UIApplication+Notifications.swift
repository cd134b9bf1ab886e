public import Foundation

// Posted on the main thread, with the application as their object.

extension UIApplication {
  /// The app has finished launching. The user info has the launch options.
  public nonisolated static let didFinishLaunchingNotification = Notification.Name(
    "UIApplicationDidFinishLaunchingNotification")

  /// The app has become active.
  public nonisolated static let didBecomeActiveNotification = Notification.Name(
    "UIApplicationDidBecomeActiveNotification")

  /// The app will no longer be active.
  public nonisolated static let willResignActiveNotification = Notification.Name(
    "UIApplicationWillResignActiveNotification")

  /// The app has entered the background.
  public nonisolated static let didEnterBackgroundNotification = Notification.Name(
    "UIApplicationDidEnterBackgroundNotification")

  /// The app will enter the foreground.
  public nonisolated static let willEnterForegroundNotification = Notification.Name(
    "UIApplicationWillEnterForegroundNotification")

  /// The app will be terminated.
  public nonisolated static let willTerminateNotification = Notification.Name(
    "UIApplicationWillTerminateNotification")

  /// Memory is short.
  public nonisolated static let didReceiveMemoryWarningNotification = Notification.Name(
    "UIApplicationDidReceiveMemoryWarningNotification")

  /// `backgroundRefreshStatus` has changed. Never posted here.
  public nonisolated static let backgroundRefreshStatusDidChangeNotification = Notification.Name(
    "UIApplicationBackgroundRefreshStatusDidChangeNotification")
}

// The names that Swift 3 and 4 had.
extension NSNotification.Name {
  /// The older name of `UIApplication.didFinishLaunchingNotification`.
  public static let UIApplicationDidFinishLaunching = UIApplication.didFinishLaunchingNotification

  /// The older name of `UIApplication.didBecomeActiveNotification`.
  public static let UIApplicationDidBecomeActive = UIApplication.didBecomeActiveNotification

  /// The older name of `UIApplication.willResignActiveNotification`.
  public static let UIApplicationWillResignActive = UIApplication.willResignActiveNotification

  /// The older name of `UIApplication.didEnterBackgroundNotification`.
  public static let UIApplicationDidEnterBackground = UIApplication.didEnterBackgroundNotification

  /// The older name of `UIApplication.willEnterForegroundNotification`.
  public static let UIApplicationWillEnterForeground = UIApplication.willEnterForegroundNotification

  /// The older name of `UIApplication.willTerminateNotification`.
  public static let UIApplicationWillTerminate = UIApplication.willTerminateNotification

  /// The older name of `UIApplication.didReceiveMemoryWarningNotification`.
  public static let UIApplicationDidReceiveMemoryWarning = UIApplication
    .didReceiveMemoryWarningNotification

  /// The older name of `UIApplication.backgroundRefreshStatusDidChangeNotification`.
  public static let UIApplicationBackgroundRefreshStatusDidChange = UIApplication
    .backgroundRefreshStatusDidChangeNotification
}

/// The name of `UIApplication.didFinishLaunchingNotification` in Objective-C.
public let UIApplicationDidFinishLaunchingNotification = UIApplication
  .didFinishLaunchingNotification

/// The name of `UIApplication.didBecomeActiveNotification` in Objective-C.
public let UIApplicationDidBecomeActiveNotification = UIApplication.didBecomeActiveNotification

/// The name of `UIApplication.willResignActiveNotification` in Objective-C.
public let UIApplicationWillResignActiveNotification = UIApplication.willResignActiveNotification

/// The name of `UIApplication.didEnterBackgroundNotification` in Objective-C.
public let UIApplicationDidEnterBackgroundNotification = UIApplication
  .didEnterBackgroundNotification

/// The name of `UIApplication.willEnterForegroundNotification` in Objective-C.
public let UIApplicationWillEnterForegroundNotification = UIApplication
  .willEnterForegroundNotification

/// The name of `UIApplication.willTerminateNotification` in Objective-C.
public let UIApplicationWillTerminateNotification = UIApplication.willTerminateNotification

/// The name of `UIApplication.didReceiveMemoryWarningNotification` in Objective-C.
public let UIApplicationDidReceiveMemoryWarningNotification = UIApplication
  .didReceiveMemoryWarningNotification

/// The name of `UIApplication.backgroundRefreshStatusDidChangeNotification` in Objective-C.
public let UIApplicationBackgroundRefreshStatusDidChangeNotification = UIApplication
  .backgroundRefreshStatusDidChangeNotification

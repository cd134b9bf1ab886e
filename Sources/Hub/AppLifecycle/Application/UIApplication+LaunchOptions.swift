package import AppMachines
internal import AppSessions
internal import Foundation

extension UIApplication {
  /// The keys of launch options.
  ///
  /// An app whose `Info.plist` has `UIApplicationSceneManifest` gets no launch options.
  public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
    /// The name of the key.
    public let rawValue: String

    /// Creates a key with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The restore identifiers of the central managers for which something waits, as `[String]`.
    public static let bluetoothCentrals = Self(
      rawValue: "UIApplicationLaunchOptionsBluetoothCentralsKey")
    /// The restore identifiers of the peripheral managers for which something waits, as `[String]`.
    public static let bluetoothPeripherals = Self(
      rawValue: "UIApplicationLaunchOptionsBluetoothPeripheralsKey")
    /// The app was launched for a region; the value is true.
    public static let location = Self(rawValue: "UIApplicationLaunchOptionsLocationKey")
    /// The payload of the remote notification that the person tapped, as `[AnyHashable: Any]`.
    public static let remoteNotification = Self(
      rawValue: "UIApplicationLaunchOptionsRemoteNotificationKey")
    /// The local notification that the person tapped. Never set here: the delegate of `UNUserNotificationCenter` gets
    /// it.
    public static let localNotification = Self(
      rawValue: "UIApplicationLaunchOptionsLocalNotificationKey")
  }
}

/// The older name of `UIApplication.LaunchOptionsKey`.
public typealias UIApplicationLaunchOptionsKey = UIApplication.LaunchOptionsKey

extension UIApplication.LaunchOptionsKey {
  /// The dictionary that a process gets, for a phone that launches it.
  package static func options(_ launch: AppLaunch) -> [Self: Any]? {
    options(launch, AppNotification(payload: launch.notification).map(UNNotificationResponse.init))
  }

  /// Apple's dictionary; nil where there is nothing to report.
  static func options(_ launch: AppLaunch, _ response: UNNotificationResponse?) -> [Self: Any]? {
    guard let options = launch.options else { return nil }
    var values: [Self: Any] = [:]
    if !options.centrals.isEmpty { values[.bluetoothCentrals] = options.centrals }
    if !options.peripherals.isEmpty { values[.bluetoothPeripherals] = options.peripherals }
    if options.isForLocation { values[.location] = NSNumber(value: true) }
    if let request = response?.notification.request, request.trigger is UNPushNotificationTrigger {
      values[.remoteNotification] = request.content.userInfo
    }
    return values.isEmpty ? nil : values
  }
}

public import Foundation

/// What notifications may do.
public struct UNAuthorizationOptions: OptionSet, Hashable, Sendable {
  /// The bits of the options.
  public let rawValue: UInt

  /// Creates options with bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// They set the number on the app's icon.
  public static let badge = Self(rawValue: 1 << 0)
  /// They play a sound.
  public static let sound = Self(rawValue: 1 << 1)
  /// They show alerts.
  public static let alert = Self(rawValue: 1 << 2)
  /// They are shown in a car.
  public static let carPlay = Self(rawValue: 1 << 3)
  /// They play sounds also where the device is silent.
  public static let criticalAlert = Self(rawValue: 1 << 4)
  /// The app shows settings for them.
  public static let providesAppNotificationSettings = Self(rawValue: 1 << 5)
  /// They are delivered without a sound until the person decides.
  public static let provisional = Self(rawValue: 1 << 6)
}

/// Whether an app may show notifications.
public enum UNAuthorizationStatus: Int, Sendable {
  /// The app has not requested it.
  case notDetermined = 0
  case denied = 1
  case authorized = 2
  case provisional = 3
  case ephemeral = 4
}

/// How a notification is presented while the app is in the foreground.
public struct UNNotificationPresentationOptions: OptionSet, Hashable, Sendable {
  /// The bits of the options.
  public let rawValue: UInt

  /// Creates options with bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The number on the app's icon.
  public static let badge = Self(rawValue: 1 << 0)
  /// The sound.
  public static let sound = Self(rawValue: 1 << 1)
  /// An alert; the older name of `banner` and `list`.
  public static let alert = Self(rawValue: 1 << 2)
  /// In the list of notifications.
  public static let list = Self(rawValue: 1 << 3)
  /// A banner.
  public static let banner = Self(rawValue: 1 << 4)
}

/// The settings for an app's notifications.
open class UNNotificationSettings: NSObject, @unchecked Sendable {
  // Unchecked: it has one constant.

  /// Whether the app may show notifications.
  public let authorizationStatus: UNAuthorizationStatus

  init(_ status: UNAuthorizationStatus) { authorizationStatus = status }
}

/// The name of the domain of the errors of notifications.
public let UNErrorDomain = "UNErrorDomain"

/// An error of notifications.
public struct UNError: CustomNSError, Hashable, Sendable {
  /// The codes of errors.
  public enum Code: Int, Sendable {
    /// The app may not show notifications.
    case notificationsNotAllowed = 1
    case attachmentInvalidURL = 100
    case attachmentUnrecognizedType = 101
    case attachmentInvalidFileSize = 102
    case attachmentNotInDataStore = 103
    case attachmentMoveIntoDataStoreFailed = 104
    case attachmentCorrupt = 105
    case notificationInvalidNoDate = 1400
    /// The content is empty, or its user info is no property list.
    case notificationInvalidNoContent = 1401

    /// Makes `catch UNError.Code.notificationsNotAllowed` work.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? UNError)?.code == code
    }
  }

  /// The code of the error.
  public let code: Code

  /// Creates an error with a code.
  public init(_ code: Code) { self.code = code }

  /// The name of the errors' domain.
  public static var errorDomain: String { UNErrorDomain }
  /// The number of the code.
  public var errorCode: Int { code.rawValue }
}

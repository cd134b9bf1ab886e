public import Foundation

/// What happens when the person chooses an action.
public struct UNNotificationActionOptions: OptionSet, Hashable, Sendable {
  /// The bits of the options.
  public let rawValue: UInt

  /// Creates options with bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The device has to be unlocked.
  public static let authenticationRequired = Self(rawValue: 1 << 0)
  /// The action destroys something.
  public static let destructive = Self(rawValue: 1 << 1)
  /// The app is opened.
  public static let foreground = Self(rawValue: 1 << 2)
}

/// An action that a notification offers. A simulated phone and `ambit apps` show alerts without their actions.
open class UNNotificationAction: NSObject, @unchecked Sendable {
  // Unchecked: it and its subclass have constants only.

  /// The identifier, which a response has.
  public let identifier: String
  /// The title.
  public let title: String
  /// What happens when the person chooses the action.
  public let options: UNNotificationActionOptions

  /// Creates an action.
  public init(identifier: String, title: String, options: UNNotificationActionOptions = []) {
    self.identifier = identifier
    self.title = title
    self.options = options
  }
}

/// An action with a field for text.
open class UNTextInputNotificationAction: UNNotificationAction, @unchecked Sendable {
  /// The title of the button that sends the text.
  public let textInputButtonTitle: String
  /// The text of the empty field.
  public let textInputPlaceholder: String

  /// Creates an action.
  public init(
    identifier: String, title: String, options: UNNotificationActionOptions = [],
    textInputButtonTitle: String, textInputPlaceholder: String
  ) {
    self.textInputButtonTitle = textInputButtonTitle
    self.textInputPlaceholder = textInputPlaceholder
    super.init(identifier: identifier, title: title, options: options)
  }
}

/// How the notifications of a category are shown.
public struct UNNotificationCategoryOptions: OptionSet, Hashable, Sendable {
  /// The bits of the options.
  public let rawValue: UInt

  /// Creates options with bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The delegate gets a response when the person dismisses the notification.
  public static let customDismissAction = Self(rawValue: 1 << 0)
  /// A car shows them.
  public static let allowInCarPlay = Self(rawValue: 1 << 1)
  /// The title is shown where the person hides contents.
  public static let hiddenPreviewsShowTitle = Self(rawValue: 1 << 2)
  /// The second title is shown where the person hides contents.
  public static let hiddenPreviewsShowSubtitle = Self(rawValue: 1 << 3)
}

/// A kind of notification, with its actions.
open class UNNotificationCategory: NSObject, @unchecked Sendable {
  // Unchecked: it has constants only.

  /// The identifier, which the content of a notification has.
  public let identifier: String
  /// The actions, in their order.
  public let actions: [UNNotificationAction]
  /// The intents of Siri that the category belongs to.
  public let intentIdentifiers: [String]
  /// How the notifications are shown.
  public let options: UNNotificationCategoryOptions

  /// Creates a category.
  public init(
    identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
    options: UNNotificationCategoryOptions = []
  ) {
    self.identifier = identifier
    self.actions = actions
    self.intentIdentifiers = intentIdentifiers
    self.options = options
  }
}

/// How much a notification interrupts the person.
public enum UNNotificationInterruptionLevel: UInt, Sendable {
  /// It is listed without a sound.
  case passive = 0
  /// It is presented at once.
  case active = 1
  /// It is presented at once, also while the person lets few apps interrupt.
  case timeSensitive = 2
  /// It plays a sound also where the device is silent.
  case critical = 3
}

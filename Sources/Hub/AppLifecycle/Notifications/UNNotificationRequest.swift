internal import AppSessions
public import Foundation

/// When a notification is shown.
open class UNNotificationTrigger: NSObject, @unchecked Sendable {
  // Unchecked: it and its subclasses have constants only.

  /// Whether it is shown again and again.
  public let repeats: Bool

  init(repeats: Bool) { self.repeats = repeats }
}

/// Shows a notification after some time.
open class UNTimeIntervalNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
  /// The time in seconds.
  public let timeInterval: TimeInterval

  /// Creates a trigger. A time that isn't positive, or is below a minute and repeats, is a programming error.
  public init(timeInterval: TimeInterval, repeats: Bool) {
    precondition(timeInterval > 0, "time interval must be greater than 0")
    precondition(
      !repeats || timeInterval >= 60, "time interval must be at least 60 if repeating")
    self.timeInterval = timeInterval
    super.init(repeats: repeats)
  }
}

/// The trigger of a remote notification.
open class UNPushNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
  init() { super.init(repeats: false) }
}

/// A request to show a notification.
open class UNNotificationRequest: NSObject, @unchecked Sendable {
  // Unchecked: it has constants only.

  /// The identifier, by which it is replaced and removed.
  public let identifier: String
  /// The content.
  public let content: UNNotificationContent
  /// When it is shown; nil for at once.
  public let trigger: UNNotificationTrigger?

  /// Creates a request with a copy of the content.
  public init(
    identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?
  ) {
    self.identifier = identifier
    self.content = content.copied()
    self.trigger = trigger
  }

  convenience init(_ notification: AppNotification) {
    let trigger: UNNotificationTrigger? =
      switch notification.origin {
      case .remote: UNPushNotificationTrigger()
      case .local(let seconds, let repeats) where seconds > 0 && (!repeats || seconds >= 60):
        UNTimeIntervalNotificationTrigger(timeInterval: seconds, repeats: repeats)
      case .local: nil
      }
    self.init(
      identifier: notification.identifier, content: UNNotificationContent(notification),
      trigger: trigger)
  }

  /// The same for the system; nil if the user info isn't a property list.
  var notification: AppNotification? {
    guard let contents = content.propertyList else { return nil }
    let seconds = (trigger as? UNTimeIntervalNotificationTrigger)?.timeInterval ?? 0
    let hasAlert = !content.title.isEmpty || !content.body.isEmpty || content.sound != nil
    return AppNotification(
      identifier, .local(seconds: seconds, repeats: trigger?.repeats ?? false),
      contents: contents, hasAlert: hasAlert || content.badge != nil)
  }
}

/// A notification that was shown, or is about to be.
open class UNNotification: NSObject, @unchecked Sendable {
  // Unchecked: it has constants only.

  /// The request.
  public let request: UNNotificationRequest
  /// When it came, by the clock of the system that runs the app.
  public let date: Date

  init(_ notification: AppNotification) {
    request = UNNotificationRequest(notification)
    date = Date(timeIntervalSince1970: notification.date ?? 0)
  }
}

/// The person's response to a notification.
open class UNNotificationResponse: NSObject, @unchecked Sendable {
  // Unchecked: it has constants only.

  /// The notification.
  public let notification: UNNotification
  /// The action that the person chose: ``UNNotificationDefaultActionIdentifier``.
  public let actionIdentifier = UNNotificationDefaultActionIdentifier

  init(_ notification: AppNotification) { self.notification = UNNotification(notification) }
}

/// The text that the person wrote as a response. Never given here: alerts are shown without their actions.
open class UNTextInputNotificationResponse: UNNotificationResponse, @unchecked Sendable {
  /// The text.
  public let userText = ""
}

/// The person opened the app from the notification.
public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"
/// The person dismissed the notification. Never the action of a response here.
public let UNNotificationDismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"

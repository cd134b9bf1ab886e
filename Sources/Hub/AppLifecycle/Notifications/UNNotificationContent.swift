internal import AppSessions
public import Foundation

/// The content of a notification.
open class UNNotificationContent: NSObject, @unchecked Sendable {
  // Unchecked: an object of this class is not changed after it was made, and the values of a property list are not
  // either.

  var values = Values()

  struct Values {
    var title = ""
    var subtitle = ""
    var body = ""
    var badge: NSNumber?
    var sound: UNNotificationSound?
    var categoryIdentifier = ""
    var threadIdentifier = ""
    var interruptionLevel = UNNotificationInterruptionLevel.active
    var relevanceScore = 0.0
    var userInfo: [AnyHashable: Any] = [:]
  }

  /// The title.
  open var title: String { values.title }
  /// The second title.
  open var subtitle: String { values.subtitle }
  /// The text.
  open var body: String { values.body }
  /// The number for the app's icon.
  open var badge: NSNumber? { values.badge }
  /// The sound.
  open var sound: UNNotificationSound? { values.sound }
  /// The category of the notification.
  open var categoryIdentifier: String { values.categoryIdentifier }
  /// Notifications with the same identifier are grouped.
  open var threadIdentifier: String { values.threadIdentifier }
  /// How much the notification interrupts the person. It changes nothing here.
  open var interruptionLevel: UNNotificationInterruptionLevel { values.interruptionLevel }
  /// The place of the notification in a summary, from 0 to 1. It changes nothing here.
  open var relevanceScore: Double { values.relevanceScore }
  /// The app's own values, a property list; the payload of a remote notification.
  open var userInfo: [AnyHashable: Any] { values.userInfo }

  override init() { super.init() }

  /// Reads the content of a notification. Values of a foreign type are left out.
  convenience init(_ notification: AppNotification) {
    self.init()
    let data = Data(notification.contents)
    switch notification.origin {
    case .remote:
      let payload = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
      let aps = payload["aps"] as? [String: Any] ?? [:]
      let alert = aps["alert"] as? [String: Any] ?? [:]
      values.title = alert["title"] as? String ?? ""
      values.subtitle = alert["subtitle"] as? String ?? ""
      values.body = alert["body"] as? String ?? aps["alert"] as? String ?? ""
      values.badge = aps["badge"] as? NSNumber
      values.sound = (aps["sound"] as? String).map { UNNotificationSound(name: $0) }
      values.categoryIdentifier = aps["category"] as? String ?? ""
      values.threadIdentifier = aps["thread-id"] as? String ?? ""
      values.interruptionLevel =
        (aps["interruption-level"] as? String).flatMap(Self.interruptionLevel) ?? .active
      values.relevanceScore = (aps["relevance-score"] as? NSNumber)?.doubleValue ?? 0
      values.userInfo = payload
    case .local:
      let list = (try? PropertyListSerialization.propertyList(from: data, format: nil))
      let read = list as? [String: Any] ?? [:]
      values.title = read["title"] as? String ?? ""
      values.subtitle = read["subtitle"] as? String ?? ""
      values.body = read["body"] as? String ?? ""
      values.badge = read["badge"] as? NSNumber
      values.sound = (read["sound"] as? String).map { UNNotificationSound(name: $0) }
      values.categoryIdentifier = read["category"] as? String ?? ""
      values.threadIdentifier = read["thread"] as? String ?? ""
      values.interruptionLevel =
        (read["interruptionLevel"] as? NSNumber)
        .flatMap { UNNotificationInterruptionLevel(rawValue: $0.uintValue) } ?? .active
      values.relevanceScore = (read["relevanceScore"] as? NSNumber)?.doubleValue ?? 0
      values.userInfo = read["userInfo"] as? [String: Any] ?? [:]
    }
  }

  /// The level of a remote notification, by its name.
  private static func interruptionLevel(_ name: String) -> UNNotificationInterruptionLevel? {
    switch name {
    case "passive": .passive
    case "active": .active
    case "time-sensitive": .timeSensitive
    case "critical": .critical
    default: nil
    }
  }

  /// The same as a property list; nil if `userInfo` isn't one.
  var propertyList: [UInt8]? {
    var list: [String: Any] = [
      "title": title, "subtitle": subtitle, "body": body, "category": categoryIdentifier,
      "thread": threadIdentifier, "interruptionLevel": interruptionLevel.rawValue,
      "relevanceScore": relevanceScore,
    ]
    list["badge"] = badge
    list["sound"] = sound?.name
    var info: [String: Any] = [:]
    for (key, value) in userInfo {
      guard let key = key as? String else { return nil }
      info[key] = value
    }
    list["userInfo"] = info
    guard PropertyListSerialization.propertyList(list, isValidFor: .xml) else { return nil }
    let data = try? PropertyListSerialization.data(
      fromPropertyList: list, format: .xml, options: 0)
    return data.map(Array.init)
  }

  func copied() -> UNNotificationContent {
    let copy = UNNotificationContent()
    copy.values = values
    return copy
  }
}

/// The content of a notification that the app makes.
open class UNMutableNotificationContent: UNNotificationContent, @unchecked Sendable {
  // Unchecked: as Apple's, it belongs to the code that makes it; a request copies it.

  /// Creates an empty content.
  public override init() { super.init() }

  /// The title.
  open override var title: String {
    get { values.title }
    set { values.title = newValue }
  }
  /// The second title.
  open override var subtitle: String {
    get { values.subtitle }
    set { values.subtitle = newValue }
  }
  /// The text.
  open override var body: String {
    get { values.body }
    set { values.body = newValue }
  }
  /// The number for the app's icon.
  open override var badge: NSNumber? {
    get { values.badge }
    set { values.badge = newValue }
  }
  /// The sound.
  open override var sound: UNNotificationSound? {
    get { values.sound }
    set { values.sound = newValue }
  }
  /// The category of the notification.
  open override var categoryIdentifier: String {
    get { values.categoryIdentifier }
    set { values.categoryIdentifier = newValue }
  }
  /// Notifications with the same identifier are grouped.
  open override var threadIdentifier: String {
    get { values.threadIdentifier }
    set { values.threadIdentifier = newValue }
  }
  /// How much the notification interrupts the person. It changes nothing here.
  open override var interruptionLevel: UNNotificationInterruptionLevel {
    get { values.interruptionLevel }
    set { values.interruptionLevel = newValue }
  }
  /// The place of the notification in a summary, from 0 to 1. It changes nothing here.
  open override var relevanceScore: Double {
    get { values.relevanceScore }
    set { values.relevanceScore = newValue }
  }
  /// The app's own values, a property list.
  open override var userInfo: [AnyHashable: Any] {
    get { values.userInfo }
    set { values.userInfo = newValue }
  }
}

/// The sound of a notification, by its name. None is played here.
open class UNNotificationSound: NSObject, @unchecked Sendable {
  // Unchecked: it has one constant, and subclasses are the app's.

  let name: String

  init(name: String) { self.name = name }

  /// The system's sound.
  public static let `default` = UNNotificationSound(name: "default")
}

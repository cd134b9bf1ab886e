internal import Foundation

/// A remote notification as a gateway sends it, with the fields of Apple's push service (APNs).
package struct AppPush: Hashable, Codable, Sendable {
  package enum Target: Hashable, Codable, Sendable {
    case app(String)
    /// The device token of an app, in hexadecimal digits.
    case token(String)
  }

  /// `apns-push-type`, as far as apps here get it.
  package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    case alert, background
  }

  package var target: Target
  /// A JSON object with the dictionary `aps`.
  package var payload: String
  /// `apns-id`.
  package var identifier: String
  /// `apns-push-type`; nil if the payload tells.
  package var kind: Kind?
  /// `apns-priority`: 1, 5 or 10; nil without one.
  package var priority: Int?
  /// `apns-expiration`: seconds since 1970; 0 for one that never waits; nil without one.
  package var expiration: Double?
  /// `apns-collapse-id`.
  package var collapseIdentifier: String?

  package init(to target: Target, payload: String, identifier: String) {
    self.target = target
    self.payload = payload
    self.identifier = identifier
  }

  /// Apple's maximum length of a collapse identifier, in bytes.
  package static let collapseIdentifierByteCountMax = 64
  private static let identifierByteCountMax = 64

  /// The notification for the app.
  ///
  /// - Throws: If Apple's service would refuse it.
  package func notification() throws(AppPushError) -> AppNotification {
    guard !payload.isEmpty else { throw .payloadEmpty }
    let byteCount = payload.utf8.count
    guard byteCount <= AppNotification.remoteByteCountMax else {
      throw .payloadTooLarge(byteCount: byteCount)
    }
    let object = try? JSONSerialization.jsonObject(with: Data(payload.utf8))
    guard let object = object as? [String: Any] else { throw .malformedPayload }
    guard object["aps"] is [String: Any] else { throw .missingAPS }
    guard !identifier.isEmpty, identifier.utf8.count <= Self.identifierByteCountMax else {
      throw .badIdentifier
    }
    if let collapseIdentifier,
      collapseIdentifier.isEmpty
        || collapseIdentifier.utf8.count > Self.collapseIdentifierByteCountMax
    {
      throw .badCollapseIdentifier
    }
    if let expiration, !expiration.isFinite || expiration < 0 { throw .badExpiration }
    if let priority, ![1, 5, 10].contains(priority) { throw .badPriority }
    guard let notification = AppNotification(remote: payload, identifier: identifier) else {
      throw .missingAPS
    }
    if kind == .background {
      guard notification.isSilent, !notification.hasAlert else { throw .badKind }
      if priority == 10 { throw .badPriority }
    }
    if kind == .alert, !notification.hasAlert { throw .badKind }
    return notification
  }
}

/// Why a remote notification is refused.
package enum AppPushError: Error, Hashable, Sendable {
  case payloadEmpty
  case payloadTooLarge(byteCount: Int)
  /// It is no JSON object.
  case malformedPayload
  case missingAPS
  case badIdentifier
  case badCollapseIdentifier
  case badExpiration
  case badPriority
  case badKind

  /// The reason as Apple's service names it.
  package var reason: String {
    switch self {
    case .payloadEmpty: "PayloadEmpty"
    case .payloadTooLarge: "PayloadTooLarge"
    case .malformedPayload, .missingAPS: "BadPayload"
    case .badIdentifier: "BadMessageId"
    case .badCollapseIdentifier: "BadCollapseId"
    case .badExpiration: "BadExpirationDate"
    case .badPriority: "BadPriority"
    case .badKind: "InvalidPushType"
    }
  }

  /// A sentence without a full stop.
  package var sentence: String {
    let text =
      switch self {
      case .payloadEmpty: "the payload is empty"
      case .payloadTooLarge(let count):
        "the payload has \(count) bytes, and the maximum is \(AppNotification.remoteByteCountMax)"
      case .malformedPayload: "the payload is no JSON object"
      case .missingAPS: "the payload has no dictionary \"aps\""
      case .badIdentifier: "the identifier is empty or longer than 64 bytes"
      case .badCollapseIdentifier:
        "the collapse identifier is empty or longer than \(AppPush.collapseIdentifierByteCountMax) bytes"
      case .badExpiration: "the expiration is no time"
      case .badPriority: "the priority is not 1, 5 or 10, or is 10 for a background notification"
      case .badKind:
        "a background notification needs content-available without alert, badge and sound; "
          + "an alert needs one of those"
      }
    return "\(text) (\(reason))"
  }
}

/// What became of a remote notification.
package enum AppPushResult: String, Hashable, Codable, Sendable {
  /// The app gets it, now or when its process can.
  case delivered
  /// The person is shown an alert; the app gets it when the person opens it from there.
  case shown
  /// It waits, since the app was woken too often. A newer one with its identifier replaces it.
  case throttled
  /// It waits for the person to open the app, which has not the background mode.
  case waitsForForeground
  /// The person has ended the app.
  case forceQuit
  /// The app may not show alerts, and the notification is not silent.
  case notAuthorized
  /// Its time was over while it would have to wait.
  case expired
}

/// The text of an alert.
package struct AppAlertText: Hashable, Codable, Sendable {
  package var title: String
  package var body: String

  package init(title: String, body: String) {
    self.title = title
    self.body = body
  }
}

extension AppNotification {
  /// The text that the person is shown.
  package var alertText: AppAlertText {
    switch origin {
    case .local:
      let list = try? PropertyListSerialization.propertyList(from: Data(contents), format: nil)
      let content = list as? [String: Any] ?? [:]
      return AppAlertText(
        title: content["title"] as? String ?? "", body: content["body"] as? String ?? "")
    case .remote:
      let object = try? JSONSerialization.jsonObject(with: Data(contents))
      let aps = (object as? [String: Any])?["aps"] as? [String: Any] ?? [:]
      let alert = aps["alert"] as? [String: Any] ?? [:]
      return AppAlertText(
        title: alert["title"] as? String ?? "",
        body: alert["body"] as? String ?? aps["alert"] as? String ?? "")
    }
  }
}

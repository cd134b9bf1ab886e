package import AppMachines
internal import Essentials
internal import Foundation

/// A notification for an app: one that it has added itself, or a remote one.
package struct AppNotification: Hashable, Codable, Sendable {
  package enum Origin: Hashable, Codable, Sendable {
    /// Due after these seconds, from the time at which it is added, and again each time if it repeats.
    case local(seconds: Double, repeats: Bool)
    case remote
  }

  /// The request's identifier, by which it is replaced or removed.
  package var identifier: String
  package var origin: Origin
  /// A property list of a local notification's content, or the JSON text of a remote one.
  package var contents: [UInt8]
  /// It has `content-available`: the app is woken for it.
  package var isSilent: Bool
  /// The person is shown an alert.
  package var hasAlert: Bool
  /// When it came, in seconds since 1970. The system sets it.
  package var date: Double?

  package init(
    _ identifier: String, _ origin: Origin, contents: [UInt8], isSilent: Bool = false,
    hasAlert: Bool = true
  ) {
    self.identifier = identifier
    self.origin = origin
    self.contents = contents
    self.isSilent = isSilent
    self.hasAlert = hasAlert
  }

  /// A remote notification; nil if the text isn't a JSON object with the dictionary `aps`.
  package init?(remote text: String, identifier: String) {
    guard text.utf8.count <= Self.remoteByteCountMax, let object = Self.object(Array(text.utf8)),
      let aps = object["aps"] as? [String: Any]
    else { return nil }
    self.init(
      identifier, .remote, contents: Array(text.utf8),
      isSilent: (aps["content-available"] as? NSNumber)?.intValue == 1,
      hasAlert: aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil)
  }

  /// Apple's maximum size of a remote notification.
  package static let remoteByteCountMax = 4_096

  /// The event with which the process gets it. Only the newest one with a key waits.
  package func event(key: UInt64? = nil) -> AppEvent {
    AppEvent(
      .notification(isSilent: isSilent, hasAlert: hasAlert), for: .notifications, key: key,
      payload: encoded)
  }

  private var encoded: [UInt8] {
    let encoder = JSONEncoder()
    // A process may send times that are no numbers.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let data = try? encoder.encode(self) else {
      preconditionFailure("a notification can't be encoded")
    }
    return Array(data)
  }

  /// Reads the payload of an event; nil if it is malformed.
  package init?(payload: [UInt8]) {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let read = try? decoder.decode(Self.self, from: Data(payload)) else { return nil }
    self = read
  }

  private static func object(_ bytes: [UInt8]) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
  }
}

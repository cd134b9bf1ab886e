import AppMachines
import AppSessions
import InfoPlists

extension FuzzTarget {
  /// What an app's file declares, and notifications for it.
  static let apps: [FuzzTarget] = [
    FuzzTarget(name: "InfoPlist") { bytes in
      guard let plist = try? InfoPlist(bytes: bytes) else { return }
      precondition(
        plist.backgroundModes.count <= InfoPlist.elementCountMax, "too many background modes")
      _ = plist.description
    },
    FuzzTarget(name: "AppNotification") { bytes in
      if let notification = AppNotification(payload: bytes) {
        precondition(
          AppNotification(payload: notification.event().payload) == notification,
          "a notification changed in writing")
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let remote = AppNotification(remote: text, identifier: "1") else { return }
      precondition(
        remote.contents.count <= AppNotification.remoteByteCountMax, "a notification is too large")
    },
  ]
}

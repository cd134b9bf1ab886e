import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists

extension FuzzTarget {
  /// What an app's file declares, notifications for it, its messages, and its preserved state.
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
    FuzzTarget(name: "AppFrame") { bytes in
      read(AppManagerGreeting.self, from: bytes)
      read(AppProcessMessage.self, from: bytes)
      read(AppManagerMessage.self, from: bytes)
      read(AppCommandReply.self, from: bytes)
      read(HeldSocketRequest.self, from: bytes)
      read(HeldSocketReply.self, from: bytes)
    },
    FuzzTarget(name: "AppPreserved", run: restore),
  ]

  /// Reads messages from all bytes, and from the same in parts: the results are the same.
  private static func read<Message: Codable & Equatable>(_: Message.Type, from bytes: [UInt8]) {
    let whole = messages(Message.self, from: [bytes[...]])
    let parts = messages(
      Message.self, from: stride(from: 0, to: bytes.count, by: 3).map { bytes[$0...].prefix(3) })
    precondition(isSame(whole, parts), "bytes that come in parts are other messages")
    for message in whole {
      let again = messages(Message.self, from: [AppFrame.bytes(of: message)[...]])
      precondition(again.isEmpty || isSame(again, [message]), "a message changed in writing")
    }
  }

  /// Messages may have numbers that don't equal themselves.
  private static func isSame<Message: Equatable>(_ a: [Message], _ b: [Message]) -> Bool {
    a == b || String(describing: a) == String(describing: b)
  }

  private static func messages<Message: Decodable>(
    _: Message.Type, from parts: [ArraySlice<UInt8>]
  ) -> [Message] {
    var reader = AppFrame.Reader(byteCountMax: 4_096)
    var found: [Message] = []
    for part in parts {
      reader.append(part)
      do throws(AppFrameError) {
        while let message = try reader.next(Message.self) { found.append(message) }
      } catch { return found }
    }
    return found
  }

  /// Gives a system what the last one has kept of an app, whose process runs on or not, and lets time pass.
  @Sendable private static func restore(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let app = AppID("com.example.app")
    let rest = Array(bytes.dropFirst())
    var machine = AppHubMachine()
    var actions: [AppHubMachine.Action] = []
    func handle(_ event: AppHubMachine.Event, at now: Instant = .zero) {
      machine.setCalendar(1_800_000_000 + (now - .zero).seconds, now: now)
      machine.handle(event, now: now, into: &actions)
      precondition(machine.violations().isEmpty, "\(machine.violations())")
    }
    handle(.life(.installed(app, AppDescription(modes: BackgroundModes(rawValue: .max)))))
    if first & 4 != 0 {
      let adoption = AppMachine.AppAdoption(isFrozen: first & 8 != 0, isInForeground: false)
      handle(.life(.adopted(app, AppProcessID(rawValue: 9), adoption)))
    }
    switch first & 3 {
    case 0:
      if let manager = PreservedManager(app: app, manager: "central:lock", bytes: rest) {
        handle(.preserved(manager))
      }
    case 1:
      if let regions = PreservedRegions(app: app, bytes: rest) {
        handle(.preservedRegions(regions))
      }
    default:
      if let record = try? JSONDecoder().decode(AppServiceRecord.self, from: Data(rest)) {
        handle(.preservedServices(app, record))
      }
    }
    for seconds: Int64 in [1, 30, 4_000, 100_000] {
      handle(.life(.wake), at: .zero + .seconds(seconds))
    }
    _ = machine.preservedManagers.map(\.bytes)
    _ = machine.preservedRegions
    _ = machine.serviceRecord(of: app)
  }
}

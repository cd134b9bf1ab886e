import AppMachines
import EventLoop
import Foundation
import Glibc
import Synchronization

/// The folders of a phone's apps, one for each app, which outlive their processes and end with the phone.
final class PhoneHome: Sendable {
  private struct State {
    var folder: String?
    var names: [AppID: String] = [:]
    var lastName = 0
  }

  private let state = Mutex(State())

  deinit { remove() }

  /// Removes all of them.
  func remove() {
    let folder = state.withLock { state in
      defer { state = State() }
      return state.folder
    }
    if let folder { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// An app was removed: one that is installed again has new folders.
  func remove(_ app: AppID) {
    let path = state.withLock { state -> String? in
      guard let folder = state.folder, let name = state.names.removeValue(forKey: app) else {
        return nil
      }
      return folder + "/" + name
    }
    if let path { try? FileManager.default.removeItem(atPath: path) }
  }

  /// The variables with which a process of an app has its own folder as home.
  func environment(of app: AppID) throws -> [String: String] {
    let home = try path(of: app)
    var variables = ["HOME": home, "CFFIXED_USER_HOME": home]
    for (name, path) in Self.folders { variables[name] = home + path }
    for path in variables.values {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    return variables
  }

  private static let folders = [
    "XDG_CONFIG_HOME": "/.config", "XDG_DATA_HOME": "/.local/share",
    "XDG_STATE_HOME": "/.local/state", "XDG_CACHE_HOME": "/.cache", "XDG_RUNTIME_DIR": "/.run",
    "TMPDIR": "/tmp",
  ]

  /// Any text may be an identifier, so folders have numbers.
  private func path(of app: AppID) throws -> String {
    try state.withLock { state in
      let folder = try state.folder ?? Self.makeFolder()
      state.folder = folder
      if let name = state.names[app] { return folder + "/" + name }
      state.lastName += 1
      let name = "\(state.lastName)"
      state.names[app] = name
      return folder + "/" + name
    }
  }

  private static func makeFolder() throws -> String {
    // mkdtemp(3) replaces it.
    let pattern = String(repeating: "X", count: 6)
    var path = Array((NSTemporaryDirectory() + "/ambit-phone-" + pattern).utf8CString)
    guard mkdtemp(&path) != nil else { throw SystemError.current }
    return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

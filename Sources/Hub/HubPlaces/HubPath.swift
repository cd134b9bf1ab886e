/// The usual places of hubs: programs look for a hub where hubs listen by default.
package enum HubPath {
  /// The socket of the system's hub, which root or the service manager makes.
  package static let system = "/run/ambit/hub"

  /// The socket of a user's hub.
  ///
  /// - Parameter runtimeFolder: The value of `XDG_RUNTIME_DIR`.
  /// - Returns: The path; nil without a folder, or if its path is relative, which the XDG Base Directory
  ///   Specification has programs ignore.
  package static func user(runtimeFolder: String?) -> String? {
    guard let runtimeFolder, runtimeFolder.hasPrefix("/") else { return nil }
    return runtimeFolder + "/ambit/hub"
  }

  /// The places where a program looks for a hub, in this order: the user's, then the system's.
  ///
  /// - Parameter runtimeFolder: The value of `XDG_RUNTIME_DIR`.
  package static func all(runtimeFolder: String?) -> [String] {
    [user(runtimeFolder: runtimeFolder), system].compactMap(\.self)
  }

  /// The socket beside a hub's, at which it runs Multicast DNS for programs.
  ///
  /// - Parameter hub: The path of the hub's socket.
  package static func bonjour(beside hub: String) -> String { hub + ".bonjour" }

  /// The socket beside a hub's, at which it has metrics.
  ///
  /// - Parameter hub: The path of the hub's socket.
  package static func metrics(beside hub: String) -> String { hub + ".metrics" }
}

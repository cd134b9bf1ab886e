internal import EventLoop

/// Where the manager of a user's apps listens.
package enum AppManagerPlace {
  /// The variable of an app's environment with the path of the manager's socket.
  package static let variable = "AMBIT_APPS"

  /// The socket that the environment of this process names.
  package static var path: String? { path(ProcessEnvironment.value) }

  /// The socket for processes of apps and commands: `AMBIT_APPS`, or else `ambit/apps` in `XDG_RUNTIME_DIR`.
  ///
  /// - Parameter environment: The value of an environment variable.
  /// - Returns: The path; nil without a folder, or if its path is relative.
  package static func path(_ environment: (String) -> String?) -> String? {
    if let path = environment(variable), !path.isEmpty { return path }
    guard let folder = environment("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
    return folder + "/ambit/apps"
  }

  /// The socket beside it, at which Core Bluetooth of apps finds the manager as its hub.
  package static func hub(beside path: String) -> String { path + ".hub" }

  /// The socket beside it, at which processes of apps hand over sockets and take them back.
  package static func sockets(beside path: String) -> String { path + ".sockets" }
}

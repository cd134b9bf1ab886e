import EventLoop

/// Which hub a program uses.
package enum HubSetting: Equatable, Sendable {
  /// None: the program has a host of its own.
  case off
  /// The hub that listens at this path.
  case path(String)
  /// A value that is neither, with the reason.
  case invalid(String)

  /// The setting in the environment variable `AMBIT_HUB`; nil if it is not set.
  package static var environment: HubSetting? {
    ProcessEnvironment.value("AMBIT_HUB").map(HubSetting.init)
  }

  /// Reads `off` or the absolute path of a UNIX socket.
  package init(_ value: String) {
    if value == "off" {
      self = .off
    } else if !value.hasPrefix("/") {
      self = .invalid(
        "AMBIT_HUB: \"\(value)\" is neither \"off\" nor the path of a socket, beginning with \"/\"."
      )
    } else if SocketAddress(path: value) == nil {
      let max = SocketAddress.unixPathByteCountMax
      self = .invalid("AMBIT_HUB: the path \"\(value)\" is longer than \(max) bytes.")
    } else {
      self = .path(value)
    }
  }
}

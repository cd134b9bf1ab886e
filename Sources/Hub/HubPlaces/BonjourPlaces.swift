import EventLoop

/// Where a program looks for a hub that runs Multicast DNS for it.
package struct BonjourPlaces: Hashable, Sendable {
  /// The paths of sockets, in the order in which they are tried. There is at least one.
  package var paths: [String]
  /// Whether `AMBIT_HUB` names the hub. It is waited for then, also if it has never been there.
  package var isNamed: Bool

  package init(paths: [String], isNamed: Bool) {
    precondition(!paths.isEmpty, "a hub is somewhere")
    self.paths = paths
    self.isNamed = isNamed
  }

  /// Where this process looks; nil if it uses no hub.
  ///
  /// A radio of the process's own, which `AMBIT_RADIO` names, is no reason against the hub's network.
  package static let current = BonjourPlaces(
    .environment, runtimeFolder: ProcessEnvironment.value("XDG_RUNTIME_DIR"),
    isTest: { TestProcess.isCurrent })

  /// Where a program looks; nil if it uses no hub.
  ///
  /// - Parameters:
  ///   - setting: The value of `AMBIT_HUB`; nil if it is not set.
  ///   - runtimeFolder: The value of `XDG_RUNTIME_DIR`.
  ///   - isTest: Whether the process runs tests, which use a hub only if `AMBIT_HUB` names it.
  package init?(_ setting: HubSetting?, runtimeFolder: String?, isTest: () -> Bool) {
    switch setting {
    case .off, .invalid: return nil
    case .path(let path): self.init(paths: [HubPath.bonjour(beside: path)], isNamed: true)
    case nil:
      if isTest() { return nil }
      self.init(
        paths: HubPath.all(runtimeFolder: runtimeFolder).map { HubPath.bonjour(beside: $0) },
        isNamed: false)
    }
  }
}

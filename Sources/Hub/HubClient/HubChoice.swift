import BluetoothInterface
import EventLoop
package import HubPlaces
package import Logging

/// Which hub this process uses for its Bluetooth, and why. A host that is set for a task overrules it.
package enum HubChoice: Equatable, Sendable {
  /// The hub at this path, which `AMBIT_HUB` names, whether it listens or not.
  case named(path: String)
  /// The hub that listened at this usual path when the process first used Bluetooth.
  case found(path: String)
  /// None, and no radio: `AMBIT_HUB` has no valid value.
  case invalid(reason: String)
  /// None, because `AMBIT_HUB` is `off`.
  case off
  /// None, because `AMBIT_RADIO` names a radio of the process's own.
  case ownRadio
  /// None, because the process runs tests, which use a hub only if `AMBIT_HUB` names it.
  case tests
  /// None, because no hub was found, or not one that may be used.
  case notFound(reason: String)

  /// The choice of this process, which is made when it is first read, and logged if a hub is refused. A hub that
  /// starts later is not used, and one that ends is waited for.
  package static let current: HubChoice = {
    HubChoice(.environment, ProcessEnvironment.value, isTest: { TestProcess.isCurrent }) { path in
      let presence = HubPresence(at: path)
      if case .isRefused(let reason) = presence { Self.logger.warning("\(reason)") }
      return presence
    }
  }()

  /// Whether this process runs tests, which use no radio of the machine that they don't name.
  package static var isTestProcess: Bool { TestProcess.isCurrent }

  private static let logger = Logger(label: "ambit.hub")

  /// The hub's host for the API modules, with a warning if settings have no effect because of it; nil if no hub is
  /// used.
  package func provider() -> HubSessionProvider? {
    if let warning = warning(ProcessEnvironment.value) { Self.logger.warning("\(warning)") }
    return setting.flatMap { HubSessionProvider.provider(for: $0) }
  }

  /// The host for the API modules of a program that is built without a host of its own: the hub's. If the program
  /// may not use Bluetooth, or uses no hub, it is a host whose radio can't be used, and the reason is logged.
  ///
  /// - Parameters:
  ///   - refusal: Why the program may not use Bluetooth; nil if it may.
  ///   - choice: The hub, which is not chosen after a refusal.
  ///   - logger: Gets the reason why no radio can be used, in one sentence or more.
  package static func onlyProvider(
    refusal: String?, choice: () -> HubChoice = { .current },
    logger: Logger = Logger(label: "ambit.hub")
  ) -> HubSessionProvider {
    if let refusal { return HubSessionProvider(problem: .unauthorized(refusal), logger: logger) }
    let choice = choice()
    return choice.provider()
      ?? HubSessionProvider(
        problem: .unsupported(
          "This program is built without a Bluetooth host, and uses no hub: \(choice.reason) Start a hub "
            + "with the command `ambit hub`, or build with the trait BluetoothHost of the package ambit."
        ),
        logger: logger)
  }

  /// Chooses a hub.
  ///
  /// - Parameters:
  ///   - setting: The value of `AMBIT_HUB`; nil if it is not set.
  ///   - environment: The value of an environment variable.
  ///   - isTest: Whether the process runs tests.
  ///   - presence: Whether a hub listens at a path.
  init(
    _ setting: HubSetting?, _ environment: (String) -> String?, isTest: () -> Bool,
    presence: (String) -> HubPresence
  ) {
    switch setting {
    case .off: self = .off
    case .path(let path): self = .named(path: path)
    case .invalid(let reason): self = .invalid(reason: reason)
    case nil:
      if environment("AMBIT_RADIO") != nil {
        self = .ownRadio
      } else if isTest() {
        self = .tests
      } else {
        self = .look(
          at: HubPath.all(runtimeFolder: environment("XDG_RUNTIME_DIR")), presence: presence)
      }
    }
  }

  /// The hub at the first of these paths that may be used.
  private static func look(at paths: [String], presence: (String) -> HubPresence) -> HubChoice {
    var refusals: [String] = []
    for path in paths {
      switch presence(path) {
      case .listens: return .found(path: path)
      case .isAbsent: break
      case .isRefused(let reason): refusals.append(reason)
      }
    }
    let nothing = "No hub listens at \(paths.joined(separator: " or "))."
    return .notFound(reason: refusals.isEmpty ? nothing : refusals.joined(separator: " "))
  }

  /// The choice as a setting; nil if no hub is used, and `AMBIT_HUB` is not the reason.
  package var setting: HubSetting? {
    switch self {
    case .named(let path), .found(let path): .path(path)
    case .invalid(let reason): .invalid(reason)
    case .off: .off
    case .ownRadio, .tests, .notFound: nil
    }
  }

  /// The path of the hub that is used; nil for none.
  package var path: String? {
    if case .path(let path) = setting { path } else { nil }
  }

  /// Why this hub or none is used, in a sentence for users.
  package var reason: String {
    switch self {
    case .named(let path): "AMBIT_HUB names the hub at \(path)."
    case .found(let path): "A hub listens at \(path)."
    case .invalid(let reason), .notFound(let reason): reason
    case .off: "AMBIT_HUB is \"off\"."
    case .ownRadio: "AMBIT_RADIO names a radio."
    case .tests: "This process runs tests, which use a hub only if AMBIT_HUB names it."
    }
  }

  /// Settings of a host in the process, which a hub's host doesn't have.
  private static let settingsOfHosts = [
    "AMBIT_ADDRESS", "AMBIT_BONDS", "AMBIT_CAPTURE", "AMBIT_PAIRING",
  ]

  /// Which variables have no effect because a hub is used, in a sentence; nil if all have.
  func warning(_ environment: (String) -> String?) -> String? {
    let names = Self.settingsOfHosts.filter { environment($0) != nil }
    guard let path, !names.isEmpty else { return nil }
    return "The radio is that of the hub at \(path), without these settings: "
      + "\(names.joined(separator: ", ")). AMBIT_HUB=off selects a radio of this process."
  }
}

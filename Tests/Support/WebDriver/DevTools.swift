/// A line of the page's console, or a complaint of Chromium's own: a request that failed, a
/// violation of the content security policy, an uncaught exception.
public struct ConsoleMessage: Decodable, Hashable, Sendable {
  /// `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
  public var level: String
  /// Where it comes from: `javascript`, `console-api`, `network`, `security`.
  public var source: String
  /// The message, with the place in the script.
  public var message: String
}

extension Browser {
  /// Sends a command of the DevTools protocol (<https://chromedevtools.github.io/devtools-protocol/>)
  /// to the selected tab.
  public func devTools<Result: Decodable>(
    _ command: String, _ parameters: any Encodable = [String: String](),
    as type: Result.Type = Result.self
  ) async throws -> Result {
    try await send("POST", "goog/cdp/execute", Command(command, parameters), as: type)
  }

  /// Sends a command of the DevTools protocol of which no result is wanted.
  public func devTools(
    _ command: String, _ parameters: any Encodable = [String: String]()
  ) async throws {
    try await send("POST", "goog/cdp/execute", Command(command, parameters))
  }

  private struct Command: Encodable {
    var cmd: String
    var params: any Encodable

    init(_ command: String, _ parameters: any Encodable) {
      cmd = command
      params = parameters
    }

    private enum CodingKeys: CodingKey { case cmd, params }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(cmd, forKey: .cmd)
      try params.encode(to: container.superEncoder(forKey: .params))
    }
  }

  /// Cuts the selected tab off the network, or connects it again. Its workers stay connected.
  public func setOffline(_ isOffline: Bool) async throws {
    struct Conditions: Encodable {
      var offline: Bool
      var latency = 0
      var downloadThroughput = -1
      var uploadThroughput = -1
    }
    try await devTools("Network.enable")
    try await devTools("Network.emulateNetworkConditions", Conditions(offline: isOffline))
  }

  /// Sets what media queries see, such as `prefers-reduced-motion: reduce`.
  public func emulateMedia(_ features: KeyValuePairs<String, String>) async throws {
    struct Feature: Encodable {
      var name: String
      var value: String
    }
    try await devTools(
      "Emulation.setEmulatedMedia",
      ["features": features.map { Feature(name: $0.key, value: $0.value) }])
  }

  /// What the console has had since this was last called.
  public func consoleMessages() async throws -> [ConsoleMessage] {
    try await send("POST", "se/log", ["type": "browser"], as: [ConsoleMessage].self)
  }

  /// The errors of the console since its messages were last asked for.
  public func consoleErrors() async throws -> [ConsoleMessage] {
    try await consoleMessages().filter { $0.level == "SEVERE" }
  }
}

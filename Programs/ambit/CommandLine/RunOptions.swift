package import ArgumentParser

/// What every command takes that goes on, or that waits for something.
package struct RunOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The time limit: 10, 2.5, 500ms, 30s, 2m. Commands that run until Ctrl-C end then; "
        + "others fail with status 75 if they are not done.",
      valueName: "time"),
    transform: { text in
      guard let seconds = Seconds(text) else {
        throw ValidationError("\"\(text)\" is not a time like 10, 2.5, 500ms, 30s or 2m.")
      }
      return seconds
    })
  package var timeout: Seconds?

  @Flag(help: "Write one JSON object per line; docs/json.md lists the keys.")
  package var json = false

  @Flag(
    help: ArgumentHelp(
      "Print each step with its time. AMBIT_LOG chooses what else is printed: debug, which is this, info, "
        + "notice, warning or error. Default: info."))
  package var verbose = false

  package init() {}

  /// Runs `body`, which would go on for ever, until the time is over or Ctrl-C.
  package func untilTime(_ body: @escaping @Sendable () async throws -> Void) async throws {
    guard let timeout else { return try await body() }
    _ = try await race(timeout.duration, body)
  }
}

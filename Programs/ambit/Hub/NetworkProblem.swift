import BluetoothHost

/// Why a hub runs no Multicast DNS although no option leaves it out.
enum NetworkProblem {
  /// The service manager opened a socket for the radio only: its units are of a version without Multicast DNS.
  ///
  /// - Parameters:
  ///   - scope: The manager of the units.
  ///   - radio: The hub's radio.
  ///   - more: Other options of the hub that `install` takes.
  /// - Returns: A sentence with the command that writes new units.
  static func units(_ scope: HubUnits.Scope, radio: RadioChoice, more: [String]) -> String {
    let install = ["ambit", "hub", "install"] + (scope == .user ? ["--user"] : [])
    let command = ShellText.command(install + ["--radio", radio.description] + more)
    let sudo = scope == .system ? "sudo " : ""
    return
      "The hub runs no Multicast DNS, because its units are of an earlier version and open no socket for it, so "
      + "that each program uses port 5353 by itself: \"\(sudo)\(command)\" writes new ones, and with --no-network "
      + "they leave it out."
  }

  /// The hub can't listen at its socket for Multicast DNS.
  static func socket(_ path: String, _ reason: String) -> String {
    "The hub cannot run Multicast DNS for programs at \(Fit.safe(path)): \(reason)."
  }
}

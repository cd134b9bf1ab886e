/// Why a hub runs no Multicast DNS although no option leaves it out.
package enum NetworkProblem {
  /// The service manager opened a socket for the radio only: its units are of a version without Multicast DNS.
  ///
  /// - Parameters:
  ///   - ofUser: Whether they are a user's units.
  ///   - radio: The hub's radio.
  ///   - more: Other options of the hub that `install` takes.
  /// - Returns: A sentence with the command that writes new units.
  package static func units(
    ofUser: Bool, radio: some CustomStringConvertible, more: [String]
  ) -> String {
    let install = ["ambit", "hub", "install"] + (ofUser ? ["--user"] : [])
    let command = ShellText.command(install + ["--radio", radio.description] + more)
    let sudo = ofUser ? "" : "sudo "
    return
      "The hub runs no Multicast DNS, because its units are of an earlier version and open no socket for it, so "
      + "that each program uses port 5353 by itself: \"\(sudo)\(command)\" writes new ones, and with --no-network "
      + "they leave it out."
  }

  /// The hub can't listen at its socket for Multicast DNS.
  package static func socket(_ path: String, _ reason: String) -> String {
    "The hub cannot run Multicast DNS for programs at \(Fit.safe(path)): \(reason)."
  }
}

public import BluetoothMachines

extension HostConfiguration {
  /// Chooses the pairings that the host accepts by the value of `AMBIT_PAIRING` or `--pair`: words
  /// separated by commas, such as `ask,authenticated`.
  ///
  /// - `never`, `auto`, `ask`: `pairingPolicy`
  /// - `authenticated`: `requiresAuthentication`
  /// - `secure-connections`: `requiresSecureConnections`
  /// - `replace=never`, `replace=ask`, `replace=always`: `bondReplacement`
  /// - `debug-keys`: `acceptsDebugKeys`
  ///
  /// - Parameter name: Nil: nothing is changed.
  /// - Throws: `PairingChoiceError` with the first word that is none of these. Nothing is changed then.
  public mutating func choosePairing(named name: String?) throws(PairingChoiceError) {
    guard let name else { return }
    var chosen = self
    for word in name.split(separator: ",", omittingEmptySubsequences: false) {
      switch word {
      case "never": chosen.pairingPolicy = .never
      case "auto": chosen.pairingPolicy = .automatic
      case "ask": chosen.pairingPolicy = .ask
      case "authenticated": chosen.requiresAuthentication = true
      case "secure-connections": chosen.requiresSecureConnections = true
      case "replace=never": chosen.bondReplacement = .never
      case "replace=ask": chosen.bondReplacement = .ask
      case "replace=always": chosen.bondReplacement = .always
      case "debug-keys": chosen.acceptsDebugKeys = true
      default: throw PairingChoiceError(word: String(word))
      }
    }
    self = chosen
  }
}

/// A word that chooses no pairings.
public struct PairingChoiceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The invalid word.
  public var word: String

  /// A sentence for users, with the valid words.
  public var description: String {
    "\"\(word)\" chooses no pairings: use never, auto or ask, authenticated, secure-connections, "
      + "replace=never, replace=ask or replace=always, and debug-keys, separated by commas."
  }
}

import HubMachines

extension FuzzTarget {
  /// The rules of a hub, which administrators write, and the control groups of a program that uses it.
  static let rules: [FuzzTarget] = [hubRules, controlGroups]

  private struct Names: AccountNames {
    let areAllKnown = false
    func userID(of name: String) -> UInt32? { name.hasPrefix("a") ? 1 : nil }
    func groupID(of name: String) -> UInt32? { name.hasPrefix("a") ? 2 : nil }
  }

  /// The bytes as a file, and as the indices of words in one. A valid file judges a program that it can't know.
  private static let hubRules = FuzzTarget(name: "HubRules") { bytes in
    let words = bytes.flatMap { ruleWords[Int($0) % ruleWords.count].utf8 }
    for text in [bytes, words, Array("{\"rules\":[{\"access\":".utf8) + words] {
      let rules: HubRules
      do throws(HubRulesError) { rules = try HubRules(parsing: text, names: Names()) } catch {
        precondition(!error.description.isEmpty, "a file was refused without a reason")
        continue
      }
      precondition(rules.rules.count <= HubRules.ruleCountMax, "too many rules")
      let peer = HubPeer(userID: HubRules.overflowID, processID: 1)
      if case .allowed = rules.verdict(on: peer, hubUserID: 1) {
        preconditionFailure("a program of an unknown user and socket is allowed")
      }
      let hub = HubLimits()
      for rule in rules.rules {
        let limits = rule.quotas.limits(hub)
        precondition(limits.linkCountMax <= hub.linkCountMax, "a quota exceeds the hub's limit")
        precondition(
          limits.waitingByteCountLow < limits.waitingByteCountHigh, "reading never resumes")
      }
    }
  }

  private static let ruleWords = [
    "{", "}", "[", "]", ",", ":", "0", "1", "65534", "-3.5", "1e308", "null", "\"a\"",
    "\"\\u0000\"",
    "\"rules\":", "\"access\":", "\"allow\"", "\"deny\"", "\"user\":", "\"group\":", "\"unit\":",
    "\"socket\":", "\"quotas\":", "\"connections\":", "\"links\":", "\"scans\":", "\"services\":",
    "\"serviceBytes\":", "\"advertisements\":", "\"queuedBytes\":", "65536", "\"a.service\"",
    "{\"access\":\"allow\"}", "{\"access\":\"deny\",\"user\":1}", "}]}",
  ]

  private static let controlGroups = FuzzTarget(name: "ControlGroups") { bytes in
    for text in [bytes, Array("0::/".utf8) + bytes, Array("1:name=systemd:/a.slice/".utf8) + bytes]
    {
      guard let units = ControlGroups.units(of: text) else { continue }
      precondition(units.count <= 2, "too many units")
      precondition(units.allSatisfy { !$0.contains("\n") }, "a unit of two lines")
      if let first = units.first { precondition(!first.contains("/"), "a unit within none") }
      if units.count == 2 {
        precondition(units[1].hasPrefix(units[0] + "/"), "a unit of another one")
      }
    }
  }
}

import Essentials

// What must hold between the streams, the sessions and the models whenever the machine is not at
// work.

extension LiveMachine {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Only so
  /// many entries of a table are checked: there may be thousands.
  func assertInvariants() {
    let limit = 4
    assert(
      violations(perTable: limit).isEmpty, violations(perTable: limit).joined(separator: "; "))
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    for (stream, open) in streams.prefix(limit) {
      if open.tabs.isEmpty || open.tabs.count > BindingLimits.tabCountMax {
        found.append("a stream has \(open.tabs.count) tabs")
      }
      for tab in open.tabs where sessions[tab]?.stream != stream {
        found.append("\(tab.text) isn't connected by its stream")
      }
    }
    for (tab, session) in sessions.prefix(limit) { found += violations(of: session, tab) }
    for (model, shown) in models.prefix(limit) { found += violations(of: shown, model, limit) }
    for (page, model) in sharedModels where models[model]?.page != page || !pages[page].isShared {
      found.append("\(model) is shared by no page")
    }
    for (key, tab) in holders.prefix(limit) where sessions[tab] == nil || tab.key != key {
      found.append("\(tab.text) holds \(key) without a session")
    }
    found += uploadViolations(limit)
    if sessions.count > BindingLimits.sessionCountMax { found.append("\(sessions.count) sessions") }
    if !sessions.isEmpty, nextWake == nil { found.append("no session ends, and no stream beats") }
    if sharedPatchCount != 0 { found.append("\(sharedPatchCount) patches are not counted") }
    return found
  }

  private func violations(of session: ClientSession, _ tab: TabName) -> [String] {
    var found = session.violations().map { "\(tab.text) \($0)" }
    guard let shown = models[session.model] else { return ["\(tab.text) shows no model"] }
    if !shown.tabs.contains(tab) {
      found.append("\(tab.text) isn't among the tabs of its \(session.model)")
    }
    if let sent = session.sent, sent > shown.state.revision {
      found.append("\(tab.text) has a revision that is still to come")
    }
    if let stream = session.stream, streams[stream]?.tabs.contains(tab) != true {
      found.append("\(tab.text) isn't among the tabs of its stream")
    }
    return found
  }

  private func violations(of shown: Model, _ model: ModelID, _ limit: Int) -> [String] {
    var found: [String] = []
    for tab in shown.tabs.prefix(limit) where sessions[tab]?.model != model {
      found.append("\(tab.text) shows another model than \(model)")
    }
    if pages[shown.page].isShared {
      if sharedModels[shown.page] != model { found.append("\(model) is not the shared one") }
    } else if shown.tabs.count != 1, Set(shown.tabs.map { $0.key ?? $0.text[...] }).count != 1 {
      found.append("\(model) has \(shown.tabs.count) tabs")
    }
    return found
  }
}

extension ClientSession {
  /// How the session contradicts itself; what its tab does wrong for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if (stream == nil) != (idleSince != nil) {
      found.append("is both idle and connected, or neither")
    }
    if stream == nil, isFollowing { found.append("follows without a stream") }
    if !corrections.isEmpty, !owesAcknowledgement {
      found.append("has values to get that no message has set")
    }
    return found
  }
}

import Essentials

// What must hold between the responder and the querier whenever none of them is at work.

extension DiscoveryMachine {
  /// Stops a debug build whose machines contradict each other; each has checked itself already.
  /// Release builds check nothing.
  func assertInvariants() {
    assert(mutualViolations().isEmpty, mutualViolations().joined(separator: "; "))
  }

  /// How the machines contradict each other or themselves; a sentence for each contradiction.
  package func violations() -> [String] {
    responder.violations() + querier.violations() + mutualViolations()
  }

  private func mutualViolations() -> [String] {
    var found: [String] = []
    if !responderActions.isEmpty || !querierActions.isEmpty || !returning.isEmpty {
      found.append("actions or packets are left")
    }
    if hasLocalLink, querier.position(of: .localOnly) == nil {
      found.append("there is no link of this machine only")
    }
    let asked = querier.interfaces.map(\.interface)
    if !responder.isShutDown,
      asked.count != responder.interfaces.count
        || asked.contains(where: { responder.interfaces[$0.index] != $0 })
    {
      found.append("the responder and the querier have other interfaces")
    }
    return found
  }
}

// What must hold of a search whenever it is not at work.

extension OwnerSearch {
  /// Stops a debug build whose search contradicts itself. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the search contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    switch state {
    case .idle, .trying, .refused, .runningLocally:
      if nextWake != nil { found.append("it waits for a time in the state \(state)") }
    case .pausing, .greeting, .following:
      if nextWake == nil { found.append("it waits for ever in the state \(state)") }
    }
    if case .trying(let address) = state, !(0..<addressCount).contains(address) {
      found.append("it tries address \(address) of \(addressCount)")
    }
    if case .following = state, !hasFoundOwner {
      found.append("it follows an owner that was never found")
    }
    let counts = [(attemptCount, Limits.attemptsMax), (lossTimes.count, Limits.lossesMax)]
    for (count, greatest) in counts where !(0...greatest).contains(count) {
      found.append("something was done \(count) times, at most \(greatest) are allowed")
    }
    return found
  }
}

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
    if let followedAddress, !(0..<addressCount).contains(followedAddress) {
      found.append("it followed address \(followedAddress) of \(addressCount)")
    }
    if hasOwnerEnded, followedAddress == nil { found.append("an owner has ended that never was") }
    let counts = [
      (attemptCount, Limits.attemptsMax), (bindAttemptCount, Limits.bindAttemptsMax),
      (lossTimes.count, Limits.lossesMax),
    ]
    for (count, greatest) in counts where !(0...greatest).contains(count) {
      found.append("something was done \(count) times, at most \(greatest) are allowed")
    }
    return found
  }
}

// What must hold of a connection whenever it is not at work.

extension ConnectionMachine {
  /// Stops a debug build whose machine contradicts itself. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the machine contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found = lifeViolations()
    found += queueViolations("sends", count: sends.count, first: firstSend)
    found += queueViolations("receives", count: receives.count, first: firstReceive)
    if state == .ready { found += sendViolations() + receiveViolations() }
    return found
  }

  private func lifeViolations() -> [String] {
    var found: [String] = []
    if isConnected != (state == .ready) {
      found.append("the state is \(state), the socket is \(isConnected ? "" : "not ")connected")
    }
    if path != nil, state != .ready { found.append("a path of a connection that is \(state)") }
    if state.isFinal, pendingCount > 0 { found.append("operations outlive the connection") }
    if case .waiting = state, changedWhilePreparing {
      found.append("it waits although the network has changed")
    }
    if isLingering != (nextWake != nil) { found.append("lingering and its end differ") }
    if isLingering, state != .ready || firstSend == sends.count {
      found.append("it lingers with nothing to send")
    }
    return found
  }

  /// The completed operations before the head are fewer than the others, so that taking one costs
  /// the same however many wait.
  private func queueViolations(_ name: String, count: Int, first: Int) -> [String] {
    guard first >= 0, first * 2 <= count else { return ["the head of the \(name) is at \(first)"] }
    return []
  }

  private func sendViolations() -> [String] {
    var found: [String] = []
    if firstSend > 0, !sends[firstSend - 1].rest.isEmpty {
      found.append("a completed send has bytes left")
    }
    switch writing {
    case .possible:
      if firstSend < sends.count { found.append("a send waits for nothing") }
    case .issued:
      if firstSend == sends.count || sends[firstSend].rest.isEmpty {
        found.append("a write is under way for no send")
      }
    case .blocked: break
    }
    return found
  }

  private func receiveViolations() -> [String] {
    var found: [String] = []
    switch reading {
    case .possible:
      if !isLingering, firstReceive < receives.count { found.append("a receive waits for nothing") }
    case .issued:
      if firstReceive == receives.count { found.append("a read is under way for no receive") }
    case .blocked: break
    }
    if firstReceive < receives.count,
      receives[firstReceive].bytes.count >= receives[firstReceive].maximum
    {
      found.append("a receive has all of its bytes and is not completed")
    }
    return found
  }
}

import Essentials

// What must hold of the room and the candidate whenever the monitor is not at work.

extension RoomMonitor {
  /// Stops a debug build whose monitor contradicts itself. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the monitor contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    if let candidate {
      if candidate.name == room { found.append("the room may be entered again") }
      if candidate.count < 1 || candidate.count >= settings.enterCount {
        found.append("the candidate has \(candidate.count) fixes")
      }
    }
    if room == nil, improbableSince != nil { found.append("no room is improbable") }
    if room != nil, lastReading == nil { found.append("a room was entered without a reading") }
    return found
  }
}

import Essentials

// What must hold of the address whenever the machine is not at work.

extension LinkLocalMachine {
  /// Stops a debug build whose machine contradicts itself. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the machine contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    switch state {
    case .idle: return isLinkUp && !hasRoutableAddress && !isShutDown ? ["it tries nothing"] : []
    case .pausing:
      if conflictCount < Constants.conflictsMax { found.append("it pauses without conflicts") }
    case .probing(let probing):
      if probing.candidate != preferred { found.append("it probes another address than it wants") }
      if !(0...Constants.probeCount).contains(probing.sentCount) {
        found.append("it has sent \(probing.sentCount) probes")
      }
    case .claimed(let claimed):
      if claimed.address != preferred { found.append("it holds another address than it wants") }
      if !(0...Constants.announcementCount).contains(claimed.announcementsLeft) {
        found.append("\(claimed.announcementsLeft) announcements are left")
      }
    }
    if isShutDown || !isLinkUp || hasRoutableAddress { found.append("it is at work without need") }
    if let preferred, !LinkLocalAddresses.range.contains(preferred) {
      found.append("\(preferred) is not link-local")
    }
    return found
  }
}

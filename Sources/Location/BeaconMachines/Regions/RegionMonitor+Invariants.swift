import Essentials

// What must hold of the regions whenever the monitor is not at work.

extension RegionMonitor {
  /// Stops a debug build whose regions contradict each other. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the regions contradict each other or themselves; a sentence for each contradiction.
  package func violations() -> [String] {
    var found = monitored.flatMap(violations(of:))
    if monitored.count > settings.regionsMax { found.append("\(monitored.count) regions") }
    if Set(monitored.map(\.region.identifier)).count != monitored.count {
      found.append("two regions have one name")
    }
    if counters.matches > counters.sightings { found.append("more matches than sightings") }
    return found
  }

  private func violations(of entry: Monitored) -> [String] {
    var found: [String] = []
    let (name, region) = (entry.region.identifier, entry.region)
    if name.utf8.count > settings.identifierByteCountMax { found.append("a name is too long") }
    switch entry.state {
    case .unknown: break
    case .inside:
      if !entry.isEntered { found.append("\(name) is inside, but was not entered") }
    case .outside:
      if entry.isEntered { found.append("\(name) is outside, but was not left") }
    }
    if !isScanning, entry.state != .unknown { found.append("\(name) is known without a scan") }
    if entry.leavesAt < entry.lastHeard { found.append("\(name) was left before it was heard") }
    if intervals.count > BeaconIntervals.countMax { found.append("too many intervals are learnt") }
    if entry.lastHeard > clock.now { found.append("\(name) was heard in the future") }
    if let identity = entry.lastIdentity, !region.constraint.matches(identity) {
      found.append("\(name) was entered for another beacon")
    }
    return found
  }
}

import CoreLocation

/// A journal of visits, as on iOS 17: a monitor whose events are awaited.
actor VisitJournal {
  private(set) var entries: [String] = []

  func keep(of rooms: [String: CLBeaconMajorValue]) async throws {
    let monitor = await CLMonitor("VisitJournal")
    for (name, major) in rooms where await monitor.record(for: name) == nil {
      let condition = CLMonitor.BeaconIdentityCondition(
        uuid: MuseumGuide.beaconUUID, major: major)
      await monitor.add(condition, identifier: name, assuming: .unsatisfied)
    }
    for identifier in await monitor.identifiers where rooms[identifier] == nil {
      await monitor.remove(identifier)
    }
    for try await event in await monitor.events {
      switch event.state {
      case .satisfied:
        let beacon = event.refinement as? CLMonitor.BeaconIdentityCondition
        entries.append("\(event.identifier) by \(beacon?.minor.map(String.init) ?? "?")")
      case .unsatisfied: entries.append("out of \(event.identifier)")
      case .unmonitored, .unknown: entries.append("lost \(event.identifier)")
      @unknown default: break
      }
    }
  }
}

internal import BeaconMachines
internal import EventLoop

// What outlives the process.
extension LocationServices {
  /// Goes on where the last process ended. Before there is a session only.
  func restore(_ file: LocationFile) {
    // The file's reader has tried it.
    if let regions = try? RegionMonitor(snapshot: file.regions[...]) { loop.regions = regions }
    loop.keptRegions = loop.regions.snapshot
    lock.withLock {
      for region in loop.regions.regions {
        shown.regions[region.identifier] = CLBeaconRegion(region)
      }
      for condition in file.conditions {
        shown.lastCondition += 1
        guard let entry = condition.entry(number: "\(shown.lastCondition)") else { continue }
        shown.conditions[condition.monitor, default: []].append(entry)
      }
    }
  }

  /// Writes changed regions and conditions to the store. On the event loop only.
  func keepChanges() {
    guard let store else { return }
    let regions = loop.regions.snapshot
    let conditions = lock.withLock { () -> [String: [MonitorCore.Entry]]? in
      guard shown.areConditionsChanged || regions != loop.keptRegions else { return nil }
      shown.areConditionsChanged = false
      return shown.conditions
    }
    guard let conditions else { return }
    loop.keptRegions = regions
    store.keep(
      LocationFile(
        regions: regions,
        conditions: conditions.sorted { $0.key < $1.key }.flatMap { name, entries in
          entries.compactMap { KeptCondition($0, of: name) }
        }))
  }
}

extension CLBeaconRegion {
  fileprivate convenience init(_ region: BeaconRegion) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(region.constraint),
      identifier: region.identifier)
    notifyOnEntry = region.notifiesOnEntry
    notifyOnExit = region.notifiesOnExit
    notifyEntryStateOnDisplay = region.notifiesStateOnDisplay
  }
}

internal import BeaconMachines
internal import EventLoop
internal import LocationFiles

// What outlives the process.
extension LocationServices {
  /// Goes on where the last process ended. Before there is a session only.
  func restore(_ file: LocationFile) {
    // The file's reader has tried it.
    if let regions = try? RegionMonitor(snapshot: file.regions[...]) { loop.regions = regions }
    let regions = loop.regions.snapshot
    lock.withLock {
      shown.keptRegions = regions
      for region in loop.regions.regions {
        shown.regions[region.identifier] = CLBeaconRegion(region)
      }
    }
    restore(file.conditions)
  }

  /// Takes the conditions of the last process. Before there is a session only.
  func restore(_ conditions: [KeptCondition]) {
    lock.withLock {
      for condition in conditions {
        let known = condition.number.flatMap { Int($0) } ?? 0
        shown.lastCondition = max(shown.lastCondition + 1, known)
        let number = condition.number ?? "\(shown.lastCondition)"
        guard let entry = condition.entry(number: number) else { continue }
        shown.conditions[condition.monitor, default: []].append(entry)
      }
    }
  }

  /// Writes changed regions to the store; conditions are when they change. On the event loop only.
  func keepChanges() {
    guard let store else { return }
    let regions = loop.regions.snapshot
    lock.withLock {
      guard regions != shown.keptRegions else { return }
      shown.keptRegions = regions
      // With the lock, so that contents arrive in the order in which they became right.
      store.keep(shown.content)
    }
  }
}

extension LocationServices.PublicState {
  /// What outlives the process.
  var content: LocationFile {
    LocationFile(
      regions: keptRegions,
      conditions: conditions.sorted { $0.key < $1.key }.flatMap { name, entries in
        entries.compactMap { KeptCondition($0, of: name) }
      })
  }
}

extension CLBeaconRegion {
  convenience init(_ region: BeaconRegion) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(region.constraint),
      identifier: region.identifier)
    notifyOnEntry = region.notifiesOnEntry
    notifyOnExit = region.notifiesOnExit
    notifyEntryStateOnDisplay = region.notifiesStateOnDisplay
  }
}

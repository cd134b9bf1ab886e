internal import AppMachines
internal import BeaconMachines
internal import BluetoothInterface
internal import EventLoop
internal import LocationFiles
internal import Logging

// The conditions of monitors.
extension LocationServices {
  /// Calendar time by the host's clock, which may be virtual.
  var date: Date { Date(timeIntervalSinceReferenceDate: hostSession?.loop.calendarTime ?? 0) }

  /// A number by which the machine knows a condition, and no other one.
  func nextConditionNumber() -> String {
    lock.withLock {
      shown.lastCondition += 1
      return "\(shown.lastCondition)"
    }
  }

  /// Makes this the current monitor with its name, and ends the events of the previous one.
  ///
  /// - Returns: The existing conditions with this monitor name.
  func open(_ core: MonitorCore) -> [MonitorCore.Entry] {
    let old = lock.withLock {
      shown.monitors.updateValue(WeakMonitor(core: core), forKey: core.name)
    }
    if let other = old?.core {
      Logger(label: "CoreLocation").error(
        "API MISUSE: a CLMonitor named \"\(core.name)\" already exists; its events end.")
      other.close()
    }
    return lock.withLock { shown.conditions[core.name] ?? [] }
  }

  /// The monitor is gone; its conditions remain.
  func close(_ core: MonitorCore) {
    lock.withLock {
      let current = shown.monitors[core.name]
      if current?.core == nil || current?.core === core { shown.monitors[core.name] = nil }
    }
  }

  /// Remembers the conditions of a monitor.
  func keep(_ entries: [MonitorCore.Entry], of core: MonitorCore) {
    lock.withLock {
      shown.conditions[core.name] = entries.isEmpty ? nil : entries
      // Here, not on the event loop, so that a thread that changes them can wait for the disk.
      store?.keep(shown.content)
      system?.keep(shown.contentForSystem)
    }
    if system != nil { hostSession?.hasWork() }
  }

  /// Returns when all changes are on the disk, or writing them failed once; it is tried again then.
  /// Without a store it returns at once.
  func waitForStore() async {
    if let system {
      return await withCheckedContinuation { done in system.afterKeeping { done.resume() } }
    }
    guard let store else { return }
    await withCheckedContinuation { done in store.afterAttempt { done.resume() } }
  }

  // MARK: On the event loop

  /// Goes on with a condition that was kept: a system has monitored it meanwhile.
  func resumeCondition(_ entry: MonitorCore.Entry, of core: MonitorCore) {
    guard system != nil else { return startCondition(entry, of: core) }
    loop.owners[entry.number] = WeakMonitor(core: core)
  }

  /// The monitor of a condition is gone; the condition remains.
  func releaseCondition(_ number: String) {
    guard system != nil else { return stopCondition(number) }
    loop.owners[number] = nil
  }

  /// Begins to monitor a condition.
  func startCondition(_ entry: MonitorCore.Entry, of core: MonitorCore) {
    loop.owners[entry.number] = WeakMonitor(core: core)
    guard let condition = entry.condition as? CLMonitor.BeaconIdentityCondition else {
      return unmonitored(entry.number) { $0.conditionUnsupported = true }
    }
    let region = BeaconRegion(
      identifier: entry.number,
      constraint: BeaconConstraint(
        uuid: condition.uuid, major: condition.major, minor: condition.minor))
    let state = BeaconRegionState(entry.lastEvent.state)
    if let system {
      if system.start(AppRegion(region, .monitor), assuming: AppRegion.State(state)) != nil {
        return unmonitored(entry.number) { $0.conditionLimitExceeded = true }
      }
      return reportAuthorization(of: entry.number)
    }
    do throws(RegionMonitorError) {
      guard let hostSession else { return }
      try loop.conditions.start(
        region, assuming: state, now: hostSession.loop.now)
    } catch {
      return unmonitored(entry.number) { $0.conditionLimitExceeded = true }
    }
    reportAuthorization(of: entry.number)
  }

  /// Ends monitoring of a condition.
  func stopCondition(_ number: String) {
    loop.owners[number] = nil
    if let system { return system.stop(AppRegion.Name(.monitor, number)) }
    loop.conditions.stop(identifier: number)
  }

  /// Reports the reason if a condition isn't monitored for lack of authorization.
  private func reportAuthorization(of number: String) {
    switch status {
    case .authorizedAlways, .authorizedWhenInUse: break
    case .denied: unmonitored(number) { $0.authorizationDenied = true }
    case .restricted: unmonitored(number) { $0.authorizationRestricted = true }
    case .notDetermined: unmonitored(number) { $0.authorizationRequestInProgress = true }
    }
  }

  private func unmonitored(_ number: String, _ explain: (inout CLMonitor.Event) -> Void) {
    loop.owners[number]?.core?.happened(number) { entry in
      var event = CLMonitor.Event(entry.identifier, .unmonitored, at: date)
      explain(&event)
      event.persistenceUnavailable = isPersistenceUnavailable
      return event
    }
  }

  /// Delivers the machine's state of a condition to its monitor.
  func postToMonitor(_ action: RegionMonitor.Action) {
    // Entered and exited are in the states.
    guard case .determined(let number, let state) = action else { return }
    let heard = state == .inside ? loop.conditions.lastIdentity(of: number) : nil
    loop.owners[number]?.core?.happened(number) { entry in
      var event = CLMonitor.Event(entry.identifier, CLMonitor.Event.State(state), at: date)
      event.persistenceUnavailable = isPersistenceUnavailable
      event.refinement = heard.flatMap { Self.refinement(of: entry.condition, $0) }
      return event
    }
  }

  private var isPersistenceUnavailable: Bool { store?.isUnavailable ?? false }

  private static func refinement(
    of condition: any CLCondition, _ identity: BeaconIdentity
  ) -> (any CLCondition)? {
    guard let condition = condition as? CLMonitor.BeaconIdentityCondition, condition.minor == nil
    else { return nil }
    return CLMonitor.BeaconIdentityCondition(
      uuid: UUID(identity.uuid), major: identity.major, minor: identity.minor)
  }
}

extension AppRegion.State {
  fileprivate init(_ state: BeaconRegionState) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}

extension BeaconRegionState {
  fileprivate init(_ state: CLMonitor.Event.State) {
    switch state {
    case .satisfied: self = .inside
    case .unsatisfied: self = .outside
    case .unknown, .unmonitored: self = .unknown
    }
  }
}

extension CLMonitor.Event.State {
  fileprivate init(_ state: BeaconRegionState) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .satisfied
    case .outside: self = .unsatisfied
    }
  }
}

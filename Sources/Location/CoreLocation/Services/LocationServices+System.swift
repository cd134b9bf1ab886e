internal import AppMachines
internal import BeaconMachines
internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop
internal import LocationFiles
internal import Logging

// The regions and conditions of an app that a system runs, which monitors them.
extension LocationServices {
  /// Takes what the app's last processes left. Before there is a session only.
  func restore(_ system: SystemRegions) {
    lock.withLock {
      for region in system.monitored {
        shown.regions[region.name.identifier] = CLBeaconRegion(BeaconRegion(region))
      }
    }
    guard !system.kept.isEmpty else { return }
    guard let file = try? LocationFile(decoding: system.kept) else {
      return Logger(label: "CoreLocation").error(
        "The conditions that the system has kept cannot be read, and are not used.")
    }
    restore(file.conditions)
  }

  /// A manager or monitor can take events of the system.
  func openSystem() {
    system?.open { [self] event, done in
      // The system's session lasts as long as the process, and these services with it.
      perform { $0.handle(event, done) }
    }
  }

  private func handle(_ event: AppRegionEvent, _ done: @escaping @Sendable () -> Void) {
    switch event.name.owner {
    case .managers:
      guard let region = region(event.name.identifier) else { return done() }
      post(DelegateCall(event.change, region), done)
    case .monitor: postToMonitor(event, done)
    }
  }

  /// Has all managers call their delegates; `done` is called after the first one.
  private func post(_ notice: DelegateCall, _ done: @escaping @Sendable () -> Void) {
    let acknowledgement = Acknowledgement(done)
    post(notice)
    for session in sessions { session.inbox.post(.handled { acknowledgement.complete() }) }
  }

  private func postToMonitor(_ event: AppRegionEvent, _ done: @escaping @Sendable () -> Void) {
    let makeEvent = { [date] (entry: MonitorCore.Entry) in
      var new = CLMonitor.Event(
        entry.identifier, CLMonitor.Event.State(event.change), at: date)
      if let major = event.major, let minor = event.minor,
        let condition = entry.condition as? CLMonitor.BeaconIdentityCondition,
        condition.minor == nil
      {
        new.refinement = CLMonitor.BeaconIdentityCondition(
          uuid: condition.uuid, major: major, minor: minor)
      }
      return new
    }
    if let core = loop.owners[event.name.identifier]?.core {
      core.happened(event.name.identifier, done, makeEvent)
      hostSession?.hasWork()
    } else {
      note(event.name.identifier, makeEvent)
      done()
    }
  }

  /// An event of a condition whose monitor doesn't exist yet: it waits for the monitor.
  private func note(_ number: String, _ makeEvent: (MonitorCore.Entry) -> CLMonitor.Event) {
    lock.withLock {
      for (monitor, entries) in shown.conditions {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { continue }
        let event = makeEvent(entries[index])
        guard event.state != entries[index].lastEvent.state else { return }
        shown.conditions[monitor]?[index].lastEvent = event
        shown.conditions[monitor]?[index].isPending = true
        system?.keep(shown.contentForSystem)
        return
      }
    }
  }
}

extension LocationServices.PublicState {
  /// What the system keeps for the next process: the conditions, which the system knows by their numbers.
  var contentForSystem: [UInt8] {
    var content = LocationFile()
    content.conditions = conditions.sorted { $0.key < $1.key }.flatMap { name, entries in
      entries.compactMap { entry in
        var kept = KeptCondition(entry, of: name)
        kept?.number = entry.number
        return kept
      }
    }
    return content.bytes.file
  }
}

extension DelegateCall {
  fileprivate init(_ change: AppRegionEvent.Change, _ region: CLRegion) {
    switch change {
    case .entered: self = .entered(region)
    case .exited: self = .exited(region)
    case .unknown: self = .determined(.unknown, region)
    case .inside: self = .determined(.inside, region)
    case .outside: self = .determined(.outside, region)
    }
  }
}

extension CLMonitor.Event.State {
  fileprivate init(_ change: AppRegionEvent.Change) {
    switch change {
    case .entered, .inside: self = .satisfied
    case .exited, .outside: self = .unsatisfied
    case .unknown: self = .unknown
    }
  }
}

extension BeaconRegion {
  fileprivate init(_ region: AppRegion) {
    let uuid = UUID(BluetoothUUID(high: region.uuidHigh, low: region.uuidLow))
    self.init(
      identifier: region.name.identifier,
      constraint: BeaconConstraint(uuid: uuid, major: region.major, minor: region.minor),
      notifiesOnEntry: region.notifiesOnEntry, notifiesOnExit: region.notifiesOnExit,
      notifiesStateOnDisplay: region.notifiesStateOnDisplay)
  }
}

extension AppRegion {
  init(_ region: BeaconRegion, _ owner: Name.Owner) {
    let constraint = region.constraint
    self.init(
      Name(owner, region.identifier), uuidHigh: constraint.uuid.high,
      uuidLow: constraint.uuid.low, major: constraint.major, minor: constraint.minor)
    notifiesOnEntry = region.notifiesOnEntry
    notifiesOnExit = region.notifiesOnExit
    notifiesStateOnDisplay = region.notifiesStateOnDisplay
  }
}

import BeaconMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// The machines of beacons, and what they read back after a restart.
  static let beacons: [FuzzTarget] = [regionSnapshot, regionMonitor, rangingMachine]

  /// What a file has as the snapshot of a region monitor, also with the right beginning.
  private static let regionSnapshot = FuzzTarget(name: "RegionSnapshot") { bytes in
    let beginning = RegionMonitor().snapshot.prefix(4)
    for bytes in [bytes, beginning + bytes] {
      guard let monitor = try? RegionMonitor(snapshot: bytes[...]) else { continue }
      precondition(monitor.regions.count <= RegionMonitor.Settings().regionsMax, "too many regions")
      check(monitor)
    }
  }

  /// A written snapshot can be read, and is equal.
  private static func check(_ monitor: RegionMonitor) {
    let snapshot = monitor.snapshot
    guard let again = try? RegionMonitor(snapshot: snapshot[...]) else {
      preconditionFailure("what was written cannot be read")
    }
    precondition(again.regions == monitor.regions, "the regions changed in writing")
    precondition(again.snapshot == snapshot, "the form of the snapshot changed")
    precondition(
      again.regions.allSatisfy { again.state(of: $0.identifier) == .unknown },
      "a state outlived the process")
  }

  private static func identity(_ byte: UInt8) -> BeaconIdentity {
    BeaconIdentity(
      uuid: BluetoothUUID(high: 0, low: UInt64(byte & 1)), major: UInt16(byte >> 1 & 3),
      minor: UInt16(byte >> 3 & 3))
  }

  private static func constraint(_ byte: UInt8) -> BeaconConstraint {
    let identity = identity(byte)
    return switch byte >> 6 {
    case 0: BeaconConstraint(uuid: identity.uuid)
    case 1: BeaconConstraint(uuid: identity.uuid, major: identity.major)
    default: BeaconConstraint(uuid: identity.uuid, major: identity.major, minor: identity.minor)
    }
  }

  /// A monitor with arbitrary events at arbitrary times: enters and exits of a region alternate,
  /// even if radios go away or restart.
  private static let regionMonitor = FuzzTarget(name: "RegionMonitor") { bytes in
    var run = RegionRun()
    var reader = ByteReader(bytes)
    while let code = try? reader.uint8(), let detail = try? reader.uint8() {
      run.step(code, detail)
    }
  }

  private struct RegionRun {
    private var monitor = RegionMonitor()
    private var now = Instant.zero
    /// The latest time passed to the monitor.
    private var latest = Instant.zero
    private var actions: [RegionMonitor.Action] = []
    /// The regions that were entered, as a client has it.
    private var entered: Set<String> = []

    mutating func step(_ code: UInt8, _ detail: UInt8) {
      switch code & 7 {
      case 0: now = now + .milliseconds(Int64(detail) * 8)
      // Clocks that jump, also back.
      case 1: now = now + .seconds(Int64(Int8(bitPattern: detail)) * 10)
      case 2: start(detail)
      case 3:
        if monitor.stop(identifier: "\(detail % 24)") { entered.remove("\(detail % 24)") }
      case 4:
        let sighting = BeaconSighting(
          identity: FuzzTarget.identity(detail), address: DeviceAddress(bits: 1, kind: .random),
          rssi: Int8(bitPattern: code), powerAtOneMetre: -59)
        monitor.handle(.sighted(sighting), now: now, into: &actions)
      case 5: monitor.handle(.scanning(detail & 1 == 0), now: now, into: &actions)
      case 6: monitor.wake(now: now, into: &actions)
      default:
        let event: RegionMonitor.Event =
          detail & 1 == 0 ? .displaySwitchedOn : .stateRequested(identifier: "\(detail % 24)")
        if detail > 200 { restart() } else { monitor.handle(event, now: now, into: &actions) }
      }
      takeActions()
      latest = max(latest, now)
      if let wake = monitor.nextWake { precondition(wake <= latest + .seconds(1), "a late wake") }
    }

    private mutating func start(_ detail: UInt8) {
      let identifier = "\(detail % 24)"
      let isKnown = monitor.regions.contains { $0.identifier == identifier }
      let before = monitor.regions.first { $0.identifier == identifier }?.constraint
      do throws(RegionMonitorError) {
        try monitor.start(
          BeaconRegion(identifier: identifier, constraint: FuzzTarget.constraint(detail)), now: now)
        if before != FuzzTarget.constraint(detail) { entered.remove(identifier) }
      } catch {
        precondition(!isKnown && monitor.regions.count == 20, "refused: \(error)")
      }
    }

    /// The process ends, and another one goes on.
    private mutating func restart() {
      FuzzTarget.check(monitor)
      guard let next = try? RegionMonitor(snapshot: monitor.snapshot[...]) else {
        preconditionFailure("a snapshot cannot be read")
      }
      monitor = next
    }

    private mutating func takeActions() {
      for action in actions {
        switch action {
        case .entered(let identifier, _):
          precondition(entered.insert(identifier).inserted, "entered twice")
        case .exited(let identifier):
          precondition(entered.remove(identifier) != nil, "left without an enter")
        case .determined(let identifier, let state):
          precondition(monitor.state(of: identifier) == state, "another state than it has")
        }
      }
      actions.removeAll(keepingCapacity: true)
      precondition(monitor.regions.count <= 20, "too many regions")
    }
  }

  /// Ranging with arbitrary events at arbitrary times: reports are in order, with possible values
  /// only.
  private static let rangingMachine = FuzzTarget(name: "RangingMachine") { bytes in
    var settings = RangingMachine.Settings()
    settings.tracksMax = 8
    settings.sameIdentityMax = 3
    settings.constraintsMax = 4
    var machine = RangingMachine(settings: settings)
    var now = Instant.zero
    var actions: [RangingMachine.Action] = []
    var reader = ByteReader(bytes)
    while let code = try? reader.uint8(), let detail = try? reader.uint8() {
      switch code & 7 {
      case 0: now = now + .milliseconds(Int64(detail) * 8)
      case 1: now = now + .seconds(Int64(Int8(bitPattern: detail)))
      case 2: _ = try? machine.start(constraint(detail), now: now)
      case 3: machine.stop(constraint(detail))
      case 4, 7:
        let sighting = BeaconSighting(
          identity: identity(detail),
          address: DeviceAddress(bits: UInt64(code >> 5), kind: .random),
          rssi: Int8(bitPattern: code ^ detail), powerAtOneMetre: Int8(bitPattern: detail))
        machine.handle(.sighted(sighting), now: now, into: &actions)
      case 5: machine.handle(.scanning(detail & 3 != 0), now: now, into: &actions)
      default: machine.wake(now: now, into: &actions)
      }
      for case .ranged(let constraint, let beacons) in actions { check(beacons, constraint) }
      actions.removeAll(keepingCapacity: true)
      precondition(machine.trackCount <= settings.tracksMax, "too many tracks")
      precondition(machine.constraints.count <= settings.constraintsMax, "too many constraints")
    }
  }

  private static func check(_ beacons: [RangedBeacon], _ constraint: BeaconConstraint) {
    for beacon in beacons {
      precondition(constraint.matches(beacon.identity), "a beacon of another constraint")
      precondition((beacon.distance == nil) == (beacon.accuracyMetres < 0), "accuracy")
      precondition(beacon.accuracyMetres.isFinite && beacon.level.isFinite, "no number")
      precondition(beacon.rssi != 127, "a strength that the controller could not measure")
    }
    let distances = beacons.map { $0.distance?.metres ?? .infinity }
    precondition(distances == distances.sorted(), "the nearest is not first")
  }
}

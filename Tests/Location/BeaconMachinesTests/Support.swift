import BluetoothWire
import Essentials

@testable import BeaconMachines

let museum = BluetoothUUID(high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)
let otherUUID = BluetoothUUID(high: 1, low: 2)

/// A sighting of a beacon of the museum.
func sighting(
  uuid: BluetoothUUID = museum, _ major: UInt16 = 1, _ minor: UInt16 = 1, rssi: Int8 = -60,
  address: UInt64 = 1, power: Int8 = -59
) -> BeaconSighting {
  BeaconSighting(
    identity: BeaconIdentity(uuid: uuid, major: major, minor: minor),
    address: DeviceAddress(bits: address, kind: .random), rssi: rssi, powerAtOneMetre: power)
}

extension Instant {
  static func seconds(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1e9))
  }
}

/// A host in virtual time around a region monitor: wakes it at `nextWake`, and no later.
struct MonitoringHost {
  var monitor: RegionMonitor
  var now = Instant.zero
  var actions: [RegionMonitor.Action] = []

  init(_ regions: [BeaconRegion] = [], settings: RegionMonitor.Settings = .init()) throws {
    monitor = RegionMonitor(settings: settings)
    for region in regions { try monitor.start(region, now: now) }
    handle(.scanning(true))
  }

  init(restoring snapshot: [UInt8], now: Instant) throws {
    monitor = try RegionMonitor(snapshot: snapshot[...])
    self.now = now
  }

  mutating func handle(_ event: RegionMonitor.Event) {
    monitor.handle(event, now: now, into: &actions)
  }

  /// Lets time go on, waking the machine.
  mutating func run(for seconds: Double) {
    let end = now + TimeSpan(nanoseconds: Int64(seconds * 1e9))
    while let wake = monitor.nextWake, wake <= end {
      now = max(now, wake)
      monitor.wake(now: now, into: &actions)
      if let next = monitor.nextWake, next <= now {
        preconditionFailure("it wants to be woken again at once")
      }
    }
    now = end
  }

  /// Lets a beacon be heard regularly for a while.
  mutating func hear(_ sighting: BeaconSighting, every interval: Double, for seconds: Double) {
    let end = now + TimeSpan(nanoseconds: Int64(seconds * 1e9))
    while now < end {
      handle(.sighted(sighting))
      run(for: interval)
    }
  }

  /// Stops the process: the machine is not woken.
  mutating func stall(for seconds: Double) {
    now = now + TimeSpan(nanoseconds: Int64(seconds * 1e9))
  }

  mutating func takeActions() -> [RegionMonitor.Action] {
    defer { actions = [] }
    return actions
  }
}

/// The same around a ranging machine.
struct RangingHost {
  var machine: RangingMachine
  var now = Instant.zero
  var actions: [RangingMachine.Action] = []

  init(_ constraints: [BeaconConstraint], settings: RangingMachine.Settings = .init()) throws {
    machine = RangingMachine(settings: settings)
    for constraint in constraints { try machine.start(constraint, now: now) }
    machine.handle(.scanning(true), now: now, into: &actions)
  }

  mutating func hear(_ sighting: BeaconSighting) {
    machine.handle(.sighted(sighting), now: now, into: &actions)
  }

  mutating func run(for seconds: Double) {
    let end = now + TimeSpan(nanoseconds: Int64(seconds * 1e9))
    while let wake = machine.nextWake, wake <= end {
      now = max(now, wake)
      machine.wake(now: now, into: &actions)
      if let next = machine.nextWake, next <= now {
        preconditionFailure("it wants to be woken again at once")
      }
    }
    now = end
  }

  /// Sightings at an interval in seconds.
  mutating func hear(_ sightings: [BeaconSighting], every interval: Double, for seconds: Double) {
    let end = now + TimeSpan(nanoseconds: Int64(seconds * 1e9))
    while now < end {
      for sighting in sightings { hear(sighting) }
      run(for: interval)
    }
  }

  /// The beacons of every report since the last call.
  mutating func takeReports() -> [[RangedBeacon]] {
    defer { actions = [] }
    return actions.map { action in
      switch action {
      case .ranged(_, let beacons): beacons
      }
    }
  }
}

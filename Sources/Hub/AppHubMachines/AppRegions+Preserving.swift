package import AppMachines
import BeaconMachines
import BluetoothWire
import Essentials

/// The regions of an app, for a system that is started again.
package struct PreservedRegions: Hashable, Sendable {
  package let app: AppID
  /// The version, the regions and the conditions with their lengths, the last reported states, and what the app keeps.
  /// Integers are little-endian.
  package let bytes: [UInt8]

  init(app: AppID, _ regions: AppRegions) {
    self.app = app
    bytes = regions.preserved
  }

  /// Nil for bytes that are none that were written so.
  package init?(app: AppID, bytes: [UInt8]) {
    guard AppRegions(preserved: bytes) != nil else { return nil }
    self.app = app
    self.bytes = bytes
  }
}

extension AppRegions {
  private static let version: UInt8 = 1

  var preserved: [UInt8] {
    var writer = ByteWriter()
    writer.uint8(Self.version)
    for part in [regions.snapshot, conditions.snapshot] {
      writer.uint32(UInt32(clamping: part.count))
      writer.append(part)
    }
    writer.append(conditions.regions.map { state(reportedOf: $0.identifier).rawValue })
    writer.append(kept)
    return writer.bytes
  }

  /// The regions have no numbers yet.
  init?(preserved bytes: [UInt8]) {
    self.init()
    var reader = ByteReader(bytes)
    do {
      guard try reader.uint8() == Self.version else { return nil }
      let regions = try RegionMonitor(snapshot: reader.slice(Int(reader.uint32())))
      let conditions = try RegionMonitor(snapshot: reader.slice(Int(reader.uint32())))
      let states = try reader.slice(conditions.regions.count).compactMap(AppRegion.State.init)
      guard states.count == conditions.regions.count, keep(Array(reader.rest())) else {
        return nil
      }
      restore(regions, conditions, states)
    } catch { return nil }
  }
}

extension AppHubMachine {
  /// The regions to be kept over a restart of the system, in the order of the apps' names.
  package var preservedRegions: [PreservedRegions] {
    regions.keys.sorted().compactMap { app in
      guard let table = regions[app], !table.isEmpty || !table.kept.isEmpty else { return nil }
      return PreservedRegions(app: app, table)
    }
  }

  /// Monitors the regions of an app again, which runs no process.
  mutating func preserve(_ preserved: PreservedRegions, now: Instant) {
    let app = preserved.app
    guard mayPreserve(app), regions[app] == nil,
      var table = AppRegions(preserved: preserved.bytes)
    else { return }
    table.number { regionScan.nextSerial() }
    table.knownWants = table.wants
    _ = table.handle(.scanning(regionScan.isScanning), now: now, isRunning: false)
    regions[app] = table
    report(.preserved(app, .location, table.wants), now: now)
    updateRegionScan(now: now)
  }
}

import BeaconMachines
import BluetoothHost
import BluetoothWire
import Essentials
import Foundation
import LocationFiles

/// Which regions of `ambit monitor` are entered, in a file that outlives the process: the one that
/// `AMBIT_LOCATIONS` names, else one for each set of radio, regions and command beside those of Core
/// Location (docs/decisions/0113-monitored-regions-outlive-the-process.md), in their form.
final class MonitorStore: Sendable {
  /// What the names of the files begin with.
  static let prefix = "ambit-monitor-"
  /// How long a file is kept that no process uses.
  private static let keptTime = 30.0 * 24 * 3600

  private let store: LocationStore

  /// Nil for the simulated radio, whose beacons are new each time, unless a file is named.
  init?(host: CommandHost, regions: [BeaconRegionArgument], command: [String]) {
    let texts = [host.radioText] + regions.map { $0.text.uppercased() }.sorted() + command
    guard
      let store = LocationStore.current(
        isSimulated: host.isSimulated, name: Self.prefix + Self.digest(texts))
    else { return nil }
    self.store = store
    // In a folder that the user named, files of such names may be the user's.
    guard ProcessInfo.processInfo.environment["AMBIT_LOCATIONS"] == nil else { return }
    store.removeUnused(
      prefix: Self.prefix, before: Date().timeIntervalSince1970 - Self.keptTime)
  }

  /// FNV-1a of 64 bits over texts, each with its end.
  static func digest(_ texts: [String]) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte: UInt8 in texts.flatMap({ Array($0.utf8) + [0] as [UInt8] }) {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The regions that were entered; none where nothing can be read, which is logged. Waits for the disk.
  func load() -> Set<BeaconRegion> {
    guard let monitor = try? RegionMonitor(snapshot: store.load().regions[...]) else { return [] }
    return Set(monitor.enteredRegions)
  }

  /// Writes the regions, later. From any thread.
  func keep(_ regions: [BeaconRegion], entered: Set<String>) {
    var monitor = RegionMonitor()
    for region in regions {
      // Their number and names were checked when the command line was.
      try? monitor.start(
        region, assuming: entered.contains(region.identifier) ? .inside : .unknown, now: .zero)
    }
    store.keep(LocationFile(regions: monitor.snapshot))
  }

  /// Waits until everything is written.
  func finish() async {
    await withCheckedContinuation { continuation in store.finish { continuation.resume() } }
  }
}

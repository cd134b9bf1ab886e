import BluetoothInterface
import BluetoothWire
import Essentials

/// A part of advertising data for which bluetoothd, or the controller, looks.
package struct AdvertisingPattern: Sendable, Hashable, Comparable {
  /// Where the content is in the data of a structure.
  package var start: UInt8
  /// The type of the structure.
  package var type: UInt8
  package var content: [UInt8]

  package init(start: UInt8, type: UInt8, content: [UInt8]) {
    self.start = start
    self.type = type
    self.content = content
  }

  package static func < (a: Self, b: Self) -> Bool {
    if a.type != b.type { return a.type < b.type }
    if a.start != b.start { return a.start < b.start }
    return a.content.lexicographicallyPrecedes(b.content)
  }
}

/// Monitors of advertisements: an application whose objects bluetoothd reads once (org.bluez.AdvertisementMonitor1).
struct AdvertisementMonitors: Sendable {
  enum Phase: Sendable, Equatable {
    /// Until the features of the adapter are known, which bluetoothd doesn't signal.
    case reading
    case registering
    case registered
  }

  let root: String
  /// The path of the adapter.
  let adapter: String
  /// The scans that they serve, in the order of their clients.
  let scans: [ScanOptions]
  /// The patterns of each monitor.
  let patterns: [[AdvertisingPattern]]
  var phase = Phase.reading
  /// Whether the controller looks for the patterns. Then a device is reported once, until it is lost.
  var isInController = false
  /// The paths of the monitors that bluetoothd has activated.
  var active: Set<String> = []
  /// The paths of the devices that the controller hears.
  var found: Set<String> = []
  /// When those are reported again.
  var nextReport: Instant?

  init?(_ scans: [ScanOptions], root: String, adapter: String) {
    guard let patterns = Self.patterns(scans) else { return nil }
    self.root = root
    self.adapter = adapter
    self.scans = scans
    self.patterns = patterns
  }

  /// Whether all monitors are active, so that no discovery is needed.
  var areActive: Bool { phase == .registered && active.count == patterns.count }

  func path(_ index: Int) -> String { "\(root)/\(index)" }

  func owns(_ path: String) -> Bool { patterns.indices.contains { self.path($0) == path } }

  /// The objects by their paths.
  var objects: [String: [String: [String: BusValue]]] {
    var objects: [String: [String: [String: BusValue]]] = [:]
    for index in patterns.indices {
      objects[path(index)] = [BusName.monitor: properties(index)]
    }
    return objects
  }

  /// Without limits of the RSSI, bluetoothd reports each advertisement. With one, it needs two from a device that is new,
  /// and never finds a device whose interval is longer than the limit's time.
  func properties(_ index: Int) -> [String: BusValue] {
    var values: [String: BusValue] = [
      "Type": .string("or_patterns"), "Patterns": .patterns(patterns[index]),
    ]
    if isInController {
      values["RSSIHighThreshold"] = .int16(-127)
      values["RSSILowThreshold"] = .int16(-127)
      values["RSSIHighTimeout"] = .uint16(1)
      values["RSSILowTimeout"] = .uint16(BlueZLimits.monitorSilenceSeconds)
    }
    return values
  }

  // MARK: Patterns

  /// The patterns of scans, by monitor; nil if one scan wants more than patterns can select, or they are too many.
  static func patterns(_ scans: [ScanOptions]) -> [[AdvertisingPattern]]? {
    var all: Set<AdvertisingPattern> = []
    for scan in scans {
      guard scan.solicitedServices.isEmpty, !scan.usesCodedPHY else { return nil }
      if scan.seeksBeacons {
        all.insert(beacon)
      } else {
        guard scan.isInBackground, !scan.services.isEmpty else { return nil }
        for service in scan.services { all.formUnion(patterns(of: service)) }
      }
      guard all.count <= BlueZLimits.monitorCountMax * BlueZLimits.monitorPatternCountMax else {
        return nil
      }
    }
    let sorted = all.sorted()
    return stride(from: 0, to: sorted.count, by: BlueZLimits.monitorPatternCountMax).map {
      Array(sorted[$0..<min($0 + BlueZLimits.monitorPatternCountMax, sorted.count)])
    }
  }

  /// Apple's company identifier, and the type and the length of an iBeacon.
  private static let beacon = AdvertisingPattern(
    start: 0, type: 0xFF, content: [0x4C, 0x00, 0x02, 0x15])

  /// A UUID at each place of a list in legacy advertising data, in each form in which it may be advertised.
  private static func patterns(of service: BluetoothUUID) -> [AdvertisingPattern] {
    var found: [AdvertisingPattern] = []
    func add(_ content: [UInt8], _ types: ClosedRange<UInt8>) {
      for type in types {
        for place in stride(from: 0, through: listByteCountMax - content.count, by: content.count) {
          found.append(AdvertisingPattern(start: UInt8(place), type: type, content: content))
        }
      }
    }
    let full = fullBytes(service)
    switch service.width {
    case .bits16: add(Array(full[12..<14]), 0x02...0x03)
    case .bits32: add(Array(full[12..<16]), 0x04...0x05)
    case .bits128: break
    }
    add(full, 0x06...0x07)
    return found
  }

  /// The data of one structure in 31 bytes.
  private static let listByteCountMax = 29

  private static func fullBytes(_ uuid: BluetoothUUID) -> [UInt8] {
    var writer = ByteWriter(capacity: 16)
    writer.uint64(uuid.low)
    writer.uint64(uuid.high)
    return writer.bytes
  }
}

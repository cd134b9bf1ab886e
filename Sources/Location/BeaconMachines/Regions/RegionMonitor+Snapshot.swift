package import BluetoothWire
import Essentials

/// The reason why a region monitor can't be restored from a snapshot.
package enum RegionSnapshotError: Error, Equatable, Sendable {
  /// The snapshot has no valid header, or an unknown version.
  case unknownVersion
  /// The bytes can't be decoded.
  case malformed(WireError)
  /// A name is not UTF-8, or occurs twice.
  case badIdentifier
  /// The number of regions or the length of a name exceeds its limit.
  case limit(RegionMonitorError)
}

extension RegionMonitor {
  private static let magic: [UInt8] = [0x41, 0x52, 0x4D, 0x01]

  private struct Flags: OptionSet {
    var rawValue: UInt8
    static let major = Flags(rawValue: 0x01)
    static let minor = Flags(rawValue: 0x02)
    static let entry = Flags(rawValue: 0x04)
    static let exit = Flags(rawValue: 0x08)
    static let display = Flags(rawValue: 0x10)
    static let entered = Flags(rawValue: 0x20)
    static let all = Flags(rawValue: 0x3F)
  }

  /// The encoded regions, and which of them are entered, for the next process. Integers are
  /// little-endian: "ARM", version 1; the number of regions in two bytes; for each region the
  /// flags, UUID, major and minor number, and the name's length in two bytes and UTF-8.
  ///
  /// It changes with `start`, `stop` and crossings.
  package var snapshot: [UInt8] {
    var writer = ByteWriter()
    writer.append(Self.magic)
    writer.uint16(UInt16(clamping: monitored.count))
    for entry in monitored {
      let region = entry.region
      var flags: Flags = []
      if region.constraint.major != nil { flags.insert(.major) }
      if region.constraint.minor != nil { flags.insert(.minor) }
      if region.notifiesOnEntry { flags.insert(.entry) }
      if region.notifiesOnExit { flags.insert(.exit) }
      if region.notifiesStateOnDisplay { flags.insert(.display) }
      if entry.isEntered { flags.insert(.entered) }
      writer.uint8(flags.rawValue)
      writer.uint64(region.constraint.uuid.low)
      writer.uint64(region.constraint.uuid.high)
      writer.uint16(region.constraint.major ?? 0)
      writer.uint16(region.constraint.minor ?? 0)
      writer.uint16(UInt16(clamping: region.identifier.utf8.count))
      writer.append(region.identifier.utf8)
    }
    return writer.bytes
  }

  /// Restores a monitor from the snapshot of another process. All states are unknown at first; a
  /// region that was entered then is not reported as entered again before it is left. The receiver
  /// doesn't scan yet.
  package init(
    snapshot: ArraySlice<UInt8>, settings: Settings = Settings()
  ) throws(RegionSnapshotError) {
    self.init(settings: settings)
    guard snapshot.starts(with: Self.magic) else { throw .unknownVersion }
    var reader = ByteReader(snapshot.dropFirst(Self.magic.count))
    let count = try Self.read { () throws(Truncated) in try reader.uint16() }
    guard count <= settings.regionsMax else {
      throw .limit(.tooManyRegions(max: settings.regionsMax))
    }
    for _ in 0..<count {
      let (region, isEntered) = try Self.readRegion(&reader)
      guard !monitored.contains(where: { $0.region.identifier == region.identifier }) else {
        throw .badIdentifier
      }
      do throws(RegionMonitorError) {
        try start(region, assuming: isEntered ? .inside : .unknown, now: .zero)
      } catch {
        throw .limit(error)
      }
    }
    guard reader.isAtEnd else { throw .malformed(.trailingBytes(count: reader.count)) }
  }

  private static func read<Value>(
    _ body: () throws(Truncated) -> Value
  ) throws(RegionSnapshotError) -> Value {
    do { return try body() } catch { throw .malformed(WireError(error)) }
  }

  private static func readRegion(
    _ reader: inout ByteReader
  ) throws(RegionSnapshotError) -> (BeaconRegion, isEntered: Bool) {
    var copy = reader
    defer { reader = copy }
    let (flags, low, high) = try read { () throws(Truncated) in
      (Flags(rawValue: try copy.uint8()), try copy.uint64(), try copy.uint64())
    }
    let (major, minor, name) = try read { () throws(Truncated) in
      (try copy.uint16(), try copy.uint16(), try copy.slice(Int(try copy.uint16())))
    }
    guard flags.isSubset(of: .all), flags.contains(.major) || !flags.contains(.minor) else {
      throw .malformed(.invalidValue(field: "flags", value: Int(flags.rawValue)))
    }
    guard let identifier = String(validating: name, as: UTF8.self) else { throw .badIdentifier }
    let uuid = BluetoothUUID(high: high, low: low)
    let constraint =
      flags.contains(.minor)
      ? BeaconConstraint(uuid: uuid, major: major, minor: minor)
      : flags.contains(.major)
        ? BeaconConstraint(uuid: uuid, major: major) : BeaconConstraint(uuid: uuid)
    let region = BeaconRegion(
      identifier: identifier, constraint: constraint, notifiesOnEntry: flags.contains(.entry),
      notifiesOnExit: flags.contains(.exit), notifiesStateOnDisplay: flags.contains(.display))
    return (region, flags.contains(.entered))
  }
}

import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import Simulation

/// Makes of traces and captures what a simulated radio can let hosts hear again.
struct TraceRecording {
  /// Advertisements that are of extended advertising, which isn't heard again.
  private(set) var skippedCount = 0
  /// Beacons whose names are no iBeacon's, with the one that is heard in their place.
  private(set) var standIns: [(name: String, beacon: IBeacon)] = []
  private var receivers: [String] = []
  private var advertisements: [Advertisement] = []
  private var receptions: [(time: Int64, AirRecording.Reception)] = []
  private var indices: [Key: Int] = [:]
  private var receiverIndices: [String: Int] = [:]

  private struct Key: Hashable {
    var address: DeviceAddress
    var type: AdvertisingType
    var data: [UInt8]
  }

  /// As many different advertisements as are kept: devices that count up would fill memory.
  private static let advertisementsMax = 100_000

  /// Reads files: btsnoop captures, whose receiver has the file's name, or traces, whose lines that
  /// are left out are reported.
  init(_ paths: [String], reportingTo output: Output) throws {
    for path in paths {
      let bytes = try FloorMap.bytes(of: path)
      if bytes.starts(with: BTSnoop.header.prefix(8)) {
        let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        do throws(WireError) {
          try addCapture(bytes[...], heardBy: name)
        } catch { throw CommandFailure(.badData, "\(path): \(error)") }
      } else {
        do throws(TraceError) {
          let trace = try PositionTrace(text: bytes[...])
          trace.reportQuality(of: path, to: output)
          addTrace(trace)
        } catch { throw CommandFailure(.badData, "\(path): \(error)") }
      }
    }
    guard !receptions.isEmpty else {
      throw CommandFailure(.badData, "no advertisements in \(paths.joined(separator: ", "))")
    }
  }

  /// All files together, from the first reception of any of them on.
  var recording: AirRecording {
    let start = receptions.map(\.time).min() ?? 0
    return AirRecording(
      receivers: receivers, advertisements: advertisements,
      receptions: receptions.map { time, reception in
        var reception = reception
        reception.time = .nanoseconds(time - start)
        return reception
      })
  }

  private mutating func receiver(_ name: String) -> Int {
    if let index = receiverIndices[name] { return index }
    receivers.append(name)
    receiverIndices[name] = receivers.count - 1
    return receivers.count - 1
  }

  private mutating func addTrace(_ trace: PositionTrace) {
    var known: [String: Int] = [:]
    for reading in trace.readings {
      let index = known[reading.beacon] ?? advertisement(of: reading.beacon)
      known[reading.beacon] = index
      receptions.append(
        (
          reading.time.nanoseconds,
          AirRecording.Reception(
            time: .zero, receiver: receiver(reading.receiver), advertisement: index,
            rssi: reading.rssi)
        ))
    }
  }

  /// The advertisement of a beacon that a trace names.
  private mutating func advertisement(of name: String) -> Int {
    var beacon = RecordedBeacon(name: name).iBeacon
    if beacon == nil {
      let number = UInt16(truncatingIfNeeded: standIns.count + 1)
      let standIn = IBeacon(
        uuid: Self.standInUUID, major: 0, minor: number, powerAtOneMetre: -59)
      standIns.append((name, standIn))
      beacon = standIn
    }
    // A random static address that follows from the name (FNV-1a).
    let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
    }
    let address = DeviceAddress(bits: hash >> 18 | 0xC000_0000_0000, kind: .random)
    return index(
      Key(address: address, type: .nonConnectable, data: beacon?.advertisingData ?? []),
      isScanResponse: false) ?? 0
  }

  /// What beacons are heard by that have another name in their trace.
  private static let standInUUID = BluetoothUUID(
    high: 0x616D_6269_7400_4000, low: 0x8000_0000_0000_0000)

  private mutating func addCapture(
    _ bytes: ArraySlice<UInt8>, heardBy name: String
  ) throws(WireError) {
    let receiver = receiver(name)
    var reader = try BTSnoop.Reader(bytes)
    while let record = try? reader.next() {
      guard record.packet.kind == .event, let event = try? HCIEvent(decoding: record.packet.bytes)
      else { continue }
      let time = record.microseconds.multipliedReportingOverflow(by: 1_000)
      guard !time.overflow else { continue }
      switch event {
      case .leAdvertisingReport(let reports):
        for report in reports { add(report, receiver, time.partialValue) }
      case .leExtendedAdvertisingReport(let reports):
        for report in reports { add(report, receiver, time.partialValue) }
      default: break
      }
    }
  }

  private mutating func add(_ report: LEAdvertisingReport, _ receiver: Int, _ time: Int64) {
    let type: AdvertisingType? =
      switch report.kind {
      case .connectable, .scanResponse: .connectable
      case .scannable: .scannable
      case .nonConnectable: .nonConnectable
      case .directed: nil
      }
    guard let type else { return }
    add(
      report.advertiser.address, type, report.data, isScanResponse: report.kind == .scanResponse,
      report.rssi, receiver, time)
  }

  private mutating func add(_ report: LEExtendedAdvertisingReport, _ receiver: Int, _ time: Int64) {
    guard let address = report.advertiser?.address, report.type.contains(.legacy),
      !report.type.contains(.directed)
    else {
      skippedCount += 1
      return
    }
    let type: AdvertisingType =
      report.type.contains(.connectable)
      ? .connectable : report.type.contains(.scannable) ? .scannable : .nonConnectable
    add(
      address, type, report.data, isScanResponse: report.type.contains(.scanResponse), report.rssi,
      receiver, time)
  }

  private mutating func add(
    _ address: DeviceAddress, _ type: AdvertisingType, _ data: ArraySlice<UInt8>,
    isScanResponse: Bool, _ rssi: Int8?, _ receiver: Int, _ time: Int64
  ) {
    guard let rssi, rssi != 127, data.count <= 31,
      let index = index(
        Key(address: address, type: type, data: Array(data)), isScanResponse: isScanResponse)
    else {
      skippedCount += 1
      return
    }
    receptions.append(
      (
        time,
        AirRecording.Reception(
          time: .zero, receiver: receiver, advertisement: index, isScanResponse: isScanResponse,
          rssi: rssi)
      ))
  }

  private mutating func index(_ key: Key, isScanResponse: Bool) -> Int? {
    if let index = indices[key] { return index }
    guard advertisements.count < Self.advertisementsMax else { return nil }
    // The data is both advertising data and scan response; a reception uses one of them.
    var advertisement = Advertisement(address: key.address, data: key.data)
    advertisement.scanResponse = key.data
    advertisement.type = key.type
    advertisements.append(advertisement)
    indices[key] = advertisements.count - 1
    return advertisements.count - 1
  }
}

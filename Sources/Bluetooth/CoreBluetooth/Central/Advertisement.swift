internal import BluetoothInterface
internal import BluetoothWire

/// An advertiser's data, in the form of Core Bluetooth's dictionary.
///
/// All listed service UUIDs are in `CBAdvertisementDataServiceUUIDsKey`, from complete and
/// incomplete lists, in advertising data and scan response. UUIDs in the overflow area can't be
/// read, only compared with the services of the scan.
///
/// A class, because it is looked up for every report and never changes.
final class Advertisement {
  private(set) var dictionary: [String: Any] = [:]
  private(set) var localName: String?
  private var services: [CBUUID] = []
  private var solicitedServices: [CBUUID] = []
  private var serviceData: [CBUUID: Data] = [:]
  private var overflowServices: [CBUUID] = []
  private var hasWholeName = false
  private let report: AdvertisingReport
  private let scannedServices: [BluetoothUUID]

  init(_ report: AdvertisingReport, scannedServices: [BluetoothUUID] = []) {
    self.report = report
    self.scannedServices = scannedServices
    dictionary[CBAdvertisementDataIsConnectable] = NSNumber(value: report.isConnectable)
    if report.txPower != 127 {
      dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: Int(report.txPower))
    }
    for structure in AdvertisingData(report.data) { add(structure) }
    for structure in AdvertisingData(report.scanResponse) { add(structure) }
    dictionary[CBAdvertisementDataLocalNameKey] = localName
    set(CBAdvertisementDataServiceUUIDsKey, services)
    set(CBAdvertisementDataOverflowServiceUUIDsKey, overflowServices)
    set(CBAdvertisementDataSolicitedServiceUUIDsKey, solicitedServices)
    if !serviceData.isEmpty { dictionary[CBAdvertisementDataServiceDataKey] = serviceData }
  }

  /// Whether the dictionary of this report would be the same.
  func isSame(as other: AdvertisingReport) -> Bool {
    report.data == other.data && report.scanResponse == other.scanResponse
      && report.isConnectable == other.isConnectable && report.txPower == other.txPower
  }

  private func set(_ key: String, _ uuids: [CBUUID]) {
    if !uuids.isEmpty { dictionary[key] = uuids }
  }

  private func add(_ structure: AdvertisingStructure) {
    switch structure.element {
    case .services(let uuids, _): Self.add(uuids, to: &services)
    case .solicitedServices(let uuids): Self.add(uuids, to: &solicitedServices)
    case .localName(let bytes, let isComplete):
      if localName == nil || isComplete && !hasWholeName {
        localName = String(decoding: bytes, as: UTF8.self)
        hasWholeName = isComplete
      }
    case .txPowerLevel(let level):
      dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: Int(level))
    case .serviceData(let uuid, let bytes): serviceData[CBUUID(uuid)] = Data(bytes)
    case .manufacturerData(let company, let bytes):
      if let area = OverflowArea(company: company, data: bytes) {
        overflowServices += scannedServices.filter { area.contains($0) }.map { CBUUID($0) }
        return
      }
      guard dictionary[CBAdvertisementDataManufacturerDataKey] == nil else { return }
      let head = [UInt8(truncatingIfNeeded: company), UInt8(truncatingIfNeeded: company >> 8)]
      dictionary[CBAdvertisementDataManufacturerDataKey] = Data(head + bytes)
    case .flags, .connectionIntervalRange, .appearance, .unknown: break
    }
  }

  private static func add(_ uuids: AdvertisedUUIDs, to list: inout [CBUUID]) {
    for uuid in uuids.lazy.map({ CBUUID($0) }) where !list.contains(uuid) { list.append(uuid) }
  }
}

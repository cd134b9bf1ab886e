public import CoreBluetooth

/// One advertisement of a peripheral.
public struct Discovery: Sendable, Identifiable {
  /// The peripheral's identifier; `Central.connect(_:)` takes it.
  public let id: UUID
  /// What it is called, from its advertising or an earlier connection.
  public let name: String?
  /// Strength in dBm; nil if the radio cannot tell.
  public let rssi: Int?
  /// The name in the advertisement.
  public let localName: String?
  /// The services it lists.
  public let services: [CBUUID]
  /// The services it lists beside, for lack of room.
  public let overflowServices: [CBUUID]
  /// The services it looks for.
  public let solicitedServices: [CBUUID]
  /// Data of services.
  public let serviceData: [CBUUID: Data]
  /// Company identifier, least significant byte first, and what the company put there.
  public let manufacturerData: Data?
  /// Transmit power in dBm, if it is advertised.
  public let txPower: Int?
  /// Whether it takes connections.
  public let isConnectable: Bool

  package init(_ peripheral: CBPeripheral, _ advertisement: [String: Any], _ rssi: NSNumber) {
    id = peripheral.identifier
    name = peripheral.name
    self.rssi = rssi.intValue == 127 ? nil : rssi.intValue
    localName = advertisement[CBAdvertisementDataLocalNameKey] as? String
    services = advertisement[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    overflowServices =
      advertisement[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID] ?? []
    solicitedServices =
      advertisement[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID] ?? []
    serviceData = advertisement[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data] ?? [:]
    manufacturerData = advertisement[CBAdvertisementDataManufacturerDataKey] as? Data
    txPower = (advertisement[CBAdvertisementDataTxPowerLevelKey] as? NSNumber)?.intValue
    isConnectable =
      (advertisement[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
  }
}

public import CoreBluetooth

/// One advertisement of a peripheral.
public struct Discovery: Sendable, Identifiable {
  /// The peripheral's identifier, to be passed to `Central.connect(_:)`.
  public let id: UUID
  /// The peripheral's name, from its advertisement or an earlier connection.
  public let name: String?
  /// The RSSI in dBm; nil if the radio can't measure it.
  public let rssi: Int?
  /// The local name in this advertisement.
  public let localName: String?
  /// The advertised services.
  public let services: [CBUUID]
  /// The services in the overflow area.
  public let overflowServices: [CBUUID]
  /// The solicited services.
  public let solicitedServices: [CBUUID]
  /// The advertised service data.
  public let serviceData: [CBUUID: Data]
  /// The company identifier, least significant byte first, and the company's data.
  public let manufacturerData: Data?
  /// The advertised transmit power in dBm.
  public let txPower: Int?
  /// Whether the advertisement is connectable.
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

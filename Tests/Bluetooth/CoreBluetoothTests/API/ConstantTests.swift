import CoreBluetooth
import Testing

@Suite("Core Bluetooth's string constants")
struct ConstantTests {
  // What third-party code writes out in full must be what Apple's dictionaries hold.
  private static let advertisement = [
    CBAdvertisementDataLocalNameKey: "kCBAdvDataLocalName",
    CBAdvertisementDataManufacturerDataKey: "kCBAdvDataManufacturerData",
    CBAdvertisementDataServiceDataKey: "kCBAdvDataServiceData",
    CBAdvertisementDataServiceUUIDsKey: "kCBAdvDataServiceUUIDs",
    CBAdvertisementDataOverflowServiceUUIDsKey: "kCBAdvDataHashedServiceUUIDs",
    CBAdvertisementDataTxPowerLevelKey: "kCBAdvDataTxPowerLevel",
    CBAdvertisementDataIsConnectable: "kCBAdvDataIsConnectable",
    CBAdvertisementDataSolicitedServiceUUIDsKey: "kCBAdvDataSolicitedServiceUUIDs",
  ]

  private static let options = [
    CBCentralManagerOptionShowPowerAlertKey: "kCBInitOptionShowPowerAlert",
    CBCentralManagerOptionRestoreIdentifierKey: "kCBInitOptionRestoreIdentifier",
    CBCentralManagerOptionDeviceAccessForMedia: "kCBInitOptionDeviceAccessForMedia",
    CBCentralManagerScanOptionAllowDuplicatesKey: "kCBScanOptionAllowDuplicates",
    CBCentralManagerScanOptionSolicitedServiceUUIDsKey: "kCBScanOptionSolicitedServiceUUIDs",
    CBConnectPeripheralOptionNotifyOnConnectionKey: "kCBConnectOptionNotifyOnConnection",
    CBConnectPeripheralOptionNotifyOnDisconnectionKey: "kCBConnectOptionNotifyOnDisconnection",
    CBConnectPeripheralOptionNotifyOnNotificationKey: "kCBConnectOptionNotifyOnNotification",
    CBConnectPeripheralOptionStartDelayKey: "kCBConnectOptionStartDelay",
    CBConnectPeripheralOptionEnableTransportBridgingKey: "kCBConnectOptionEnableTransportBridging",
    CBConnectPeripheralOptionRequiresANCS: "kCBConnectOptionRequiresANCS",
    CBConnectPeripheralOptionEnableAutoReconnect: "kCBConnectOptionEnableAutoReconnect",
    CBCentralManagerRestoredStatePeripheralsKey: "kCBRestoredPeripherals",
    CBCentralManagerRestoredStateScanServicesKey: "kCBRestoredScanServices",
    CBCentralManagerRestoredStateScanOptionsKey: "kCBRestoredScanOptions",
    CBPeripheralManagerRestoredStateServicesKey: "kCBRestoredServices",
    CBPeripheralManagerRestoredStateAdvertisementDataKey: "kCBRestoredAdvertisement",
  ]

  private static let descriptors = [
    CBUUIDCharacteristicExtendedPropertiesString: "2900",
    CBUUIDCharacteristicUserDescriptionString: "2901",
    CBUUIDClientCharacteristicConfigurationString: "2902",
    CBUUIDServerCharacteristicConfigurationString: "2903",
    CBUUIDCharacteristicFormatString: "2904",
    CBUUIDCharacteristicAggregateFormatString: "2905",
    CBUUIDCharacteristicValidRangeString: "2906",
    CBUUIDCharacteristicObservationScheduleString: "2910",
    CBUUIDL2CAPPSMCharacteristicString: "ABDD3056-28FA-441D-A470-55A75A52553A",
  ]

  @Test("every constant is there, a String, and has Apple's value")
  func values() {
    for (constant, value) in [Self.advertisement, Self.options, Self.descriptors].joined() {
      #expect(constant == value)
    }
    #expect(Self.advertisement.count == 8)
    #expect(Self.descriptors.keys.allSatisfy { CBUUID(string: $0).uuidString == $0 })
    // Central and peripheral managers share these two.
    #expect(CBPeripheralManagerOptionShowPowerAlertKey == "kCBInitOptionShowPowerAlert")
    #expect(CBPeripheralManagerOptionRestoreIdentifierKey == "kCBInitOptionRestoreIdentifier")
  }

  @Test("matching options are a type of their own with two values")
  func matchingOptions() {
    let options: [CBConnectionEventMatchingOption: Any] = [
      .serviceUUIDs: [CBUUID(string: "180D")], .peripheralUUIDs: [UUID()],
    ]
    #expect(options.count == 2)
    for option in options.keys {
      #expect(CBConnectionEventMatchingOption(rawValue: option.rawValue) == option)
    }
  }
}

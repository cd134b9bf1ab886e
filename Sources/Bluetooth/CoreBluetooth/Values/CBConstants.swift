// String constants. Their values are the ones that show up in logs and dictionaries on Apple's
// systems; code should use the names.

// MARK: Advertisement dictionaries

/// A `String`: the advertiser's local name.
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
/// A `Data`: company identifier, least significant byte first, and what the company put there.
public let CBAdvertisementDataManufacturerDataKey: String = "kCBAdvDataManufacturerData"
/// A `[CBUUID: Data]`: data of services.
public let CBAdvertisementDataServiceDataKey: String = "kCBAdvDataServiceData"
/// A `[CBUUID]`: services that the advertiser has.
public let CBAdvertisementDataServiceUUIDsKey: String = "kCBAdvDataServiceUUIDs"
/// A `[CBUUID]`: services that did not fit beside the others.
public let CBAdvertisementDataOverflowServiceUUIDsKey: String = "kCBAdvDataHashedServiceUUIDs"
/// An `NSNumber`: transmit power in dBm.
public let CBAdvertisementDataTxPowerLevelKey: String = "kCBAdvDataTxPowerLevel"
/// An `NSNumber` with a truth value: whether the advertiser takes connections.
public let CBAdvertisementDataIsConnectable: String = "kCBAdvDataIsConnectable"
/// A `[CBUUID]`: services that the advertiser looks for.
public let CBAdvertisementDataSolicitedServiceUUIDsKey: String = "kCBAdvDataSolicitedServiceUUIDs"

// MARK: Making managers

/// Whether to warn the user at start-up when Bluetooth is off. Ignored: there is no user interface.
public let CBCentralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// Names the central manager for restoration. Accepted; restoration comes with the hub.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Requests media accessories. Ignored.
public let CBCentralManagerOptionDeviceAccessForMedia: String =
  "kCBInitOptionDeviceAccessForMedia"
/// Whether to warn the user at start-up when Bluetooth is off. Ignored: there is no user interface.
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// Names the peripheral manager for restoration. Accepted; restoration comes with the hub.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"

// MARK: Scanning

/// A truth value: report every advertisement instead of every change.
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// A `[CBUUID]`: also report peripherals that look for one of these services.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String =
  "kCBScanOptionSolicitedServiceUUIDs"

// MARK: Connecting

/// A truth value: alert the user on connection while the app is suspended. Apps are not suspended here, so
/// there is never an alert.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
/// A truth value: alert the user on disconnection while the app is suspended, which it never is.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
/// A truth value: alert the user on notifications while the app is suspended, which it never is.
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String =
  "kCBConnectOptionNotifyOnNotification"
/// An `NSNumber`: seconds to wait before the connection is started, a day at most. Less than 0 is 0.
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
/// A truth value: also connect the classic profiles that the peripheral has. There is only Low Energy here,
/// and so nothing to connect.
public let CBConnectPeripheralOptionEnableTransportBridgingKey: String =
  "kCBConnectOptionEnableTransportBridging"
/// A truth value: require the Apple Notification Center Service, by which peripherals read a phone's
/// notifications. This host has none, so the delegate gets `didFailToConnect` with
/// `CBError.operationNotSupported`.
public let CBConnectPeripheralOptionRequiresANCS: String = "kCBConnectOptionRequiresANCS"
/// A truth value: make the link again whenever it drops without the app having asked.
public let CBConnectPeripheralOptionEnableAutoReconnect: String =
  "kCBConnectOptionEnableAutoReconnect"

// MARK: Restoration

/// The peripherals of a restored central manager.
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
/// The services that a restored central manager scanned for.
public let CBCentralManagerRestoredStateScanServicesKey: String = "kCBRestoredScanServices"
/// The options that a restored central manager scanned with.
public let CBCentralManagerRestoredStateScanOptionsKey: String = "kCBRestoredScanOptions"
/// The services of a restored peripheral manager.
public let CBPeripheralManagerRestoredStateServicesKey: String = "kCBRestoredServices"
/// What a restored peripheral manager advertised.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey: String =
  "kCBRestoredAdvertisement"

// MARK: Descriptors and characteristics

/// Characteristic Extended Properties.
public let CBUUIDCharacteristicExtendedPropertiesString: String = "2900"
/// Characteristic User Description.
public let CBUUIDCharacteristicUserDescriptionString: String = "2901"
/// Client Characteristic Configuration.
public let CBUUIDClientCharacteristicConfigurationString: String = "2902"
/// Server Characteristic Configuration.
public let CBUUIDServerCharacteristicConfigurationString: String = "2903"
/// Characteristic Presentation Format.
public let CBUUIDCharacteristicFormatString: String = "2904"
/// Characteristic Aggregate Format.
public let CBUUIDCharacteristicAggregateFormatString: String = "2905"
/// Valid Range.
public let CBUUIDCharacteristicValidRangeString: String = "2906"
/// Observation Schedule.
public let CBUUIDCharacteristicObservationScheduleString: String = "2910"
/// The characteristic in which a peripheral publishes the PSM of its channel.
public let CBUUIDL2CAPPSMCharacteristicString: String = "ABDD3056-28FA-441D-A470-55A75A52553A"

// MARK: Errors

/// The domain of `CBError`.
public let CBErrorDomain: String = "CBErrorDomain"
/// The domain of `CBATTError`.
public let CBATTErrorDomain: String = "CBATTErrorDomain"

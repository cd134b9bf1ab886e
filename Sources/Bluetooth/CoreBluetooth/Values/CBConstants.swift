// String constants. Their values are the ones that show up in logs and dictionaries on Apple's
// systems; code should use the names.

// MARK: Advertisement dictionaries

/// A `String`: the advertiser's local name.
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
/// A `Data`: the company identifier, least significant byte first, and the company's data.
public let CBAdvertisementDataManufacturerDataKey: String = "kCBAdvDataManufacturerData"
/// A `[CBUUID: Data]`: service data.
public let CBAdvertisementDataServiceDataKey: String = "kCBAdvDataServiceData"
/// A `[CBUUID]`: the services that are advertised.
public let CBAdvertisementDataServiceUUIDsKey: String = "kCBAdvDataServiceUUIDs"
/// A `[CBUUID]`: the services in the overflow area.
public let CBAdvertisementDataOverflowServiceUUIDsKey: String = "kCBAdvDataHashedServiceUUIDs"
/// An `NSNumber`: transmit power in dBm.
public let CBAdvertisementDataTxPowerLevelKey: String = "kCBAdvDataTxPowerLevel"
/// An `NSNumber` with a Boolean value: whether the advertisement is connectable.
public let CBAdvertisementDataIsConnectable: String = "kCBAdvDataIsConnectable"
/// A `[CBUUID]`: solicited services.
public let CBAdvertisementDataSolicitedServiceUUIDsKey: String = "kCBAdvDataSolicitedServiceUUIDs"

// MARK: Making managers

/// Whether to warn the user at start-up when Bluetooth is off. Ignored: there is no user interface.
public let CBCentralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// A `String`: the identifier of the central manager for state restoration, the same in each run of the
/// app. A running hub knows the manager by it; restoration is not supported yet.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Requests media accessories. Ignored.
public let CBCentralManagerOptionDeviceAccessForMedia: String =
  "kCBInitOptionDeviceAccessForMedia"
/// Whether to warn the user at start-up when Bluetooth is off. Ignored: there is no user interface.
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// A `String`: the identifier of the peripheral manager for state restoration, the same in each run of the
/// app. A running hub knows the manager by it; restoration is not supported yet.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"

// MARK: Scanning

/// A Boolean value: whether to report every advertisement instead of every change.
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// A `[CBUUID]`: also report peripherals that solicit one of these services.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String =
  "kCBScanOptionSolicitedServiceUUIDs"

// MARK: Connecting

/// A Boolean value: whether to alert the user on connection while the app is suspended. Apps are
/// not suspended on Linux, so this has no effect.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
/// A Boolean value: whether to alert the user on disconnection while the app is suspended. No
/// effect.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
/// A Boolean value: whether to alert the user on notifications while the app is suspended. No
/// effect.
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String =
  "kCBConnectOptionNotifyOnNotification"
/// An `NSNumber`: the delay before the connection is started, in seconds; from 0 to one day, and
/// values beyond that are clamped.
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
/// A Boolean value: whether to connect the classic profiles of the peripheral, too. No effect, as
/// classic Bluetooth is not supported.
public let CBConnectPeripheralOptionEnableTransportBridgingKey: String =
  "kCBConnectOptionEnableTransportBridging"
/// A Boolean value: whether to require the Apple Notification Center Service, by which peripherals
/// read a phone's notifications. This host has none, so the delegate gets `didFailToConnect` with
/// `CBError.operationNotSupported`.
public let CBConnectPeripheralOptionRequiresANCS: String = "kCBConnectOptionRequiresANCS"
/// A Boolean value: whether to reconnect when the link is lost without a request of the app.
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
/// The advertisement data of a restored peripheral manager.
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
/// The characteristic in which a peripheral publishes the PSM of its L2CAP channel.
public let CBUUIDL2CAPPSMCharacteristicString: String = "ABDD3056-28FA-441D-A470-55A75A52553A"

// MARK: Errors

/// The domain of `CBError`.
public let CBErrorDomain: String = "CBErrorDomain"
/// The domain of `CBATTError`.
public let CBATTErrorDomain: String = "CBATTErrorDomain"

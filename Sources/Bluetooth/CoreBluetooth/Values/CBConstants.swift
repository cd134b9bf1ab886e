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
/// app. A running hub preserves the manager's state under it when the app ends.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Requests media accessories. Ignored.
public let CBCentralManagerOptionDeviceAccessForMedia: String =
  "kCBInitOptionDeviceAccessForMedia"
/// Whether to warn the user at start-up when Bluetooth is off. Ignored: there is no user interface.
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// A `String`: the identifier of the peripheral manager for state restoration, the same in each run of the
/// app. A running hub preserves the manager's state under it when the app ends.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"

// MARK: Scanning

/// A Boolean value: whether to report every advertisement instead of every change.
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// A `[CBUUID]`: also report peripherals that solicit one of these services.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String =
  "kCBScanOptionSolicitedServiceUUIDs"

// MARK: Connecting

/// A Boolean value: whether to alert the user on connection while the app is suspended. It is passed to the host,
/// for what suspends and starts apps; it has no effect on apps that nothing suspends.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
/// A Boolean value: whether to alert the user on disconnection while the app is suspended; as above.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
/// A Boolean value: whether to alert the user on notifications while the app is suspended; as above.
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

/// A `[CBPeripheral]`: the peripherals of a restored central manager, connected or with a pending connection.
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
/// A `[CBUUID]`: the services that a restored central manager scans for.
public let CBCentralManagerRestoredStateScanServicesKey: String = "kCBRestoredScanServices"
/// A `[String: Any]`: the options with which a restored central manager scans.
public let CBCentralManagerRestoredStateScanOptionsKey: String = "kCBRestoredScanOptions"
/// A `[CBMutableService]`: the published services of a restored peripheral manager.
public let CBPeripheralManagerRestoredStateServicesKey: String = "kCBRestoredServices"
/// A `[String: Any]`: what a restored peripheral manager advertises.
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

/// All fields of an advertiser, from its advertising data and its scan response together.
///
/// If both contain the same field, that of the scan response is used, except that a complete name
/// is preferred to a shortened one. Lists are joined without duplicates. An advertisement has at
/// most 1,650 bytes, which bounds the size of this value.
package struct AdvertisingFields: Hashable, Sendable {
  /// The flags of the device.
  package var flags: AdvertisingFlags?
  /// The name; bytes that are not UTF-8 are replaced.
  package var localName: String?
  /// Whether the name is complete.
  package var isLocalNameComplete = false
  /// Service UUIDs of the device.
  package var services: [BluetoothUUID] = []
  /// Solicited services.
  package var solicitedServices: [BluetoothUUID] = []
  /// Service data by service UUID.
  package var serviceData: [BluetoothUUID: [UInt8]] = [:]
  /// The company that defined the manufacturer data, and the data.
  package var manufacturerData: ManufacturerData?
  /// Transmit power in dBm.
  package var txPowerLevel: Int8?
  /// The appearance of the device.
  package var appearance: UInt16?

  /// Manufacturer-specific data.
  package struct ManufacturerData: Hashable, Sendable {
    /// The company identifier.
    package var company: UInt16
    /// The data after the company identifier.
    package var data: [UInt8]

    /// Creates manufacturer-specific data.
    package init(company: UInt16, data: [UInt8]) {
      self.company = company
      self.data = data
    }
  }

  /// Creates empty fields.
  package init() {}

  /// Reads the fields of advertising data and of a scan response.
  package init(_ data: ArraySlice<UInt8>, scanResponse: ArraySlice<UInt8> = []) {
    for structure in AdvertisingData(data) { add(structure.element) }
    for structure in AdvertisingData(scanResponse) { add(structure.element) }
  }

  private mutating func add(_ element: AdvertisingElement) {
    switch element {
    case .flags(let flags): self.flags = flags
    case .services(let list, _):
      for uuid in list where !services.contains(uuid) { services.append(uuid) }
    case .solicitedServices(let list):
      for uuid in list where !solicitedServices.contains(uuid) { solicitedServices.append(uuid) }
    case .localName(let utf8, let isComplete):
      guard isComplete || !isLocalNameComplete else { return }
      // Some devices fill the rest of the field with zeros.
      localName = String(decoding: utf8.prefix { $0 != 0 }, as: UTF8.self)
      isLocalNameComplete = isComplete
    case .txPowerLevel(let power): txPowerLevel = power
    case .serviceData(let uuid, let data): serviceData[uuid] = Array(data)
    case .appearance(let appearance): self.appearance = appearance
    case .manufacturerData(let company, let data):
      manufacturerData = ManufacturerData(company: company, data: Array(data))
    case .connectionIntervalRange, .unknown: break
    }
  }
}

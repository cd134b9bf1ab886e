/// All fields of an advertiser, from its advertising data and its scan response together.
///
/// Where both contain the same field, the scan response wins, except that a complete name is kept
/// over a shortened one. Lists are joined without repetition. An advertisement has at most 1,650
/// bytes, which bounds the size of this value.
public struct AdvertisingFields: Hashable, Sendable {
  /// The device's modes.
  public var flags: AdvertisingFlags?
  /// The name; bytes that are not UTF-8 are replaced.
  public var localName: String?
  /// Whether the name is whole.
  public var isLocalNameComplete = false
  /// Services that the device has.
  public var services: [BluetoothUUID] = []
  /// Services that the device looks for.
  public var solicitedServices: [BluetoothUUID] = []
  /// Data of services.
  public var serviceData: [BluetoothUUID: [UInt8]] = [:]
  /// The company that defined the manufacturer data, and the data.
  public var manufacturerData: ManufacturerData?
  /// Transmit power in dBm.
  public var txPowerLevel: Int8?
  /// What the device looks like.
  public var appearance: UInt16?

  /// Data that a company defined.
  public struct ManufacturerData: Hashable, Sendable {
    /// The company's number.
    public var company: UInt16
    /// What follows the number.
    public var data: [UInt8]

    /// A company's data.
    public init(company: UInt16, data: [UInt8]) {
      self.company = company
      self.data = data
    }
  }

  /// Creates empty fields.
  public init() {}

  /// Reads the fields of advertising data and of a scan response.
  public init(_ data: ArraySlice<UInt8>, scanResponse: ArraySlice<UInt8> = []) {
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

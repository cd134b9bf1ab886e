import BluetoothInterface
import BluetoothWire
import Essentials

/// A client's advertisement: an object whose properties bluetoothd reads (org.bluez.LEAdvertisement1).
struct Advertisement: Sendable {
  enum Phase: Sendable, Equatable {
    /// bluetoothd doesn't have it: it is registered when the radio is on.
    case waiting
    /// For the client's request, or again after a loss of bluetoothd.
    case registering(RequestToken?)
    case registered
  }

  let path: String
  let properties: [String: BusValue]
  var phase = Phase.waiting
  /// The path of the adapter that advertises.
  var adapter: String?
  /// Why bluetoothd doesn't have it; nil if it is not known to refuse it.
  var refusal: Refusal?

  init(path: String, properties: [String: BusValue]) {
    self.path = path
    self.properties = properties
  }

  /// The properties of an advertisement; bluetoothd puts the data and the scan response together itself.
  ///
  /// - Throws: `HostError` for what bluetoothd can't advertise.
  static func properties(_ options: AdvertisingOptions) throws(HostError) -> [String: BusValue] {
    guard options.target == nil else {
      throw .unsupported("bluetoothd has no directed advertising.")
    }
    var values: [String: BusValue] = [
      "Type": .string(options.isConnectable ? "peripheral" : "broadcast")
    ]
    if options.usesExtendedAdvertising || options.usesCodedPHY {
      values["SecondaryChannel"] = .string(options.usesCodedPHY ? "Coded" : "1M")
    }
    var companies: [UInt16: BusValue] = [:]
    for bytes in [options.data, options.scanResponse] {
      for structure in AdvertisingData(bytes[...]) {
        switch structure.element {
        case .manufacturerData(let company, let data):
          guard companies[company] == nil else {
            throw .unsupported("bluetoothd advertises one value of each company.")
          }
          companies[company] = .bytes(Array(data))
        case .connectionIntervalRange, .unknown:
          let type = String(structure.type.rawValue, radix: 16)
          throw .unsupported("bluetoothd has no property for advertising data of type 0x\(type).")
        case .flags, .services, .solicitedServices, .localName, .txPowerLevel, .serviceData,
          .appearance:
          break
        }
      }
    }
    if !companies.isEmpty { values["ManufacturerData"] = .numbered(companies) }
    let fields = AdvertisingFields(options.data[...], scanResponse: options.scanResponse[...])
    // bluetoothd refuses the flag in a broadcast.
    if options.isConnectable, fields.flags?.isDiscoverable == true {
      values["Discoverable"] = .boolean(true)
    }
    if let name = fields.localName { values["LocalName"] = .string(name) }
    if let appearance = fields.appearance { values["Appearance"] = .uint16(appearance) }
    if fields.txPowerLevel != nil { values["Includes"] = .strings(["tx-power"]) }
    if !fields.services.isEmpty {
      values["ServiceUUIDs"] = .strings(fields.services.map(\.fullDescription))
    }
    if !fields.solicitedServices.isEmpty {
      values["SolicitUUIDs"] = .strings(fields.solicitedServices.map(\.fullDescription))
    }
    if !fields.serviceData.isEmpty {
      let entries = fields.serviceData.map { ($0.key.fullDescription, BusValue.bytes($0.value)) }
      values["ServiceData"] = .properties(Dictionary(entries) { $1 })
    }
    return values
  }
}

extension AdvertisingFlags {
  /// Whether one of both discoverable modes is set (Core Specification Supplement, Part A, §1.3).
  fileprivate var isDiscoverable: Bool { rawValue & 0x03 != 0 }
}

import BluetoothWire
import Essentials

/// An adapter of bluetoothd.
struct Adapter: Sendable {
  var address: UInt64?
  var addressKind = DeviceAddress.Kind.public
  var isPowered = false
  /// `PowerState` of BlueZ 5.82; nil in 5.66.
  var powerState: String?
  /// Whether bluetoothd takes monitors, which it does if experimental interfaces are on, and whether the controller has them.
  var takesMonitors = false
  var hasMonitorsInController = false

  mutating func update(_ values: [String: BusValue]) {
    if let text = values["Address"]?.text { address = DeviceAddress(text, kind: .public)?.bits }
    if let kind = values["AddressType"]?.text { addressKind = kind == "random" ? .random : .public }
    if let isPowered = values["Powered"]?.boolean { self.isPowered = isPowered }
    if let state = values["PowerState"]?.text { powerState = state }
    if let types = values["SupportedMonitorTypes"]?.strings {
      takesMonitors = types.contains("or_patterns")
    }
    if let features = values["SupportedFeatures"]?.strings {
      hasMonitorsInController = features.contains("controller-patterns")
    }
  }
}

/// A device that bluetoothd knows: from its advertisements, or because it is stored.
struct RemoteDevice: Sendable {
  /// The address by which clients know it: the first one, also after a pairing has revealed another.
  let address: DeviceAddress
  /// The current address, if a pairing has revealed it.
  var identity: DeviceAddress?
  var isConnected = false
  var isPaired = false
  var areServicesResolved = false
  /// When `ServicesResolved` became true.
  var resolvedAt: Instant?
  var name: String?
  var rssi: Int8?
  var services: [BluetoothUUID] = []
  var objects = RemoteObjects()
  private var txPower: Int8?
  private var appearance: UInt16?
  private var flags: UInt8?
  private var manufacturerData: [UInt16: [UInt8]] = [:]
  private var serviceData: [BluetoothUUID: [UInt8]] = [:]

  init?(_ values: [String: BusValue], now: Instant) {
    guard let address = Self.address(values, kind: .public) else { return nil }
    self.address = address
    update(values, now: now)
    identity = nil
  }

  private static func address(
    _ values: [String: BusValue], kind: DeviceAddress.Kind
  ) -> DeviceAddress? {
    values["Address"]?.text.flatMap { text in
      guard let type = values["AddressType"]?.text else { return DeviceAddress(text, kind: kind) }
      return DeviceAddress(text, kind: type == "random" ? .random : .public)
    }
  }

  mutating func update(_ values: [String: BusValue], now: Instant) {
    if let new = Self.address(values, kind: address.kind), new != address { identity = new }
    if let connected = values["Connected"]?.boolean { isConnected = connected }
    if let paired = values["Paired"]?.boolean { isPaired = paired }
    if let resolved = values["ServicesResolved"]?.boolean {
      if resolved, !areServicesResolved { resolvedAt = now }
      areServicesResolved = resolved
    }
    if let name = values["Name"]?.text { self.name = name }
    if let rssi = values["RSSI"]?.int16 { self.rssi = Int8(clamping: rssi) }
    if let power = values["TxPower"]?.int16 { txPower = Int8(clamping: power) }
    if let appearance = values["Appearance"]?.uint16 { self.appearance = appearance }
    if let flags = values["AdvertisingFlags"]?.bytes?.first { self.flags = flags }
    if let uuids = values["UUIDs"]?.strings { services = uuids.compactMap { BluetoothUUID($0) } }
    if let data = values["ManufacturerData"]?.numbered {
      manufacturerData = data.compactMapValues(\.bytes)
    }
    if let data = values["ServiceData"]?.properties {
      serviceData = [:]
      for (key, value) in data {
        if let uuid = BluetoothUUID(key), let bytes = value.bytes { serviceData[uuid] = bytes }
      }
    }
  }

  mutating func invalidate(_ names: [String]) {
    for name in names {
      switch name {
      case "RSSI": rssi = nil
      case "TxPower": txPower = nil
      case "ManufacturerData": manufacturerData = [:]
      case "ServiceData": serviceData = [:]
      case "Name": self.name = nil
      default: break
      }
    }
  }

  /// The advertising data that bluetoothd has taken apart, put together again. What doesn't fit into the 1,650 bytes
  /// that a device can advertise is left out (Core 5.4, Vol 4, Part E, §7.8.54).
  var advertisingData: [UInt8] {
    var builder = AdvertisingDataBuilder(byteCountMax: 1_650)
    if let flags { builder.append(AdvertisingFlags(rawValue: flags)) }
    builder.append(services: services)
    if let name { builder.append(localName: name) }
    if let txPower { builder.append(txPowerLevel: txPower) }
    if let appearance { builder.append(appearance: appearance) }
    for company in manufacturerData.keys.sorted() {
      builder.append(manufacturer: company, manufacturerData[company] ?? [])
    }
    for uuid in serviceData.keys.sorted(by: { ($0.high, $0.low) < ($1.high, $1.low) }) {
      builder.append(serviceData: uuid, serviceData[uuid] ?? [])
    }
    return builder.bytes
  }

  /// Whether all objects of its services are there, as far as that can be known.
  func hasServices(now: Instant) -> Bool {
    guard areServicesResolved else { return false }
    if !objects.isEmpty || services.isEmpty { return true }
    return resolvedAt.map { now - $0 >= BlueZLimits.objectsMax } ?? true
  }
}

internal import BluetoothInterface
internal import BluetoothWire
internal import Essentials

/// What goes where when a local name and service UUIDs are advertised.
///
/// The advertising data has flags and 28 bytes for UUIDs and the name. A name that does not fit
/// there goes to the scan response, cut to ten bytes. UUIDs that do not fit go to the overflow area,
/// which is in the scan response as well; the lists in the advertising data are marked incomplete
/// then (Apple: `startAdvertising(_:)`).
struct AdvertisingPlan {
  private(set) var options = AdvertisingOptions()

  init(name: String?, services: [BluetoothUUID]) {
    var data = Structures(byteCountMax: Limits.advertisingByteCountMax)
    let overflow = data.take(services)
    var response = Structures(byteCountMax: Limits.legacyByteCountMax)
    let nameBytes = name.map { Array($0.utf8) } ?? []
    if !nameBytes.isEmpty, !data.takeName(nameBytes, type: .completeLocalName) {
      let cut = Array(nameBytes.utf8Prefix(Limits.scanResponseNameByteCountMax))
      _ = response.takeName(
        cut, type: cut.count == nameBytes.count ? .completeLocalName : .shortenedLocalName)
    }
    let flags: [UInt8] = [2, AdvertisingDataType.flags.rawValue, 0x06]
    options.data = flags + data.bytes(isComplete: overflow.isEmpty)
    options.scanResponse = response.bytes(isComplete: true)
    if !overflow.isEmpty { options.scanResponse += OverflowArea(overflow).structure }
  }
}

extension AdvertisingPlan {
  /// What `CLBeaconRegion.peripheralData(withMeasuredPower:)` calls its entry.
  static let beaconKey = "kCBAdvDataAppleBeaconKey"
  /// UUID, major, minor, measured power.
  private static let beaconByteCount = 21

  /// The plan for an app's dictionary; nil if its beacon is invalid. Entries that can't be
  /// advertised are logged.
  init?(_ advertisement: [String: Any]) {
    let isBeacon = advertisement[Self.beaconKey] != nil
    let allowedKeys =
      isBeacon
      ? [Self.beaconKey] : [CBAdvertisementDataLocalNameKey, CBAdvertisementDataServiceUUIDsKey]
    for key in advertisement.keys.sorted() where !allowedKeys.contains(key) {
      Misuse.report(
        "CBPeripheralManager doesn't advertise \(key)\(isBeacon ? " with a beacon" : ""); it is left out"
      )
    }
    guard let beacon = advertisement[Self.beaconKey] else {
      self.init(
        name: advertisement[CBAdvertisementDataLocalNameKey] as? String,
        services: (advertisement[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []).values)
      return
    }
    guard let data = beacon as? Data, data.count == Self.beaconByteCount else { return nil }
    self.init(beacon: Array(data))
  }

  /// An iBeacon, which fills the advertisement and is not connectable (Apple: Proximity Beacon
  /// Specification, release R1, §1).
  private init(beacon: [UInt8]) {
    let flags: [UInt8] = [2, AdvertisingDataType.flags.rawValue, 0x06]
    let header: [UInt8] = [
      0x1A, AdvertisingDataType.manufacturerData.rawValue, 0x4C, 0x00, 0x02, 0x15,
    ]
    options.data = flags + header + beacon
    options.isConnectable = false
  }
}

extension AdvertisingOptions {
  /// The dictionary from which a plan made the options: without services in the overflow area, which can't be read,
  /// and with a name as far as it was advertised.
  var advertisementData: [String: Any] {
    var dictionary: [String: Any] = [:]
    var services: [CBUUID] = []
    for bytes in [data, scanResponse] {
      for structure in AdvertisingData(bytes[...]) {
        switch structure.element {
        case .services(let uuids, _): services += uuids.lazy.map { CBUUID($0) }
        case .localName(let name, _):
          dictionary[CBAdvertisementDataLocalNameKey] = String(decoding: name, as: UTF8.self)
        case .manufacturerData(let company, let content):
          if company == 0x4C, content.starts(with: [0x02, 0x15]) {
            dictionary[AdvertisingPlan.beaconKey] = Data(content.dropFirst(2))
          }
        default: break
        }
      }
    }
    if !services.isEmpty { dictionary[CBAdvertisementDataServiceUUIDsKey] = services }
    return dictionary
  }
}

/// Advertising structures that are collected before their types are known.
private struct Structures {
  let byteCountMax: Int
  private var services: [BluetoothUUID.Width: [BluetoothUUID]] = [:]
  private var name: [UInt8] = []
  private var nameType = AdvertisingDataType.completeLocalName
  private var byteCount = 0
  private static let headerByteCount = 2

  init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

  /// Takes UUIDs in their order as long as they fit and returns those that don't.
  mutating func take(_ uuids: [BluetoothUUID]) -> [BluetoothUUID] {
    var leftOver: [BluetoothUUID] = []
    for uuid in uuids {
      let isFirst = services[uuid.width] == nil
      let cost = Int(uuid.width.rawValue) + (isFirst ? Self.headerByteCount : 0)
      if byteCount + cost <= byteCountMax {
        services[uuid.width, default: []].append(uuid)
        byteCount += cost
      } else {
        leftOver.append(uuid)
      }
    }
    return leftOver
  }

  /// Takes a name if it fits.
  mutating func takeName(_ bytes: [UInt8], type: AdvertisingDataType) -> Bool {
    guard byteCount + Self.headerByteCount + bytes.count <= byteCountMax else { return false }
    name = bytes
    nameType = type
    byteCount += Self.headerByteCount + bytes.count
    return true
  }

  func bytes(isComplete: Bool) -> [UInt8] {
    let types: [(BluetoothUUID.Width, AdvertisingDataType, AdvertisingDataType)] = [
      (.bits16, .completeServices16, .incompleteServices16),
      (.bits32, .completeServices32, .incompleteServices32),
      (.bits128, .completeServices128, .incompleteServices128),
    ]
    var writer = ByteWriter()
    for (width, complete, incomplete) in types {
      guard let uuids = services[width] else { continue }
      writer.uint8(UInt8(1 + uuids.count * Int(width.rawValue)))
      writer.uint8((isComplete ? complete : incomplete).rawValue)
      for uuid in uuids { uuid.append(to: &writer, allowing32Bits: true) }
    }
    if !name.isEmpty {
      writer.uint8(UInt8(1 + name.count))
      writer.uint8(nameType.rawValue)
      writer.append(name)
    }
    return writer.bytes
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials

/// A service of this program: an application of bluetoothd's with one service, whose objects it reads once
/// (org.bluez.GattManager1).
struct LocalService: Sendable {
  enum Phase: Sendable, Equatable {
    /// bluetoothd doesn't have it: it is registered when the radio is on.
    case waiting
    /// For the client's request, or again after a loss of bluetoothd.
    case registering(RequestToken?)
    case registered
  }

  struct Characteristic: Sendable {
    var definition: CharacteristicDefinition
    /// The handle of the value, which bluetoothd chooses.
    var valueHandle: UInt16 = 0
    var subscribers: Set<DeviceAddress> = []
    /// The indications without a confirmation.
    var unconfirmed: [Unconfirmed] = []

    /// bluetoothd acknowledges requests by itself if commands are possible, and doesn't tell both apart.
    var needsResponse: Bool { !definition.properties.contains(.writeWithoutResponse) }
  }

  struct Unconfirmed: Sendable {
    var client: BlueZSessionID
    var token: RequestToken
    var deadline: Instant
  }

  let client: BlueZSessionID
  let definition: ServiceDefinition
  let root: String
  var phase = Phase.waiting
  /// The path of the adapter that serves it.
  var adapter: String?
  /// Why bluetoothd doesn't have it; nil if it is not known to refuse it.
  var refusal: Refusal?
  var handle: UInt16 = 0
  var characteristics: [Characteristic]

  init(client: BlueZSessionID, definition: ServiceDefinition, root: String) {
    self.client = client
    self.definition = definition
    self.root = root
    characteristics = definition.characteristics.map { Characteristic(definition: $0) }
  }

  // MARK: Paths

  private static func number(_ value: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  var path: String { root + "/service" }

  func path(ofCharacteristic index: Int) -> String { "\(path)/char\(Self.number(index))" }

  func characteristic(at path: String) -> Int? {
    characteristics.indices.first { self.path(ofCharacteristic: $0) == path }
  }

  /// The fixed value of the descriptor at a path.
  func descriptor(at path: String) -> [UInt8]? {
    for (index, characteristic) in definition.characteristics.enumerated()
    where path.hasPrefix(self.path(ofCharacteristic: index) + "/") {
      return characteristic.descriptors.indices
        .first { self.path(ofDescriptor: $0, of: index) == path }
        .map { characteristic.descriptors[$0].value }
    }
    return nil
  }

  private func path(ofDescriptor index: Int, of characteristic: Int) -> String {
    "\(path(ofCharacteristic: characteristic))/desc\(Self.number(index))"
  }

  // MARK: Objects

  /// What bluetoothd reads. A handle of 0 lets it choose.
  var objects: [String: [String: [String: BusValue]]] {
    var objects: [String: [String: [String: BusValue]]] = [
      path: [
        BusName.service: [
          "UUID": .string(definition.uuid.fullDescription),
          "Primary": .boolean(definition.isPrimary), "Handle": .uint16(handle),
        ]
      ]
    ]
    for (index, characteristic) in characteristics.enumerated() {
      let characteristicPath = path(ofCharacteristic: index)
      objects[characteristicPath] = [
        BusName.characteristic: [
          "UUID": .string(characteristic.definition.uuid.fullDescription),
          "Service": .path(path), "Flags": .strings(characteristic.definition.flags),
          "Handle": .uint16(characteristic.valueHandle),
        ]
      ]
      for (number, descriptor) in characteristic.definition.descriptors.enumerated() {
        objects[path(ofDescriptor: number, of: index)] = [
          BusName.descriptor: [
            "UUID": .string(descriptor.uuid.fullDescription),
            "Characteristic": .path(characteristicPath), "Flags": .strings(["read"]),
          ]
        ]
      }
    }
    return objects
  }

  /// Takes a handle that bluetoothd has chosen for an object.
  mutating func setHandle(_ value: UInt16, of path: String) {
    if path == self.path {
      handle = value
    } else if let index = characteristic(at: path) {
      characteristics[index].valueHandle = value
    }
  }

  /// The handles, once bluetoothd has chosen all.
  var published: PublishedService? {
    let count = UInt16(clamping: definition.attributeCount)
    guard handle > 0, characteristics.allSatisfy({ $0.valueHandle > 0 }), handle <= .max - count
    else { return nil }
    return PublishedService(
      range: HandleRange(handle, handle + count - 1),
      characteristics: characteristics.map { characteristic in
        // bluetoothd puts the configuration right behind the value.
        PublishedCharacteristic(
          valueHandle: characteristic.valueHandle,
          configurationHandle: characteristic.definition.hasConfiguration
            ? characteristic.valueHandle &+ 1 : nil)
      })
  }
}

extension CharacteristicDefinition {
  /// The properties and permissions as bluetoothd's flags.
  var flags: [String] {
    var flags: [String] = []
    if properties.contains(.broadcast) { flags.append("broadcast") }
    if properties.contains(.read) {
      flags.append(
        permissions.contains(.readAuthenticationRequired)
          ? "encrypt-authenticated-read"
          : permissions.contains(.readEncryptionRequired) ? "encrypt-read" : "read")
    }
    let writing =
      permissions.contains(.writeAuthenticationRequired)
      ? "encrypt-authenticated-write"
      : permissions.contains(.writeEncryptionRequired) ? "encrypt-write" : "write"
    if properties.contains(.write) { flags.append(writing) }
    if properties.contains(.writeWithoutResponse) {
      flags.append("write-without-response")
      if writing != "write", !properties.contains(.write) { flags.append(writing) }
    }
    if properties.contains(.authenticatedSignedWrites) {
      flags.append("authenticated-signed-writes")
    }
    for (property, name) in [
      (CharacteristicProperties.notify, "notify"), (.indicate, "indicate"),
    ] where properties.contains(property) {
      if subscribingRequiresAuthentication {
        flags.append("encrypt-authenticated-" + name)
      } else {
        flags.append(subscribingRequiresEncryption ? "encrypt-" + name : name)
      }
    }
    return flags
  }
}

extension ATTErrorCode {
  /// The error of a method that bluetoothd turns into this code, or into the nearest one that it has.
  var busError: BusError {
    switch self {
    case .requestNotSupported: BusError("org.bluez.Error.NotSupported", "not supported")
    case .insufficientAuthorization: BusError("org.bluez.Error.NotAuthorized", "not authorized")
    case .invalidAttributeValueLength:
      BusError("org.bluez.Error.InvalidValueLength", "invalid length")
    case .invalidOffset: BusError("org.bluez.Error.InvalidOffset", "invalid offset")
    case .readNotPermitted, .writeNotPermitted:
      BusError("org.bluez.Error.NotPermitted", "not permitted")
    case _ where (0x80...0x9F).contains(rawValue):
      BusError("org.bluez.Error.Failed", "0x" + String(rawValue, radix: 16))
    // Every other name is the unlikely error, 0x0E.
    default: BusError("org.ambit.Error.Unlikely", "error 0x" + String(rawValue, radix: 16))
    }
  }
}

import ArgumentParser
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire
import PeripheralFiles

/// Shows everything that a device has.
struct Inspect: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and show its services, characteristics and values.",
    discussion: """
      EXAMPLES:
        ambit inspect strap
        ambit inspect C0:12:34:56:78:9A
        ambit inspect 4f0e --no-values --json
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The device: identifier or start of it, address, or name.")
  var id: String

  @Flag(inversion: .prefixedNo, help: "Read all readable values.")
  var values = true

  func run(_ session: Session) async throws {
    let (id, values) = (id, values)
    try await session.withinTime("inspecting \(id)") {
      try await Device.with(DeviceName(text: id), session) { device in
        try await Self.report(device, readsValues: values)
      }
    }
  }

  static func report(_ device: Device, readsValues: Bool) async throws {
    let output = device.session.output
    let report = InspectionReport(device: device, output: output)
    let services = try await device.services(withDescriptors: true)
    report.begin()
    for service in services {
      report.service(service)
      let characteristics = service.characteristics ?? []
      for (index, characteristic) in characteristics.enumerated() {
        let isLast = index == characteristics.count - 1
        output.progress("Reading \(characteristic.uuid.uuidString) …")
        let value = try await value(characteristic, device, isWanted: readsValues)
        report.characteristic(characteristic, of: service, value, isLast: isLast)
        for descriptor in characteristic.descriptors ?? [] {
          let value = try await Self.value(descriptor, device, isWanted: readsValues)
          report.descriptor(
            descriptor, of: characteristic, service, value, isUnderLast: isLast)
        }
      }
    }
  }

  /// The result of reading an attribute.
  enum Reading: Sendable {
    case notRead
    case value(ValueText)
    case refused(String)
  }

  private static func value(
    _ characteristic: CBCharacteristic, _ device: Device, isWanted: Bool
  ) async throws -> Reading {
    guard isWanted, characteristic.properties.contains(.read) else { return .notRead }
    return try await reading {
      ValueText(
        try await device.read(characteristic),
        characteristic: BluetoothUUID(characteristic.uuid))
    }
  }

  private static func value(
    _ descriptor: CBDescriptor, _ device: Device, isWanted: Bool
  ) async throws -> Reading {
    guard isWanted else { return .notRead }
    return try await reading {
      try await device.read(descriptor).map {
        ValueText($0, descriptor: BluetoothUUID(descriptor.uuid))
      }
    }
  }

  /// A refusal concerns one value; anything else ends the inspection.
  private static func reading(_ read: () async throws -> ValueText?) async throws -> Reading {
    do {
      return try await read().map(Reading.value) ?? .notRead
    } catch let failure as CommandFailure where failure.isRefusal {
      // The characteristic is shown beside it already.
      return .refused("refused: " + failure.reason)
    }
  }
}

/// The tree that `inspect` prints, or its objects.
struct InspectionReport {
  let device: Device
  let output: Output

  private var style: Style { output.style }
  private var identifier: JSON { .string(device.connection.identifier.uuidString) }

  init(device: Device, output: Output) {
    self.device = device
    self.output = output
  }

  func begin() {
    let sighting = device.sighting
    if output.isJSON { return output.object(sighting.json(event: "connected")) }
    let address = sighting.address.map { " \($0.description)" } ?? ""
    output.line(style.bold(Fit.safe(device.title)) + style.dim(address))
    output.line(style.dim(sighting.identifier))
    if let beacon = sighting.beacon { output.line(Fit.safe(beacon.description)) }
  }

  func service(_ service: CBService) {
    let uuid = BluetoothUUID(service.uuid)
    let name = AssignedNumbers.serviceName(uuid)
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("service"), "id": identifier, "uuid": .string(uuid.description),
          "name": name.map { .string($0) }, "primary": .bool(service.isPrimary),
        ]))
    }
    output.line("")
    output.line(style.bold(name ?? "Service") + "  " + style.dim(uuid.description))
  }

  func characteristic(
    _ characteristic: CBCharacteristic, of service: CBService, _ value: Inspect.Reading,
    isLast: Bool
  ) {
    let uuid = BluetoothUUID(characteristic.uuid)
    let name = AssignedNumbers.characteristicName(uuid)
    let properties = PropertyNames.names(
      CharacteristicProperties(
        rawValue: UInt8(truncatingIfNeeded: characteristic.properties.rawValue)))
    if output.isJSON {
      let head: KeyValuePairs<String, JSON?> = [
        "event": .string("characteristic"), "id": identifier,
        "service": .string(service.uuid.uuidString), "uuid": .string(uuid.description),
        "name": name.map { .string($0) }, "properties": .array(properties.map { .string($0) }),
      ]
      return output.object(.object(head).adding(Self.members(value)))
    }
    let title = Fit.column(name ?? "Characteristic", 30)
    let line =
      (isLast ? "└─ " : "├─ ") + title + " " + style.dim(uuid.description) + " "
      + style.cyan(properties.joined(separator: ", "))
    output.line(line + text(value))
  }

  func descriptor(
    _ descriptor: CBDescriptor, of characteristic: CBCharacteristic, _ service: CBService,
    _ value: Inspect.Reading, isUnderLast: Bool
  ) {
    let uuid = BluetoothUUID(descriptor.uuid)
    let name = AssignedNumbers.descriptorName(uuid)
    if output.isJSON {
      let head: KeyValuePairs<String, JSON?> = [
        "event": .string("descriptor"), "id": identifier,
        "service": .string(service.uuid.uuidString),
        "characteristic": .string(characteristic.uuid.uuidString),
        "uuid": .string(uuid.description), "name": name.map { .string($0) },
      ]
      return output.object(.object(head).adding(Self.members(value)))
    }
    let line = "\(isUnderLast ? " " : "│")     \(name ?? "Descriptor")  \(uuid)"
    output.line(style.dim(line) + text(value))
  }

  private func text(_ value: Inspect.Reading) -> String {
    switch value {
    case .notRead: ""
    case .value(let value): "  " + value.line(style, byteCountMax: output.valueByteCountMax)
    case .refused(let sentence): "  " + style.yellow(Fit.safe(sentence))
    }
  }

  private static func members(_ value: Inspect.Reading) -> [JSON.Member] {
    switch value {
    case .notRead: []
    case .value(let value): value.members
    case .refused(let sentence): [JSON.Member(key: "error", value: .string(sentence))]
    }
  }
}

extension JSON {
  /// The object with more members at its end.
  func adding(_ members: [Member]) -> JSON {
    guard case .object(let old) = self else { return self }
    return .object(old + members)
  }
}

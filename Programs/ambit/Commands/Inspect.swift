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
    let step = Guarded("looking for it")
    do {
      try await session.withinTime("inspecting \(id)", default: Session.inspectionTime) {
        try await Device.with(
          DeviceName(text: id), session,
          { try await Self.report($0, readsValues: values) { name in step.update { $0 = name } } },
          afterFinding: { _ in step.update { $0 = "connecting" } })
      }
    } catch var failure as CommandFailure where failure.status == .timedOut {
      failure.sentence += ", while \(step.value)"
      throw failure
    }
  }

  /// Prints the tree of a device: where a step fails, the part that is known, before it throws.
  ///
  /// - Parameter onStep: Called before each step, with what it does.
  static func report(
    _ device: Device, readsValues: Bool, onStep: @Sendable (String) -> Void = { _ in }
  ) async throws {
    var last = ""
    var services: [CBService] = []
    var failure: (any Error)?
    do {
      services = try await device.services(
        withDescriptors: true,
        onStep: {
          last = $0
          onStep($0)
        }, onServices: { services = $0 })
    } catch var error as CommandFailure {
      // The name means several devices, of which none is shown.
      guard error.status != .notFound else { throw error }
      error.sentence += ", while \(last)"
      failure = error
      // Nor is this one if the name means another.
      if !services.isEmpty { try await device.beSure() }
    } catch is CancellationError {
      failure = CancellationError()
    }
    if failure == nil || !services.isEmpty {
      var reader = InspectionReader(device: device, readsValues: readsValues, failure: failure)
      await reader.report(services, onStep: onStep)
      failure = reader.failure
    }
    if let failure { throw failure }
  }

  /// The result of reading an attribute.
  enum Reading: Sendable {
    case notRead
    case value(ValueText)
    case refused(String)
  }

}

/// Reads the values of a device and reports them. After a failure that concerns more than one value it
/// only reports known facts.
private struct InspectionReader {
  let device: Device
  let readsValues: Bool
  /// Why nothing more is read.
  private(set) var failure: (any Error)?
  /// How many values need a link with more protection.
  private var protectedCount = 0

  init(device: Device, readsValues: Bool, failure: (any Error)?) {
    self.device = device
    self.readsValues = readsValues
    self.failure = failure
  }

  mutating func report(_ services: [CBService], onStep: (String) -> Void) async {
    let report = InspectionReport(device: device, output: device.session.output)
    report.begin()
    for service in services {
      report.service(service)
      let characteristics = service.characteristics ?? []
      for (index, characteristic) in characteristics.enumerated() {
        let isLast = index == characteristics.count - 1
        let value = await value(characteristic, onStep)
        report.characteristic(characteristic, of: service, value, isLast: isLast)
        for descriptor in characteristic.descriptors ?? [] {
          let value = await self.value(descriptor, onStep)
          report.descriptor(
            descriptor, of: characteristic, service, value, isUnderLast: isLast)
        }
      }
    }
    if failure == nil, protectedCount > 0 {
      let values = protectedCount == 1 ? "a protected value" : "\(protectedCount) protected values"
      failure = CommandFailure(
        .failure, "\(values) of \(device.title) could not be read without pairing")
    }
  }

  private mutating func value(
    _ characteristic: CBCharacteristic, _ onStep: (String) -> Void
  ) async -> Inspect.Reading {
    guard characteristic.properties.contains(.read) else { return .notRead }
    let device = device
    return await reading(characteristic.uuid, onStep) {
      ValueText(
        try await device.read(characteristic),
        characteristic: BluetoothUUID(characteristic.uuid))
    }
  }

  private mutating func value(
    _ descriptor: CBDescriptor, _ onStep: (String) -> Void
  ) async -> Inspect.Reading {
    let device = device
    return await reading(descriptor.uuid, onStep) {
      try await device.read(descriptor).map {
        ValueText($0, descriptor: BluetoothUUID(descriptor.uuid))
      }
    }
  }

  /// A refusal concerns one value; anything else ends the reading.
  private mutating func reading(
    _ uuid: CBUUID, _ onStep: (String) -> Void, _ read: () async throws -> ValueText?
  ) async -> Inspect.Reading {
    guard readsValues, failure == nil else { return .notRead }
    onStep("reading \(uuid.uuidString)")
    device.session.output.progress("Reading \(uuid.uuidString) …")
    do {
      return try await read().map(Inspect.Reading.value) ?? .notRead
    } catch let failure as CommandFailure where failure.isRefusal {
      if failure.lacksProtection { protectedCount += 1 }
      // The characteristic is shown beside it already.
      return .refused("refused: " + failure.reason)
    } catch {
      failure = error
      return .refused("no answer")
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
    if output.isJSON { return output.object(sighting.json(event: "connected", at: Date())) }
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
    let title = name ?? "Service"
    let parts = [
      FittedLine.Part(title, style.bold(title)),
      FittedLine.Part("  ", uuid.description, style.dim(uuid.description)),
    ]
    write(FittedLine(first: "", next: "  ", parts: parts))
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
    let title = name ?? "Characteristic"
    let names = properties.joined(separator: ", ")
    let space = String(repeating: " ", count: max(0, 30 - Fit.width(title)) + 1)
    let parts = [
      FittedLine.Part(title, title),
      FittedLine.Part(space, uuid.description, style.dim(uuid.description)),
      FittedLine.Part(" ", names, style.cyan(names)),
    ]
    write(
      FittedLine(
        first: isLast ? "└─ " : "├─ ", next: isLast ? "   " : "│  ", parts: parts + part(value)))
  }

  private func write(_ line: FittedLine) {
    for text in line.lines(columns: Terminal.tableWidth) { output.line(text) }
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
    let title = name ?? "Descriptor"
    let start = isUnderLast ? "      " : "│     "
    let parts = [
      FittedLine.Part(title, style.dim(title)),
      FittedLine.Part("  ", uuid.description, style.dim(uuid.description)),
    ]
    write(FittedLine(first: style.dim(start), next: start, parts: parts + part(value)))
  }

  private func part(_ value: Inspect.Reading) -> [FittedLine.Part] {
    switch value {
    case .notRead: return []
    case .value(let value):
      let most = output.valueByteCountMax
      return [
        .init("  ", value.line(.plain, byteCountMax: most), value.line(style, byteCountMax: most))
      ]
    case .refused(let sentence):
      let safe = Fit.safe(sentence)
      return [.init("  ", safe, style.yellow(safe))]
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

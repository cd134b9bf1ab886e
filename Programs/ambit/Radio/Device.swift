import BluetoothInterface
package import BluetoothWire
package import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation

/// A device that was found and connected to.
struct Device: Sendable {
  let session: Session
  let connection: ConnectedPeripheral
  /// What it advertised when it was found.
  let sighting: Sighting
  private let search: Search
  /// Listens for devices that fit better.
  private let listening: Task<Void, Never>?

  /// Another device fits the name better than the one that was connected to.
  private struct BetterFit: Error {}

  /// Finds a device by the user's name for it, connects, runs `body`, disconnects. If another
  /// device turns out to fit the name better, which `services()` detects, `body` runs again with
  /// that one. `afterFinding` is called before connecting.
  static func with<Result: Sendable>(
    _ name: DeviceName, _ session: Session,
    _ body: @escaping @Sendable (Device) async throws -> Result,
    afterFinding: (@Sendable (Sighting) async throws -> Void)? = nil
  ) async throws -> Result {
    let central = try await session.central()
    return try await session.whileRadioWorks(central) {
      let search = Search(name: name, session: session)
      while true {
        let sighting = try await search.first(central)
        // No other one can be meant by an address, and a scan delays the connection.
        let listening = search.isWhole(sighting) ? nil : Task { await search.goOn(central) }
        defer { listening?.cancel() }
        try await afterFinding?(sighting)
        let device = try await connected(sighting, search, central, listening: listening)
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(device)) } catch { result = .failure(error) }
        listening?.cancel()
        session.output.clearProgress()
        await device.disconnect()
        if case .failure(let error) = result, error is BetterFit { continue }
        return try result.get()
      }
    }
  }

  /// Connects with a device that was heard.
  static func connected(
    _ sighting: Sighting, _ search: Search, _ central: Central,
    listening: Task<Void, Never>? = nil
  ) async throws -> Device {
    let session = search.session
    let title = sighting.name ?? sighting.shortID
    guard let identifier = UUID(uuidString: sighting.identifier) else {
      throw CommandFailure(.notFound, "\(title) has no identifier")
    }
    if let data = session.outOfBandData, let address = sighting.address {
      await session.host.provider.set(data, of: address)
    }
    session.output.progress("Connecting to \(title) …")
    let connection = try await session.explaining(title) { () throws(BluetoothError) in
      try await central.connect(identifier)
    }
    session.output.clearProgress()
    return Device(
      session: session, connection: connection, sighting: sighting, search: search,
      listening: listening)
  }

  /// Fails where the name means another device, or several, as far as was heard until now.
  private func checkName() throws {
    guard let meant = try search.check(), meant.identifier != sighting.identifier else { return }
    throw BetterFit()
  }

  /// Waits until others that fit had time to be heard, before the device is used. Then it stops listening
  /// for them: a command may follow the device for days, and a scan costs the radio of all programs.
  /// - Throws: Where the name means another device, or several.
  func beSure() async throws {
    try await search.waitForOthers(than: sighting)
    try checkName()
    listening?.cancel()
  }

  /// The device's name, else its short identifier.
  var title: String { sighting.name ?? connection.name ?? sighting.shortID }

  /// Ends the link in good order, also when the command was cancelled; a device that does not
  /// answer is not waited for long.
  func disconnect() async {
    let connection = connection
    guard connection.isConnected else { return }
    await Task {
      // A controller that leaves a command unanswered takes the next one 2 to 4 s later.
      _ = try? await race(.seconds(5)) { await connection.disconnect() }
    }.value
  }

  // MARK: Attributes

  /// All services with their characteristics; with descriptors where asked.
  ///
  /// - Parameters:
  ///   - onStep: Called before each step, with what it does.
  ///   - onServices: Called with the services, before what is in them is discovered.
  func services(
    withDescriptors: Bool = false, onStep: (String) -> Void = { _ in },
    onServices: ([CBService]) -> Void = { _ in }
  ) async throws -> [CBService] {
    session.output.progress("Discovering the services of \(title) …")
    let services = try await session.explaining(title) { () throws(BluetoothError) in
      onStep("discovering its services")
      let services = try await connection.discoverServices()
      onServices(services)
      for service in services {
        onStep("discovering the characteristics of \(service.uuid.uuidString)")
        if withDescriptors { try await connection.discoverIncludedServices(for: service) }
        for characteristic in try await connection.discoverCharacteristics(for: service)
        where withDescriptors {
          onStep("discovering the descriptors of \(characteristic.uuid.uuidString)")
          try await connection.discoverDescriptors(for: characteristic)
        }
      }
      return services
    }
    try await beSure()
    return services
  }

  /// Discovers the included services of services, and the descriptors of their characteristics.
  func discoverDescriptors(of services: [CBService]) async throws {
    try await session.explaining(title) { () throws(BluetoothError) in
      for service in services {
        try await connection.discoverIncludedServices(for: service)
        for characteristic in service.characteristics ?? [] {
          try await connection.discoverDescriptors(for: characteristic)
        }
      }
    }
  }

  /// The characteristic with a name.
  /// - Throws: `CommandFailure` unless exactly one characteristic fits.
  func characteristic(_ name: CharacteristicName) async throws -> CBCharacteristic {
    let all = try await services().flatMap { service in
      (service.characteristics ?? []).map { (service, $0) }
    }
    session.output.clearProgress()
    let fitting = all.filter { service, characteristic in
      BluetoothUUID(characteristic.uuid) == name.characteristic
        && (name.service == nil || BluetoothUUID(service.uuid) == name.service)
    }
    guard let first = fitting.first else {
      let list = Set(all.map { $0.1.uuid.uuidString }).sorted().prefix(12)
      throw CommandFailure(
        .notFound,
        "\(title) has no characteristic \(name.text); it has "
          + (list.isEmpty ? "none" : list.joined(separator: ", ")))
    }
    guard fitting.count == 1 else {
      let names = fitting.map { "\($0.0.uuid.uuidString)/\($0.1.uuid.uuidString)" }
      throw CommandFailure(
        .notFound,
        "\(title) has several characteristics \(name.text): \(names.joined(separator: ", "))")
    }
    return first.1
  }

  // MARK: Values

  /// Reads a characteristic.
  func read(_ characteristic: CBCharacteristic) async throws -> [UInt8] {
    try await session.explaining("reading \(characteristic.uuid.uuidString)", of: title) {
      () throws(BluetoothError) in Array(try await connection.read(characteristic))
    }
  }

  /// Reads a descriptor; nil where its value is of no known kind.
  func read(_ descriptor: CBDescriptor) async throws -> [UInt8]? {
    try await session.explaining("reading \(descriptor.uuid.uuidString)", of: title) {
      () throws(BluetoothError) in try await connection.read(descriptor)
    }
    return Self.bytes(descriptor)
  }

  /// Writes a characteristic and waits for the answer, or until the radio took it.
  func write(
    _ bytes: [UInt8], to characteristic: CBCharacteristic, withResponse: Bool
  ) async throws {
    let type = withResponse ? CBCharacteristicWriteType.withResponse : .withoutResponse
    let longest = connection.peripheral.maximumWriteValueLength(for: type)
    guard bytes.count <= longest else {
      throw CommandFailure(
        .badData, "at most \(longest) bytes can be written this way, not \(bytes.count)")
    }
    try await session.explaining("writing \(characteristic.uuid.uuidString)", of: title) {
      () throws(BluetoothError) in
      try await connection.write(Data(bytes), to: characteristic, type: type)
      // Without response, the link must not end before the packet was sent: an answer to
      // something harmless proves that it was.
      if !withResponse { try await connection.discoverServices([]) }
    }
  }

  /// Core Bluetooth turns descriptor values into objects; these are their bytes.
  private static func bytes(_ descriptor: CBDescriptor) -> [UInt8]? {
    switch descriptor.value {
    case let data as Data: Array(data)
    case let text as String: Array(text.utf8)
    case let number as NSNumber:
      [UInt8(truncatingIfNeeded: number.intValue), UInt8(truncatingIfNeeded: number.intValue >> 8)]
    default: nil
    }
  }
}

extension BluetoothUUID {
  /// Converts a Core Bluetooth UUID.
  package init(_ uuid: CBUUID) {
    // `data` holds 2, 4 or 16 bytes, most significant first; nothing else exists.
    self = BluetoothUUID(littleEndian: uuid.data.reversed()[...]) ?? BluetoothUUID(UInt16(0))
  }

  var coreBluetooth: CBUUID { CBUUID(string: description) }
}

extension HostSessionProvider {
  /// Sets the out-of-band data of a peer in the host.
  fileprivate func set(_ data: OutOfBandData, of peer: DeviceAddress) async {
    let (events, event) = AsyncStream.makeStream(of: Void.self)
    let session = openSession { if case .completed = $0 { event.finish() } }
    defer { session.close() }
    session.send(.setOutOfBandData(peer, data, RequestToken(rawValue: 0)))
    for await _ in events {}
  }
}

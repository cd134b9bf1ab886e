public import CoreBluetooth
internal import Foundation
internal import Synchronization

/// A connected peripheral for `async` code.
///
/// Services, characteristics and descriptors are Core Bluetooth's objects. Everything throws
/// `.disconnected` once the connection ended; connect again for a new one.
public final class ConnectedPeripheral: Sendable {
  /// The peripheral itself. Its delegate belongs to this object.
  public let peripheral: CBPeripheral
  private let central: Central
  /// Tells this connection from others with the same peripheral.
  private let connection: UInt64
  private let listener = PeripheralListener()
  private let room = Mutex(())

  init(_ peripheral: CBPeripheral, central: Central, connection: UInt64) {
    self.peripheral = peripheral
    self.central = central
    self.connection = connection
    peripheral.delegate = listener
  }

  deinit { central.released(peripheral, connection: connection) }

  /// The peripheral's identifier.
  public var identifier: UUID { peripheral.identifier }
  /// The peripheral's name.
  public var name: String? { peripheral.name }
  /// Whether the peripheral is connected.
  public var isConnected: Bool { peripheral.state == .connected }

  func ended(_ error: BluetoothError) { listener.ended(error) }

  /// Ends the connection; returns when it has ended.
  public func disconnect() async {
    if !listener.hasEnded { central.manager.cancelPeripheralConnection(peripheral) }
    _ = await listener.waitForEnd()
  }

  /// Waits until the connection has ended, and returns why.
  public func waitForDisconnection() async -> BluetoothError { await listener.waitForEnd() }

  // MARK: Discovering

  /// Discovers these services, or all, and returns what the peripheral has of them.
  @discardableResult
  public func discoverServices(
    _ uuids: [CBUUID]? = nil
  ) async throws(BluetoothError) -> [CBService] {
    try await listener.wait(.services) { peripheral.discoverServices(uuids) }
    return (peripheral.services ?? []).filter { uuids?.contains($0.uuid) ?? true }
  }

  /// Discovers the services that a service includes.
  @discardableResult
  public func discoverIncludedServices(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) async throws(BluetoothError) -> [CBService] {
    try await listener.wait(.includedServices(service)) {
      peripheral.discoverIncludedServices(uuids, for: service)
    }
    return (service.includedServices ?? []).filter { uuids?.contains($0.uuid) ?? true }
  }

  /// Discovers these characteristics of a service, or all.
  @discardableResult
  public func discoverCharacteristics(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) async throws(BluetoothError) -> [CBCharacteristic] {
    try await listener.wait(.characteristics(service)) {
      peripheral.discoverCharacteristics(uuids, for: service)
    }
    return (service.characteristics ?? []).filter { uuids?.contains($0.uuid) ?? true }
  }

  /// Discovers the descriptors of a characteristic.
  @discardableResult
  public func discoverDescriptors(
    for characteristic: CBCharacteristic
  ) async throws(BluetoothError) -> [CBDescriptor] {
    try await listener.wait(.descriptors(characteristic)) {
      peripheral.discoverDescriptors(for: characteristic)
    }
    return characteristic.descriptors ?? []
  }

  /// Discovers all attributes: for exploring, not for apps that need specific ones.
  @discardableResult
  public func discoverAll() async throws(BluetoothError) -> [CBService] {
    let services = try await discoverServices()
    for service in services {
      try await discoverIncludedServices(for: service)
      for characteristic in try await discoverCharacteristics(for: service) {
        try await discoverDescriptors(for: characteristic)
      }
    }
    return services
  }

  /// The characteristic of a service, discovering no more than these two.
  ///
  /// - Throws: `.notFound` if the peripheral lacks the one or the other.
  public func characteristic(
    _ uuid: CBUUID, of serviceUUID: CBUUID
  ) async throws(BluetoothError) -> CBCharacteristic {
    guard let service = try await discoverServices([serviceUUID]).first else {
      throw .notFound(serviceUUID)
    }
    guard let found = try await discoverCharacteristics([uuid], for: service).first else {
      throw .notFound(uuid)
    }
    return found
  }

  /// The lists of services that the peripheral withdrew or changed.
  public func modifiedServices() -> AsyncStream<[CBService]> {
    listener.modifications.stream(bufferMax: Limits.statesMax)
  }

  // MARK: Values

  /// Reads a whole value. While the characteristic notifies, a notified value may answer.
  public func read(_ characteristic: CBCharacteristic) async throws(BluetoothError) -> Data {
    try await listener.wait(.read(characteristic)) { peripheral.readValue(for: characteristic) }
    return characteristic.value ?? Data()
  }

  /// Reads a descriptor and stores the value in its `value`.
  public func read(_ descriptor: CBDescriptor) async throws(BluetoothError) {
    try await listener.wait(.readDescriptor(descriptor)) {
      peripheral.readValue(for: descriptor)
    }
  }

  /// Writes a value; without response, waits for space first.
  public func write(
    _ data: Data, to characteristic: CBCharacteristic,
    type: CBCharacteristicWriteType = .withResponse
  ) async throws(BluetoothError) {
    switch type {
    case .withResponse:
      try await listener.wait(.write(characteristic)) {
        peripheral.writeValue(data, for: characteristic, type: .withResponse)
      }
    case .withoutResponse:
      while !writeIfThereIsRoom(data, to: characteristic) {
        // Room may have come between the question and the waiting.
        try await listener.wait(.room) {
          if peripheral.canSendWriteWithoutResponse { listener.thereIsRoom() }
        }
      }
    }
  }

  /// Several tasks may write: the room that one has seen, another must not take.
  private func writeIfThereIsRoom(_ data: Data, to characteristic: CBCharacteristic) -> Bool {
    room.withLock { _ in
      guard peripheral.canSendWriteWithoutResponse else { return false }
      peripheral.writeValue(data, for: characteristic, type: .withoutResponse)
      return true
    }
  }

  /// Writes a descriptor.
  public func write(_ data: Data, to descriptor: CBDescriptor) async throws(BluetoothError) {
    try await listener.wait(.writeDescriptor(descriptor)) {
      peripheral.writeValue(data, for: descriptor)
    }
  }

  /// Notified or indicated values, as long as the sequence is read; it throws a `BluetoothError`
  /// if the subscription is refused, the connection ends or the peripheral withdraws the
  /// characteristic's service.
  public func values(of characteristic: CBCharacteristic) -> AsyncThrowingStream<Data, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Data.self, bufferingPolicy: .bufferingNewest(Limits.valuesMax))
    let number = listener.addReader(continuation, of: characteristic)
    let subscription = Task { [peripheral, listener] in
      do throws(BluetoothError) {
        try await listener.wait(.notify(characteristic)) {
          peripheral.setNotifyValue(true, for: characteristic)
        }
      } catch {
        if error != .cancelled { continuation.finish(throwing: error) }
      }
    }
    continuation.onTermination = { [peripheral, listener] _ in
      subscription.cancel()
      listener.removeReader(number, of: characteristic) {
        guard peripheral.state == .connected else { return }
        listener.expectNotification(of: characteristic)
        peripheral.setNotifyValue(false, for: characteristic)
      }
    }
    return stream
  }

  /// The link's strength in dBm.
  public func readRSSI() async throws(BluetoothError) -> Int {
    guard case .rssi(let value) = try await listener.wait(.rssi, { peripheral.readRSSI() })
    else { return 127 }
    return value
  }

  /// Opens a channel to a PSM of the peripheral.
  public func openChannel(psm: CBL2CAPPSM) async throws(BluetoothError) -> CBL2CAPChannel {
    let answer = try await listener.wait(.channel) { peripheral.openL2CAPChannel(psm) }
    guard case .channel(let channel) = answer else { throw .disconnected(nil) }
    return channel
  }
}

public import CoreBluetooth
internal import Foundation
internal import Synchronization

/// A connected peripheral for `async` code.
///
/// Services, characteristics and descriptors are Core Bluetooth's objects. All operations throw
/// `.disconnected` after the connection has ended; connect again to get a new object.
public final class ConnectedPeripheral: Sendable {
  /// The underlying peripheral. Its delegate is free for the program, and is called first.
  public let peripheral: CBPeripheral
  private let central: Central
  /// Tells this connection from others with the same peripheral.
  private let connection: UInt64
  private let listener: PeripheralListener
  private let room = Mutex(())

  /// - Parameter holdsValues: Whether values wait for the first sequence of their characteristic.
  init(
    _ peripheral: CBPeripheral, central: Central, connection: UInt64, holdsValues: Bool = false
  ) {
    self.peripheral = peripheral
    listener = PeripheralListener(holdsValues: holdsValues)
    self.central = central
    self.connection = connection
    peripheral.innerDelegateProxy = listener
  }

  deinit { central.released(peripheral, connection: connection) }

  /// The peripheral's identifier.
  public var identifier: UUID { peripheral.identifier }
  /// The peripheral's name.
  public var name: String? { peripheral.name }
  /// Whether the peripheral is connected.
  public var isConnected: Bool { peripheral.state == .connected }

  func ended(_ error: BluetoothError) { listener.ended(error) }

  /// Disconnects, and returns when the connection has ended.
  public func disconnect() async {
    if !listener.hasEnded { central.manager.cancelPeripheralConnection(peripheral) }
    _ = await listener.waitForEnd()
  }

  /// Waits until the connection has ended, and returns the reason.
  public func waitForDisconnection() async -> BluetoothError { await listener.waitForEnd() }

  // MARK: Discovering

  /// Discovers the services with these UUIDs, or all if nil, and returns those that were found.
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

  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
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

  /// Discovers all attributes. For tools that explore a peripheral; apps should discover only the
  /// attributes that they use.
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

  /// Discovers one service and one of its characteristics, and returns the characteristic.
  ///
  /// - Throws: `.notFound` if the peripheral lacks the service or the characteristic.
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

  /// Emits the services that the peripheral has removed or changed.
  public func modifiedServices() -> AsyncStream<[CBService]> {
    listener.modifications.stream(bufferMax: Limits.statesMax)
  }

  // MARK: Values

  /// Reads a whole value. While notifications are enabled, a notified value may be returned.
  public func read(_ characteristic: CBCharacteristic) async throws(BluetoothError) -> Data {
    try await listener.wait(.read(characteristic)) { peripheral.readValue(for: characteristic) }
    return characteristic.value ?? Data()
  }

  /// Reads a descriptor. The value is then in its `value` property.
  public func read(_ descriptor: CBDescriptor) async throws(BluetoothError) {
    try await listener.wait(.readDescriptor(descriptor)) {
      peripheral.readValue(for: descriptor)
    }
  }

  /// Writes a value. A write without response waits until there is space to send it.
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

  /// Emits notified and indicated values. Notifications are enabled while the sequence is iterated.
  /// It throws a `BluetoothError` if the subscription is refused, the connection ends or the
  /// peripheral removes the characteristic's service.
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

  /// Reads the RSSI of the link, in dBm.
  public func readRSSI() async throws(BluetoothError) -> Int {
    guard case .rssi(let value) = try await listener.wait(.rssi, { peripheral.readRSSI() })
    else { return 127 }
    return value
  }

  /// Opens an L2CAP channel to a PSM of the peripheral.
  public func openChannel(psm: CBL2CAPPSM) async throws(BluetoothError) -> CBL2CAPChannel {
    let answer = try await listener.wait(.channel) { peripheral.openL2CAPChannel(psm) }
    guard case .channel(let channel) = answer else { throw .disconnected(nil) }
    return channel
  }
}

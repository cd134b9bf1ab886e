public import CoreBluetooth
internal import Foundation
internal import RunLoopSupport
internal import Synchronization

/// A connected peripheral for `async` code.
///
/// Services, characteristics and descriptors are Core Bluetooth's objects. All operations throw
/// `.disconnected` after the connection has ended; connect again to get a new object.
public final class ConnectedPeripheral: Sendable {
  /// The underlying peripheral. Its delegate is free for the program, and is called first.
  public let peripheral: CBPeripheral
  private let central: Central
  private let connection: SharedConnection
  /// The reason for the end of the connection, once it has ended.
  private let endError = Mutex<BluetoothError?>(nil)
  private let ends = EventObservers<BluetoothError>()

  init(_ peripheral: CBPeripheral, central: Central, connection: SharedConnection) {
    self.peripheral = peripheral
    self.central = central
    self.connection = connection
  }

  deinit { connection.released() }

  /// The peripheral's identifier.
  public var identifier: UUID { peripheral.identifier }
  /// The peripheral's name.
  public var name: String? { peripheral.name }
  /// Whether the peripheral is connected.
  public var isConnected: Bool { peripheral.state == .connected }

  // MARK: The end of the connection

  private var end: BluetoothError? { endError.withLock { $0 } }

  func ended(_ error: BluetoothError) {
    endError.withLock { $0 = error }
    ends.send(error)
  }

  /// Calls `notify` when the connection has ended, maybe twice.
  private func observeEnd(_ notify: @escaping @Sendable (BluetoothError) -> Void)
    -> ListenerRegistration
  {
    let registration = ends.add(notify)
    if let end { notify(end) }
    return registration
  }

  /// Disconnects, and returns when the connection has ended.
  public func disconnect() async {
    if end == nil { central.manager.cancelPeripheralConnection(peripheral) }
    _ = await waitForDisconnection()
  }

  /// Waits until the connection has ended, and returns the reason.
  public func waitForDisconnection() async -> BluetoothError {
    do throws(BluetoothError) {
      return try await result { done in observeEnd { done(.success($0)) } }
    } catch {
      return error
    }
  }

  /// Makes a request over this connection.
  private func perform<Value: Sendable>(
    _ request: PeripheralRequest<Value>
  ) async throws(BluetoothError) -> Value {
    if let end { throw end }
    return try await result { done in peripheral.perform(request, done) }
  }

  // MARK: Discovering

  /// Discovers the services with these UUIDs, or all if nil, and returns those that were found.
  @discardableResult
  public func discoverServices(
    _ uuids: [CBUUID]? = nil
  ) async throws(BluetoothError) -> [CBService] {
    try await perform(.services(uuids))
  }

  /// Discovers the services that a service includes.
  @discardableResult
  public func discoverIncludedServices(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) async throws(BluetoothError) -> [CBService] {
    try await perform(.includedServices(uuids, of: service))
  }

  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
  @discardableResult
  public func discoverCharacteristics(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) async throws(BluetoothError) -> [CBCharacteristic] {
    try await perform(.characteristics(uuids, of: service))
  }

  /// Discovers the descriptors of a characteristic.
  @discardableResult
  public func discoverDescriptors(
    for characteristic: CBCharacteristic
  ) async throws(BluetoothError) -> [CBDescriptor] {
    try await perform(.descriptors(of: characteristic))
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
    AsyncStream(bufferMax: Limits.statesMax) { notify in
      let registration = peripheral.observeModifiedServices { notify(.value($0)) }
      registration.add(observeEnd { _ in notify(.completed) })
      return registration
    }
  }

  // MARK: Values

  /// Reads a whole value. While notifications are enabled, a notified value may be returned.
  public func read(_ characteristic: CBCharacteristic) async throws(BluetoothError) -> Data {
    try await perform(.read(characteristic))
  }

  /// Reads a descriptor. The value is then in its `value` property.
  public func read(_ descriptor: CBDescriptor) async throws(BluetoothError) {
    _ = try await perform(.read(descriptor))
  }

  /// Writes a value. A write without response waits until there is space to send it, after those
  /// that were started before.
  public func write(
    _ data: Data, to characteristic: CBCharacteristic,
    type: CBCharacteristicWriteType = .withResponse
  ) async throws(BluetoothError) {
    switch type {
    case .withResponse: try await perform(.write(data, to: characteristic))
    case .withoutResponse:
      if let end { throw end }
      try await result { done in
        peripheral.writeWithoutResponse(data, to: characteristic, done)
      }
    }
  }

  /// Writes a descriptor.
  public func write(_ data: Data, to descriptor: CBDescriptor) async throws(BluetoothError) {
    try await perform(.write(data, to: descriptor))
  }

  /// Emits notified and indicated values. Notifications are enabled while the sequence is iterated.
  /// It throws a `BluetoothError` if the subscription is refused, the connection ends, the
  /// peripheral removes the characteristic's service, or the host has dropped values.
  public func values(of characteristic: CBCharacteristic) -> AsyncThrowingStream<Data, any Error> {
    AsyncThrowingStream(bufferMax: Limits.valuesMax) { notify in
      if let end {
        notify(.failed(end))
        return ListenerRegistration()
      }
      return peripheral.observeValues(of: characteristic, notify)
    }
  }

  /// Reads the RSSI of the link, in dBm.
  public func readRSSI() async throws(BluetoothError) -> Int {
    try await perform(.rssi)
  }

  /// Opens an L2CAP channel to a PSM of the peripheral.
  public func openChannel(psm: CBL2CAPPSM) async throws(BluetoothError) -> CBL2CAPChannel {
    try await perform(.channel(psm: psm))
  }
}

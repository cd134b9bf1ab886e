public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive
internal import RunLoopSupport

extension CBPeripheral: ReactiveExtensionsProvider {}

// Requests are made at each start, and answered on the manager's queue. They fail with
// `.disconnected` where the peripheral is not connected and when the connection ends; its error is
// that of the connection if a run of `connection(to:options:)` made it, else nil where this side
// cancelled it and `.peripheralDisconnected` where it didn't. A run that is disposed of before the
// answer comes releases everything but the peripheral, which it retains until then: the answer must
// not be taken for that to the next request.
extension Reactive where Base: CBPeripheral {
  /// Sends the current state of the connection and each change.
  public var states: SignalProducer<CBPeripheralState, Never> { producer(for: \.state) }

  /// Sends the current name and each change.
  public var names: SignalProducer<String?, Never> { producer(for: \.name) }

  /// Sends the services that the peripheral has removed or changed. Discover those that the app
  /// needs again.
  public var modifiedServices: SignalProducer<[CBService], Never> {
    let peripheral: CBPeripheral = base
    return SignalProducer(listening: { notify in
      peripheral.observeModifiedServices { notify(.value($0)) }
    })
  }

  // MARK: Discovering

  /// Discovers the services with these UUIDs, or all if nil, and sends those that were found.
  public func discoverServices(
    _ uuids: [CBUUID]? = nil
  ) -> SignalProducer<[CBService], BluetoothError> {
    perform(.services(uuids))
  }

  /// Discovers the included services of a service with these UUIDs, or all if nil.
  public func discoverIncludedServices(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) -> SignalProducer<[CBService], BluetoothError> {
    perform(.includedServices(uuids, of: service))
  }

  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
  public func discoverCharacteristics(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) -> SignalProducer<[CBCharacteristic], BluetoothError> {
    perform(.characteristics(uuids, of: service))
  }

  /// Discovers the descriptors of a characteristic.
  public func discoverDescriptors(
    for characteristic: CBCharacteristic
  ) -> SignalProducer<[CBDescriptor], BluetoothError> {
    perform(.descriptors(of: characteristic))
  }

  /// Discovers one service and one of its characteristics, and sends the characteristic. Fails with
  /// `.notFound` if the peripheral lacks the service or the characteristic.
  public func characteristic(
    _ uuid: CBUUID, of serviceUUID: CBUUID
  ) -> SignalProducer<CBCharacteristic, BluetoothError> {
    let peripheral: CBPeripheral = base
    return discoverServices([serviceUUID])
      .attemptMap { Result($0.first, orThrow: .notFound(serviceUUID)) }
      .flatMap(.latest) { peripheral.reactive.discoverCharacteristics([uuid], for: $0) }
      .attemptMap { Result($0.first, orThrow: .notFound(uuid)) }
  }

  // MARK: Values

  /// Reads a whole value. While notifications are enabled, a notified value may be sent.
  public func read(_ characteristic: CBCharacteristic) -> SignalProducer<Data, BluetoothError> {
    perform(.read(characteristic))
  }

  /// Reads a descriptor, and sends it. The value is in its `value` property.
  public func read(_ descriptor: CBDescriptor) -> SignalProducer<CBDescriptor, BluetoothError> {
    perform(.read(descriptor))
  }

  /// Writes a value. Completes when the peripheral has acknowledged it or, for a write without
  /// response, when there was space to send it. Writes without response that wait for space are
  /// sent in the order in which they were started; those that are disposed of before are dropped.
  public func write(
    _ data: Data, to characteristic: CBCharacteristic,
    type: CBCharacteristicWriteType = .withResponse
  ) -> SignalProducer<Never, BluetoothError> {
    let peripheral: CBPeripheral = base
    return SignalProducer(requesting: { done in
      switch type {
      case .withoutResponse: peripheral.writeWithoutResponse(data, to: characteristic, done)
      case .withResponse: peripheral.perform(.write(data, to: characteristic), done)
      }
    })
  }

  /// Writes a descriptor, and completes when the peripheral has acknowledged it.
  public func write(
    _ data: Data, to descriptor: CBDescriptor
  ) -> SignalProducer<Never, BluetoothError> {
    let peripheral: CBPeripheral = base
    return SignalProducer(requesting: { done in
      peripheral.perform(.write(data, to: descriptor), done)
    })
  }

  /// Sends a value when there is space for writes without response: at once if there is space, and
  /// each time that space becomes available again.
  public var writeReadiness: SignalProducer<Void, Never> {
    let peripheral: CBPeripheral = base
    return SignalProducer(listening: { notify in
      peripheral.observeWriteReadiness { notify(.value(())) }
    })
  }

  /// Sends notified and indicated values. The first run for a characteristic enables notifications,
  /// and the end of the last run disables them.
  ///
  /// Values that are read during a run are sent, too, as Core Bluetooth reports them the same way.
  ///
  /// - Returns: A producer that completes when the connection is ended locally. It fails when the
  ///   connection is lost; when the peripheral refuses; with `.notFound` when the peripheral
  ///   removes the service; and with `.refused` when values were lost because the manager's queue
  ///   was blocked for too long, and the controller could not apply flow control.
  public func values(
    of characteristic: CBCharacteristic
  ) -> SignalProducer<Data, BluetoothError> {
    let peripheral: CBPeripheral = base
    return SignalProducer(listening: { notify in
      peripheral.observeValues(of: characteristic, notify)
    })
  }

  /// Reads the RSSI of the link, in dBm.
  public func readRSSI() -> SignalProducer<Int, BluetoothError> {
    perform(.rssi)
  }

  /// Opens an L2CAP channel to a PSM of the peripheral.
  public func openChannel(psm: CBL2CAPPSM) -> SignalProducer<CBL2CAPChannel, BluetoothError> {
    perform(.channel(psm: psm))
  }

  private func perform<Value: Sendable>(
    _ request: PeripheralRequest<Value>
  ) -> SignalProducer<Value, BluetoothError> {
    let peripheral: CBPeripheral = base
    return SignalProducer(requesting: { done in peripheral.perform(request, done) })
  }
}

extension Result where Failure == BluetoothError {
  /// The value if there is one.
  fileprivate init(_ value: Success?, orThrow error: BluetoothError) {
    self = value.map { .success($0) } ?? .failure(error)
  }
}

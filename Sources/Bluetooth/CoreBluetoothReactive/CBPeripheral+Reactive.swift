public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive

extension CBPeripheral: ReactiveExtensionsProvider {}

// Requests are made at each start, and answered on the manager's queue. They fail with
// `.disconnected` where the peripheral is not connected and when the connection ends; its error is
// that of the connection if a run of `connection(to:options:)` made it, else nil where this side
// cancelled it and `.peripheralDisconnected` where it didn't. A run that is disposed of before the
// answer comes lets go of everything but the peripheral, which it holds until then: the answer must
// not be taken for that to the next request.
extension Reactive where Base: CBPeripheral {
  /// Sends the current state of the connection and each change.
  public var states: SignalProducer<CBPeripheralState, Never> { producer(for: \.state) }

  /// Sends the current name and each change.
  public var names: SignalProducer<String?, Never> { producer(for: \.name) }

  /// Sends the services that the peripheral has removed or changed. Discover those that the app
  /// needs again.
  public var modifiedServices: SignalProducer<[CBService], Never> {
    PeripheralProxy.all.producer(of: base) { proxy, notify in
      proxy.events.observeValues {
        if case .modifiedServices(let services) = $0 { notify(.value(services)) }
      }
    }
  }

  // MARK: Discovering

  /// Discovers the services with these UUIDs, or all if nil, and sends those that were found.
  public func discoverServices(
    _ uuids: [CBUUID]? = nil
  ) -> SignalProducer<[CBService], BluetoothError> {
    request(.services) {
      $0.discoverServices(uuids)
    } value: {
      ($0.services ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }

  /// Discovers the included services of a service with these UUIDs, or all if nil.
  public func discoverIncludedServices(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) -> SignalProducer<[CBService], BluetoothError> {
    request(.includedServices(service)) {
      $0.discoverIncludedServices(uuids, for: service)
    } value: { _ in
      (service.includedServices ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }

  /// Discovers the characteristics of a service with these UUIDs, or all if nil.
  public func discoverCharacteristics(
    _ uuids: [CBUUID]? = nil, for service: CBService
  ) -> SignalProducer<[CBCharacteristic], BluetoothError> {
    request(.characteristics(service)) {
      $0.discoverCharacteristics(uuids, for: service)
    } value: { _ in
      (service.characteristics ?? []).filter { uuids?.contains($0.uuid) ?? true }
    }
  }

  /// Discovers the descriptors of a characteristic.
  public func discoverDescriptors(
    for characteristic: CBCharacteristic
  ) -> SignalProducer<[CBDescriptor], BluetoothError> {
    request(.descriptors(characteristic)) {
      $0.discoverDescriptors(for: characteristic)
    } value: { _ in
      characteristic.descriptors ?? []
    }
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
    request(.read(characteristic)) {
      $0.readValue(for: characteristic)
    } value: { _ in
      characteristic.value ?? Data()
    }
  }

  /// Reads a descriptor, and sends it. The value is in its `value` property.
  public func read(_ descriptor: CBDescriptor) -> SignalProducer<CBDescriptor, BluetoothError> {
    request(.readDescriptor(descriptor)) {
      $0.readValue(for: descriptor)
    } value: { _ in
      descriptor
    }
  }

  /// Writes a value. Completes when the peripheral has acknowledged it or, for a write without
  /// response, when there was space to send it. Writes without response that wait for space are
  /// sent in the order in which they were started; those that are disposed of before are dropped.
  public func write(
    _ data: Data, to characteristic: CBCharacteristic,
    type: CBCharacteristicWriteType = .withResponse
  ) -> SignalProducer<Never, BluetoothError> {
    switch type {
    case .withoutResponse: writeWithoutResponse(data, to: characteristic)
    case .withResponse:
      request(.write(characteristic)) {
        $0.writeValue(data, for: characteristic, type: .withResponse)
      }
    }
  }

  /// Writes a descriptor, and completes when the peripheral has acknowledged it.
  public func write(_ data: Data, to descriptor: CBDescriptor) -> SignalProducer<
    Never, BluetoothError
  > {
    request(.writeDescriptor(descriptor)) { $0.writeValue(data, for: descriptor) }
  }

  /// Sends a value when there is space for writes without response: at once if there is space, and
  /// each time that space becomes available again.
  public var writeReadiness: SignalProducer<Void, Never> {
    let peripheral: CBPeripheral = base
    return PeripheralProxy.all.producer(of: peripheral) { proxy, notify in
      let observation = proxy.events.observeValues {
        if case .readyToWrite = $0 { notify(.value(())) }
      }
      if peripheral.canSendWriteWithoutResponse { notify(.value(())) }
      return observation
    }
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
    return PeripheralProxy.all.producer(of: peripheral) { proxy, notify in
      let connection = peripheral.connectionNumber ?? -1
      let observation = proxy.events.observeValues { event in
        switch event {
        case .value(characteristic, let value): notify(.value(value))
        case .valuesLost(characteristic, let error), .notNotifying(characteristic, let error):
          notify(.failed(error))
        case .modifiedServices(let services):
          if services.contains(where: { $0 === characteristic.service }) {
            notify(.failed(.notFound(characteristic.uuid)))
          }
        case .ended(let first, let error):
          if connection < first {
            notify(error == .disconnected(nil) ? .completed : .failed(error))
          }
        default: break
        }
      }
      let subscription = proxy.subscribe(to: characteristic, of: peripheral)
      if peripheral.connectionNumber != connection { notify(.failed(.disconnected(nil))) }
      return AnyDisposable {
        observation?.dispose()
        subscription.dispose()
      }
    }
  }

  /// Reads the RSSI of the link, in dBm.
  public func readRSSI() -> SignalProducer<Int, BluetoothError> {
    request(.rssi, { $0.readRSSI() }) { _, answer in
      if case .rssi(let value) = answer { value } else { nil }
    }
  }

  /// Opens an L2CAP channel to a PSM of the peripheral.
  public func openChannel(psm: CBL2CAPPSM) -> SignalProducer<CBL2CAPChannel, BluetoothError> {
    request(.channel, { $0.openL2CAPChannel(psm) }) { _, answer in
      if case .channel(let channel) = answer { channel } else { nil }
    }
  }

  // MARK: How

  private func writeWithoutResponse(
    _ data: Data, to characteristic: CBCharacteristic
  ) -> SignalProducer<Never, BluetoothError> {
    let peripheral: CBPeripheral = base
    return PeripheralProxy.all.producer(of: peripheral) { proxy, notify in
      let number = proxy.writes.add(over: peripheral.firstConnectionNotOver) {
        // Core Bluetooth drops such writes.
        if let refusal = peripheral.refusal(ofWriting: data, to: characteristic) {
          return .failed(refusal)
        }
        guard peripheral.canSendWriteWithoutResponse else { return .full }
        peripheral.writeValue(data, for: characteristic, type: .withoutResponse)
        return .sent
      } done: {
        notify($0.map { .failed($0) } ?? .completed)
      }
      return AnyDisposable { proxy.writes.remove(number) }
    }
  }

  /// A request whose answer is what the peripheral then knows.
  private func request<Value: Sendable>(
    _ kind: Requests.Kind, _ ask: @escaping @Sendable (CBPeripheral) -> Void,
    value: @escaping @Sendable (CBPeripheral) -> Value
  ) -> SignalProducer<Value, BluetoothError> {
    request(kind, ask) { peripheral, _ in value(peripheral) }
  }

  /// A request whose answer is that it was done.
  private func request(
    _ kind: Requests.Kind, _ ask: @escaping @Sendable (CBPeripheral) -> Void
  ) -> SignalProducer<Never, BluetoothError> {
    request(kind, ask) { _, _ in nil }
  }

  private func request<Value: Sendable>(
    _ kind: Requests.Kind, _ ask: @escaping @Sendable (CBPeripheral) -> Void,
    value: @escaping @Sendable (CBPeripheral, Requests.Answer) -> Value?
  ) -> SignalProducer<Value, BluetoothError> {
    let peripheral: CBPeripheral = base
    return SignalProducer(registering: { notify in
      let proxy = PeripheralProxy.all.retain(for: peripheral)
      let held = RequestObserver(notify)
      // Called once in any case, which is when the proxy is not needed any more.
      let number = proxy.requests.make(kind, of: peripheral, { ask(peripheral) }) { result in
        held.send(result.map { value(peripheral, $0) })
        PeripheralProxy.all.release(for: peripheral)
      }
      return AnyDisposable { [weak proxy] in
        held.cancel()
        proxy?.requests.cancel(number)
      }
    })
  }
}

extension Result where Failure == BluetoothError {
  /// The value if there is one.
  fileprivate init(_ value: Success?, orThrow error: BluetoothError) {
    self = value.map { .success($0) } ?? .failure(error)
  }
}

extension CBPeripheral {
  /// Why a write without response can't be made; nil if it can.
  fileprivate func refusal(
    ofWriting data: Data, to characteristic: CBCharacteristic
  ) -> BluetoothError? {
    guard state == .connected else { return .disconnected(nil) }
    guard hasDiscovered(characteristic) else { return .notFound(characteristic.uuid) }
    guard characteristic.properties.contains(.writeWithoutResponse) else {
      return BluetoothError(CBATTError(.requestNotSupported))
    }
    guard data.count <= maximumWriteValueLength(for: .withoutResponse) else {
      return BluetoothError(CBATTError(.invalidAttributeValueLength))
    }
    return nil
  }
}

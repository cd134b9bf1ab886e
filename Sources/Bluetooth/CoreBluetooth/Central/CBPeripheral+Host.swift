internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

// How a peripheral's commands reach the host and how its replies are delivered.

extension Result<HostReply, HostError> {
  /// The error for the app's delegate; nil for a success.
  var error: (any Error)? {
    switch self {
    case .success: nil
    case .failure(let error): error.coreBluetoothError
    }
  }
}

extension CBPeripheral {
  /// Called with the host's reply.
  typealias Completion = @Sendable (CBPeripheral, Result<HostReply, HostError>) -> Void
  /// Reports an error to the delegate.
  typealias Refusal = @Sendable (any CBPeripheralDelegate, CBPeripheral, any Error) -> Void

  func withRecord<Value>(_ body: (inout PeripheralRecord) -> Value) -> Value {
    session.lock.withLock { body(&record) }
  }

  /// Returns whether the peripheral is connected; if not, logs the command as a misuse.
  func isReady(_ command: String) -> Bool {
    let isReady = state == .connected
    if !isReady { Misuse.report(Self.misuse(of: command)) }
    return isReady
  }

  private static func misuse(of command: String) -> String {
    "CBPeripheral takes \(command) while it is connected only"
  }

  /// Sends a request. The completion is called on the queue, unless the link ended before or the
  /// app released the peripheral.
  func request(_ make: (RequestToken) -> HostRequest, then: @escaping Completion) {
    let count = withRecord { $0.connectionCount }
    session.connection.request(make) { [weak self] result in
      guard let self, withRecord({ $0.connectionCount == count }) else { return }
      then(self, result)
    }
  }

  /// Runs a GATT procedure on the peripheral.
  func perform(_ operation: GATTOperation, then: @escaping Completion) {
    request({ [address] in .gatt(address, operation, $0) }, then: then)
  }

  /// Stores a reply under the lock; returns the error for the delegate.
  func storeReply(
    _ result: Result<HostReply, HostError>, _ store: (inout PeripheralRecord, HostReply) -> Bool
  ) -> (any Error)? {
    guard case .success(let reply) = result else { return result.error }
    return withRecord { store(&$0, reply) } ? nil : CBError(.unknown)
  }

  /// Reports an error to the delegate, asynchronously on the queue.
  func refuse(_ error: any Error = CBError(.invalidHandle), _ notify: @escaping Refusal) {
    session.connection.enqueue { [weak self] in
      guard let self, let delegate = receiver else { return }
      notify(delegate, self, error)
    }
  }

  func makeService(_ remote: RemoteService) -> CBService {
    CBService(
      uuid: CBUUID(remote.uuid), isPrimary: remote.isPrimary, range: remote.range,
      peripheral: self, lock: session.lock)
  }

  // The handles of an attribute of this peripheral, or nil if the attribute is no longer valid.

  // Apps may pass attributes of other peripherals, which other locks guard.

  func range(of service: CBService) -> HandleRange? {
    let range = service.lock.withLock { service.range }
    return withRecord { $0.servicesByHandle[range.start] === service ? range : nil }
  }

  func handles(of characteristic: CBCharacteristic) -> CharacteristicHandles? {
    let handles = characteristic.lock.withLock { characteristic.handles }
    return withRecord {
      $0.characteristicsByHandle[handles.value] === characteristic ? handles : nil
    }
  }

  /// Whether a characteristic was discovered on this connection and its service was not removed
  /// since.
  package func hasDiscovered(_ characteristic: CBCharacteristic) -> Bool {
    handles(of: characteristic) != nil
  }

  /// The number of the current connection; nil without one.
  package var connectionNumber: Int? {
    withRecord { $0.state == .connected ? $0.connectionCount : nil }
  }

  /// The number of the current connection or, without one, of the next. Connections with lower
  /// numbers have ended.
  package var firstConnectionNotOver: Int {
    withRecord { $0.state == .disconnecting ? $0.connectionCount + 1 : $0.connectionCount }
  }

  func handle(of descriptor: CBDescriptor) -> UInt16? {
    guard let characteristic = descriptor.characteristic, handles(of: characteristic) != nil
    else { return nil }
    return descriptor.lock.withLock { descriptor.handle }
  }

  // MARK: Writes without response

  /// Checks and counts the write while holding the lock once, as apps call this at a high rate.
  func writeWithoutResponse(_ data: Data, _ characteristic: CBCharacteristic) {
    var problem: String?
    let write: (handle: UInt16, isSigned: Bool, token: RequestToken)? = withRecord { record in
      guard record.state == .connected else {
        problem = Self.misuse(of: "writeValue")
        return nil
      }
      guard characteristic.lock === session.lock,
        case let handle = characteristic.handles.value,
        record.characteristicsByHandle[handle] === characteristic
      else {
        problem = "a write to a characteristic that is no longer valid is dropped"
        return nil
      }
      let properties = characteristic.propertiesStorage
      guard !properties.isDisjoint(with: [.writeWithoutResponse, .authenticatedSignedWrites])
      else {
        problem =
          "\(characteristic.uuid.uuidString) takes no writes without response: "
          + "the write is dropped"
        return nil
      }
      guard data.count <= record.writeWithoutResponseByteCountMax else {
        problem = "a write without response longer than fits in one PDU is dropped"
        return nil
      }
      if record.isWriteBlocked { return nil }
      record.writesOutstanding += 1
      record.isWriteBlocked = record.writesOutstanding >= Limits.writesWithoutResponseMax
      let isSigned = !properties.contains(.writeWithoutResponse)
      return (handle, isSigned, writeToken(&record))
    }
    if let problem { Misuse.report(problem) }
    guard let (handle, isSigned, token) = write else { return }
    let bytes = data.bytes(atMost: Limits.valueByteCountMax)
    let operation: GATTOperation =
      isSigned ? .signedWrite(handle, bytes) : .writeWithoutResponse(handle, bytes)
    session.connection.send(.gatt(address, operation, token))
  }

  /// The token that all writes without response of this connection share. Call with the lock.
  private func writeToken(_ record: inout PeripheralRecord) -> RequestToken {
    let count = record.connectionCount
    if let known = record.writeToken {
      if known.connectionCount == count { return known.value }
      session.connection.removeToken(known.value)
    }
    let token = session.connection.makeToken { [weak self] written, _ in
      self?.written(written, in: count)
    }
    record.writeToken = (token, count)
    return token
  }

  /// Called when this number of writes without response was sent or dropped.
  private func written(_ writeCount: Int, in connectionCount: Int) {
    let isFreeAgain = withRecord { record in
      guard record.connectionCount == connectionCount else { return false }
      record.writesOutstanding -= writeCount
      let half = Limits.writesWithoutResponseMax / 2
      guard record.isWriteBlocked, record.writesOutstanding <= half else { return false }
      record.isWriteBlocked = false
      return true
    }
    if isFreeAgain { receiver?.peripheralIsReady(toSendWriteWithoutResponse: self) }
  }

  // MARK: Subscriptions

  func findDescriptors(of characteristic: CBCharacteristic) {
    guard let handles = handles(of: characteristic) else {
      return refuse {
        $0.peripheral($1, didDiscoverDescriptorsFor: characteristic, error: $2)
      }
    }
    let range = HandleRange(after: handles.value, through: handles.end)
    perform(.discoverDescriptors(in: range)) { peripheral, result in
      let error = peripheral.storeReply(result) { _, reply in
        guard characteristic.isValid, case .descriptors(let found) = reply else { return false }
        characteristic.merge(found)
        return true
      }
      peripheral.receiver?.peripheral(
        peripheral, didDiscoverDescriptorsFor: characteristic, error: error)
    }
  }

  func subscribe(_ enabled: Bool, _ characteristic: CBCharacteristic) {
    guard let handles = handles(of: characteristic) else {
      return refuse {
        $0.peripheral($1, didUpdateNotificationStateFor: characteristic, error: $2)
      }
    }
    guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
      return refuse(CBATTError(.requestNotSupported)) {
        $0.peripheral($1, didUpdateNotificationStateFor: characteristic, error: $2)
      }
    }
    let target = SubscriptionTarget(
      valueHandle: handles.value, endHandle: handles.end,
      usesIndications: !characteristic.properties.contains(.notify))
    request({ [address] in
      enabled ? .subscribe(address, target, $0) : .unsubscribe(address, target, $0)
    }) { peripheral, result in
      if case .success = result {
        peripheral.withRecord { _ in characteristic.isNotifyingStorage = enabled }
      }
      peripheral.receiver?.peripheral(
        peripheral, didUpdateNotificationStateFor: characteristic, error: result.error)
    }
  }

  // MARK: Channels

  func openChannel(_ psm: UInt16) {
    let connection = session.connection
    let count = withRecord { $0.connectionCount }
    connection.request({ [address] in .openChannel(address, psm: psm, $0) }) {
      [weak self] result in
      var pipe: ChannelPipe?
      if case .success(.channel(let info)) = result { pipe = connection.pipe(of: info.id) }
      guard let self, withRecord({ $0.connectionCount == count }) else {
        pipe?.close()
        return
      }
      // The object closes the channel when the delegate does not keep it.
      let channel = pipe.map { CBL2CAPChannel(peer: self, pipe: $0) }
      let error = channel == nil ? result.error ?? CBError(.peripheralDisconnected) : nil
      receiver?.peripheral(self, didOpen: channel, error: error)
    }
  }

  // MARK: Events, on the queue

  /// Called in the order of the notifications when some were dropped at this point.
  func valuesDropped(_ handle: UInt16, _ count: Int) {
    guard let characteristic = withRecord({ $0.characteristicsByHandle[handle] }) else { return }
    receiver?.peripheral(
      self, didUpdateValueFor: characteristic, error: CBError.notificationsDropped(count))
  }

  func servicesChanged(_ range: HandleRange) {
    let gone = withRecord { record -> [CBService]? in
      guard record.state == .connected else { return nil }
      let gone = record.servicesByHandle.values.filter {
        $0.range.start <= range.end && range.start <= $0.range.end
      }
      record.invalidate(gone)
      return gone.sorted { $0.range.start < $1.range.start }
    }
    if let gone { receiver?.peripheral(self, didModifyServices: gone) }
  }

  func linkChanged(_ link: LinkInfo) {
    let (isRenamed, isConnected) = withRecord { record in
      record.mtu = max(Limits.mtuMin, link.mtu)
      let name = record.name
      record.deviceName = link.name ?? record.deviceName
      return (record.name != name, record.state == .connected)
    }
    guard isRenamed else { return }
    keyValueObservers.propertiesMayHaveChanged()
    if isConnected { receiver?.peripheralDidUpdateName(self) }
  }
}

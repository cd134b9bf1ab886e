package import CoreBluetooth
package import RunLoopSupport
internal import Synchronization

// The registrations behind sequences, functions and producers. Results are reported on the
// manager's queue, or by the calling thread, before the call returns.
//
// Requests fail with `.disconnected` where the peripheral is not connected and when the connection
// ends; its error is that of the connection if `observeConnection(to:options:_:)` made it, else nil
// where this side cancelled it and `.peripheralDisconnected` where it didn't. A request that is
// cancelled before the answer comes releases everything but the peripheral, which it retains until
// then: the answer must not be taken for that to the next request.
extension CBPeripheral {
  /// Makes a request, and reports its result once, unless the registration is cancelled before.
  package func perform<Value: Sendable>(
    _ request: PeripheralRequest<Value>,
    _ done: @escaping @Sendable (Result<Value, BluetoothError>) -> Void
  ) -> ListenerRegistration {
    let listener = PeripheralListener.all.retain(for: self)
    let observer = ResultObserver(done)
    // Called once in any case, which is when the listener is not needed any more.
    let number = listener.requests.make(request.kind, of: self, { request.start(self) }) { result in
      observer.send(
        result.flatMap { answer in
          request.value(self, answer).map { .success($0) } ?? .failure(.refused(CBError(.unknown)))
        })
      PeripheralListener.all.release(for: self)
    }
    return ListenerRegistration { [weak listener] in
      observer.cancel()
      listener?.requests.cancel(number)
    }
  }

  /// Writes a value without response as soon as there is space, after those that wait already, and
  /// reports when the value was sent, or the error. Cancelling the registration drops the value if
  /// it was not sent.
  package func writeWithoutResponse(
    _ data: Data, to characteristic: CBCharacteristic,
    _ done: @escaping @Sendable (Result<Void, BluetoothError>) -> Void
  ) -> ListenerRegistration {
    PeripheralListener.all.registration(for: self) { listener in
      let number = listener.writes.add(over: firstConnectionNotOver) {
        // Core Bluetooth drops such writes.
        if let refusal = self.refusal(ofWriting: data, to: characteristic) {
          return .failed(refusal)
        }
        guard self.canSendWriteWithoutResponse else { return .full }
        self.writeValue(data, for: characteristic, type: .withoutResponse)
        return .sent
      } done: { error in
        done(error.map { .failure($0) } ?? .success(()))
      }
      return ListenerRegistration { listener.writes.remove(number) }
    }
  }

  /// Why a write without response can't be made; nil if it can.
  private func refusal(
    ofWriting data: Data, to characteristic: CBCharacteristic
  ) -> BluetoothError? {
    guard state == .connected else { return .disconnected(nil) }
    guard hasDiscovered(characteristic) else { return .notFound(characteristic.uuid) }
    let properties = characteristic.properties
    guard !properties.isDisjoint(with: [.writeWithoutResponse, .authenticatedSignedWrites]) else {
      return BluetoothError(CBATTError(.requestNotSupported))
    }
    guard data.count <= maximumWriteValueLength(for: .withoutResponse) else {
      return BluetoothError(CBATTError(.invalidAttributeValueLength))
    }
    return nil
  }

  /// Enables notifications of a characteristic, and reports its values, also those that are read.
  /// On a restored connection the first registration begins with those that came meanwhile.
  ///
  /// Completes when the connection is ended locally. Fails when the connection is lost; when the
  /// peripheral refuses; with `.notFound` when the peripheral removes the service; and with
  /// `.refused` when the host has dropped values.
  package func observeValues(
    of characteristic: CBCharacteristic,
    _ notify: @escaping @Sendable (ListenerEvent<Data, BluetoothError>) -> Void
  ) -> ListenerRegistration {
    PeripheralListener.all.registration(for: self) { listener in
      let connection = connectionNumber ?? -1
      let values = ValuesInOrder { notify(.value($0)) }
      let registration = listener.events.add { event in
        switch event {
        case .value(characteristic, let value): values.send(value)
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
      values.start(with: listener.held.take(characteristic))
      registration.add(listener.subscribe(to: characteristic, of: self))
      if connectionNumber != connection { notify(.failed(.disconnected(nil))) }
      return registration
    }
  }

  /// Reports when there is space for writes without response: now if there is, and each time that
  /// it becomes available again.
  package func observeWriteReadiness(_ notify: @escaping @Sendable () -> Void)
    -> ListenerRegistration
  {
    PeripheralListener.all.registration(for: self) { listener in
      let registration = listener.events.add { if case .readyToWrite = $0 { notify() } }
      if canSendWriteWithoutResponse { notify() }
      return registration
    }
  }

  /// Reports the services that the peripheral has removed or changed.
  package func observeModifiedServices(
    _ notify: @escaping @Sendable ([CBService]) -> Void
  ) -> ListenerRegistration {
    PeripheralListener.all.registration(for: self) { listener in
      listener.events.add { event in
        if case .modifiedServices(let services) = event { notify(services) }
      }
    }
  }
}

/// Forwards one result, unless it was cancelled before.
package final class ResultObserver<Value: Sendable>: Sendable {
  package typealias Done = @Sendable (Result<Value, BluetoothError>) -> Void

  private let done: Mutex<Done?>

  package init(_ done: @escaping Done) { self.done = Mutex(done) }

  /// Releases the closure.
  package func cancel() { _ = take() }

  package func send(_ result: Result<Value, BluetoothError>) { take()?(result) }

  private func take() -> Done? {
    done.withLock { done in
      defer { done = nil }
      return done
    }
  }
}

internal import CoreBluetoothAsync
internal import Reactive
internal import RunLoopSupport

extension SignalProducer where Value: Sendable {
  /// A producer of the events of a registration, which each run makes and cancels.
  init(
    listening register:
      @escaping @Sendable (
        _ notify: @escaping @Sendable (ListenerEvent<Value, Error>) -> Void
      ) -> ListenerRegistration?
  ) {
    self.init(registering: { notify in
      let registration = register { event in
        switch event {
        case .value(let value): notify(.value(value))
        case .completed: notify(.completed)
        case .failed(let error): notify(.failed(error))
        }
      }
      return registration.map { registration in AnyDisposable { registration.cancel() } }
    })
  }
}

extension DelegateListeners {
  /// A producer whose runs use the owner's listener.
  func producer<Value: Sendable, Failure: Error>(
    of owner: Listener.Owner,
    _ register:
      @escaping @Sendable (
        _ listener: Listener, _ notify: @escaping @Sendable (ListenerEvent<Value, Failure>) -> Void
      ) -> ListenerRegistration?
  ) -> SignalProducer<Value, Failure> {
    SignalProducer(listening: { notify in
      self.registration(for: owner) { register($0, notify) }
    })
  }
}

extension SignalProducer where Value: Sendable, Error == BluetoothError {
  /// A producer that makes a request at each start, and sends its result.
  init(
    requesting start:
      @escaping @Sendable (@escaping @Sendable (Result<Value, BluetoothError>) -> Void) ->
      ListenerRegistration
  ) {
    self.init(listening: { notify in
      start { result in
        switch result {
        case .success(let value):
          notify(.value(value))
          notify(.completed)
        case .failure(let error): notify(.failed(error))
        }
      }
    })
  }
}

extension SignalProducer where Value == Never, Error == BluetoothError {
  /// A producer that makes a request at each start, and completes when it was successful.
  init(
    requesting start:
      @escaping @Sendable (@escaping @Sendable (Result<Void, BluetoothError>) -> Void) ->
      ListenerRegistration
  ) {
    self.init(listening: { notify in
      start { result in
        switch result {
        case .success: notify(.completed)
        case .failure(let error): notify(.failed(error))
        }
      }
    })
  }
}

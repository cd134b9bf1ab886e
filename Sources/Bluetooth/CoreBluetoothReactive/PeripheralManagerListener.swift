internal import CoreBluetooth
internal import CoreBluetoothAsync
internal import RunLoopSupport
internal import Synchronization

/// A call of a peripheral manager's delegate.
enum PeripheralManagerEvent: Sendable {
  case stateChanged(CBManagerState)
  case advertisingStarted((any Error)?)
  case serviceAdded(CBService, (any Error)?)
  case subscribed(CBCentral, CBCharacteristic)
  case unsubscribed(CBCentral, CBCharacteristic)
  case readyToUpdate
  case channelOpened(CBL2CAPChannel)
}

/// The delegate of a peripheral manager for all producers.
final class PeripheralManagerListener: NSObject, CBPeripheralManagerDelegate, DelegateListener,
  Sendable
{
  static let all = DelegateListeners<PeripheralManagerListener>()

  private enum Only { case advertising }

  let events = EventObservers<PeripheralManagerEvent>()
  /// Requests are answered once: by their observers or, without observers, by the delegate.
  let reads = ObservedRequests<CBATTRequest>()
  let writes = ObservedRequests<[CBATTRequest]>()
  let updates = RoomQueue()
  let channelPublications = ChannelPublications()
  /// The services that are being published, each by one run: the answer doesn't identify the run.
  private let publishing = Mutex<Set<CBMutableService>>([])
  let restoration = RestoredState<PeripheralManagerRestoration>()
  private let advertisements = Demands<Only, [String: any Sendable]>()

  func attach(to manager: CBPeripheralManager) { manager.delegateProxy = self }

  func detach(from manager: CBPeripheralManager) {
    if manager.delegateProxy === self { manager.delegateProxy = nil }
  }

  // MARK: Requests of runs

  /// Records that a run publishes a service; false if another run is publishing it.
  func beginPublishing(_ service: CBMutableService) -> Bool {
    publishing.withLock { $0.insert(service).inserted }
  }

  /// Records that the answer has come, or that the run does not wait for it any more.
  func endPublishing(_ service: CBMutableService) {
    _ = publishing.withLock { $0.remove(service) }
  }

  func advertise(
    _ data: [String: any Sendable], with manager: CBPeripheralManager
  ) -> ListenerRegistration {
    advertisements.add(data, for: .advertising) {
      PeripheralManagerListener.advertise($0, with: manager)
    }
  }

  /// Advertises the data of the latest run.
  private static func advertise(
    _ demands: [[String: any Sendable]], with manager: CBPeripheralManager
  ) {
    guard manager.state == .poweredOn else { return }
    manager.stopAdvertising()
    if let data = demands.last { manager.startAdvertising(data) }
  }

  // MARK: CBPeripheralManagerDelegate

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    manager.delegate?.peripheralManagerDidUpdateState(manager)
    // Advertising ended with the radio.
    if manager.state == .poweredOn {
      advertisements.reapply(.advertising) {
        PeripheralManagerListener.advertise($0, with: manager)
      }
    }
    events.send(.stateChanged(manager.state))
  }

  func peripheralManager(_ manager: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    manager.delegate?.peripheralManager(manager, willRestoreState: dict)
    restoration.send(PeripheralManagerRestoration(dict))
  }

  func peripheralManagerDidStartAdvertising(_ manager: CBPeripheralManager, error: (any Error)?) {
    manager.delegate?.peripheralManagerDidStartAdvertising(manager, error: error)
    events.send(.advertisingStarted(error))
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    manager.delegate?.peripheralManager(manager, didAdd: service, error: error)
    events.send(.serviceAdded(service, error))
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    manager.delegate?.peripheralManager(manager, central: central, didSubscribeTo: characteristic)
    events.send(.subscribed(central, characteristic))
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    manager.delegate?.peripheralManager(
      manager, central: central, didUnsubscribeFrom: characteristic)
    events.send(.unsubscribed(central, characteristic))
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    if reads.send(request) { return }
    if let delegate = manager.delegate {
      return delegate.peripheralManager(manager, didReceiveRead: request)
    }
    manager.respond(to: request, withResult: .requestNotSupported)
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    if writes.send(requests) { return }
    if let delegate = manager.delegate {
      return delegate.peripheralManager(manager, didReceiveWrite: requests)
    }
    if let first = requests.first {
      manager.respond(to: first, withResult: .requestNotSupported)
    }
  }

  func peripheralManagerIsReady(toUpdateSubscribers manager: CBPeripheralManager) {
    manager.delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager)
    updates.sendWaiting()
    events.send(.readyToUpdate)
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
  ) {
    manager.delegate?.peripheralManager(manager, didPublishL2CAPChannel: PSM, error: error)
    channelPublications.answer(
      error.map { .failure(BluetoothError($0)) } ?? .success(PSM), of: manager)
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
  ) {
    manager.delegate?.peripheralManager(manager, didUnpublishL2CAPChannel: PSM, error: error)
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    manager.delegate?.peripheralManager(manager, didOpen: channel, error: error)
    if let channel { events.send(.channelOpened(channel)) }
  }
}

/// Requests of centrals, for the observers that answer them.
final class ObservedRequests<Request: Sendable>: Sendable {
  private let observers = EventObservers<Request>()
  private let observerCount = Mutex(0)

  /// Observes the requests from now on.
  func observe(_ action: @escaping @Sendable (Request) -> Void) -> ListenerRegistration {
    let registration = observers.add(action)
    observerCount.withLock { $0 += 1 }
    registration.add { [self] in observerCount.withLock { $0 -= 1 } }
    return registration
  }

  /// Sends a request; false if there is no observer.
  func send(_ request: Request) -> Bool {
    guard observerCount.withLock({ $0 }) > 0 else { return false }
    observers.send(request)
    return true
  }
}

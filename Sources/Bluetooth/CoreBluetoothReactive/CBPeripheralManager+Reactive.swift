public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive
internal import RunLoopSupport
internal import Synchronization

/// The start or end of a central's subscription to a characteristic.
public struct SubscriptionChange: Sendable {
  /// The central.
  public let central: CBCentral
  /// The characteristic.
  public let characteristic: CBCharacteristic
  /// Whether the central is subscribed now; false also when it has disconnected.
  public let isSubscribed: Bool
}

/// An event of a published L2CAP channel.
public enum ChannelPublicationEvent: Sendable {
  /// Centrals can open channels with this PSM from now on. The app has to publish it, for example
  /// in the value of a characteristic.
  case published(CBL2CAPPSM)
  /// A central has opened a channel.
  case opened(CBL2CAPChannel)
}

// Values are sent on the manager's queue.
extension Reactive where Base: CBPeripheralManager {
  /// Sends the state that the manager has of an earlier process of the app, once and before all other values, or
  /// nothing.
  ///
  /// A manager without a delegate waits for the first run of any producer; one with a delegate doesn't wait. Later
  /// runs get the state, too, as long as any run of the manager lasts.
  public var restoration: SignalProducer<PeripheralManagerRestoration, Never> {
    PeripheralManagerListener.all.producer(of: base) { listener, notify in
      listener.restoration.observe { notify(.value($0)) }
    }
  }

  /// Publishes a service while a run lasts.
  ///
  /// A run waits until the radio is on, publishes the service, and then sends it. The run continues
  /// when the radio is switched off.
  ///
  /// - Returns: A producer that does not complete. It fails with `.refused` when the service can't
  ///   be published, and with `.notAvailable` when the controller, and thus the service, is lost.
  public func publication(
    of service: CBMutableService
  ) -> SignalProducer<CBMutableService, BluetoothError> {
    let manager: CBPeripheralManager = base
    let publication = PeripheralManagerListener.all.producer(of: manager) {
      (listener, notify: @escaping Notify<CBMutableService>) in
      guard listener.beginPublishing(service) else {
        notify(.failed(.refused(CBError(.invalidParameters))))
        return nil
      }
      let isAdded = Mutex<Bool?>(nil)
      let registration = listener.events.add { event in
        switch event {
        case .serviceAdded(service, let error):
          // The first answer is to this run; others may publish it later, too.
          let isAnswer = isAdded.withLock { isAdded in
            defer { isAdded = isAdded ?? (error == nil) }
            return isAdded == nil
          }
          guard isAnswer else { return }
          listener.endPublishing(service)
          notify(error.map { .failed(BluetoothError($0)) } ?? .value(service))
        case .stateChanged(let state):
          if state.rawValue < CBManagerState.poweredOff.rawValue {
            notify(.failed(.notAvailable(state)))
          }
        default: break
        }
      }
      manager.add(service)
      if manager.state != .poweredOn { notify(.failed(.notAvailable(manager.state))) }
      registration.add {
        let answer = isAdded.withLock { $0 }
        if answer != false { manager.withdraw(service) }
        if answer == nil { listener.endPublishing(service) }
      }
      return registration
    }
    return whenPoweredOn.then(publication)
  }

  /// Advertises while a run lasts and the radio is on; resumes when the radio is switched on again.
  ///
  /// If there are several runs, the data of the latest is advertised.
  ///
  /// - Parameter data: The argument of `startAdvertising(_:)`: a local name and service UUIDs.
  /// - Returns: A producer that sends a value each time that advertising has started, and does not
  ///   complete. It fails with `.refused` when the radio refuses, and with `.notAvailable` when it
  ///   is unsupported or unauthorized.
  public func advertising(
    _ data: [String: any Sendable]
  ) -> SignalProducer<Void, BluetoothError> {
    let manager: CBPeripheralManager = base
    return PeripheralManagerListener.all.producer(of: manager) { listener, notify in
      let registration = listener.events.add { event in
        switch event {
        case .advertisingStarted(let error):
          notify(error.map { .failed(BluetoothError($0)) } ?? .value(()))
        case .stateChanged(let state):
          if state.isFinal { notify(.failed(.notAvailable(state))) }
        default: break
        }
      }
      registration.add(listener.advertise(data, with: manager))
      if manager.state.isFinal { notify(.failed(.notAvailable(manager.state))) }
      return registration
    }
  }

  /// Listens for L2CAP channels while a run lasts: sends the PSM, then each channel that a central
  /// opens.
  ///
  /// A run waits until the radio is on, and continues when the radio is switched off. Open channels
  /// stay open after the run. While a run waits for its PSM, no other code may call
  /// `publishL2CAPChannel(withEncryption:)` of this manager.
  ///
  /// - Parameter encryptionRequired: Whether centrals must pair.
  /// - Returns: A producer that does not complete. It fails with `.refused` when no PSM is free,
  ///   and with `.notAvailable` when the radio is unsupported or unauthorized.
  public func channelPublication(
    withEncryption encryptionRequired: Bool
  ) -> SignalProducer<ChannelPublicationEvent, BluetoothError> {
    let manager: CBPeripheralManager = base
    let publication = SignalProducer<ChannelPublicationEvent, BluetoothError>(
      listening: { notify in
        let run = ChannelPublicationRun(of: manager, notify)
        return run.start(withEncryption: encryptionRequired)
      })
    return whenPoweredOn.then(publication)
  }

  /// Sends the subscriptions of centrals to characteristics, and their ends.
  public var subscriptionChanges: SignalProducer<SubscriptionChange, Never> {
    PeripheralManagerListener.all.producer(of: base) { listener, notify in
      listener.events.add { event in
        switch event {
        case .subscribed(let central, let characteristic):
          notify(
            .value(
              SubscriptionChange(
                central: central, characteristic: characteristic, isSubscribed: true)))
        case .unsubscribed(let central, let characteristic):
          notify(
            .value(
              SubscriptionChange(
                central: central, characteristic: characteristic, isSubscribed: false)))
        default: break
        }
      }
    }
  }

  /// Sends read requests for characteristics without a fixed value. The app must set the request's
  /// value, from its offset on, and respond.
  ///
  /// During a run the manager's delegate doesn't get these requests, as each must be answered once.
  /// If there are several runs, all of them get each request, and exactly one must respond.
  public var readRequests: SignalProducer<CBATTRequest, Never> {
    PeripheralManagerListener.all.producer(of: base) { listener, notify in
      listener.reads.observe { notify(.value($0)) }
    }
  }

  /// Sends batches of write requests. The app must perform all writes or none, and respond once, to
  /// the first request. During a run the manager's delegate doesn't get these requests, as with
  /// ``readRequests``.
  public var writeRequests: SignalProducer<[CBATTRequest], Never> {
    PeripheralManagerListener.all.producer(of: base) { listener, notify in
      listener.writes.observe { notify(.value($0)) }
    }
  }

  /// Notifies or indicates a value to all subscribed centrals, or to those listed, and completes
  /// when there was space for it. Updates that wait for space reach each central in the order in
  /// which they were started; those to other centrals don't wait for them. Updates that are disposed
  /// of before are dropped.
  ///
  /// - Returns: A producer that fails with `.notAvailable` while the radio is off, and with `.notFound`
  ///   if the characteristic is not published, or not any more when there is space.
  public func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]? = nil
  ) -> SignalProducer<Never, BluetoothError> {
    let manager: CBPeripheralManager = base
    return PeripheralManagerListener.all.producer(of: manager) { listener, notify in
      let registration = listener.events.add {
        if case .stateChanged(let state) = $0, state != .poweredOn {
          notify(.failed(.notAvailable(state)))
        }
      }
      guard manager.state == .poweredOn else {
        notify(.failed(.notAvailable(manager.state)))
        return registration
      }
      // Those that get it: others, which may be stalled, are not waited for.
      let subscribers = Set((characteristic.subscribedCentrals ?? []).map(\.identifier))
      let lane = centrals.map { subscribers.intersection($0.map(\.identifier)) } ?? subscribers
      let number = listener.updates.add(lane: lane) {
        if let refusal = manager.refusal(ofUpdating: characteristic) { return .failed(refusal) }
        let isSent = manager.updateValue(
          value, for: characteristic, onSubscribedCentrals: centrals)
        return isSent ? .sent : .full
      } done: {
        notify($0.map { .failed($0) } ?? .completed)
      }
      registration.add { listener.updates.remove(number) }
      return registration
    }
  }

  /// Sends a value each time that space for updates becomes available again.
  public var updateReadiness: SignalProducer<Void, Never> {
    PeripheralManagerListener.all.producer(of: base) { listener, notify in
      listener.events.add { if case .readyToUpdate = $0 { notify(.value(())) } }
    }
  }

  private typealias Notify<Value: Sendable> =
    @Sendable (ListenerEvent<Value, BluetoothError>) -> Void
}

/// One run of a channel's publication.
private final class ChannelPublicationRun: Sendable {
  typealias Notify = @Sendable (ListenerEvent<ChannelPublicationEvent, BluetoothError>) -> Void

  private enum Phase { case waiting, published(CBL2CAPPSM), ended }

  private let manager: CBPeripheralManager
  private let notify: Notify
  private let phase = Mutex(Phase.waiting)

  init(of manager: CBPeripheralManager, _ notify: @escaping Notify) {
    self.manager = manager
    self.notify = notify
  }

  func start(withEncryption encryptionRequired: Bool) -> ListenerRegistration {
    let listener = PeripheralManagerListener.all.retain(for: manager)
    let registration = listener.events.add { event in
      switch event {
      case .channelOpened(let channel):
        if case .published(channel.psm) = self.phase.withLock({ $0 }) {
          self.notify(.value(.opened(channel)))
        }
      case .stateChanged(let state):
        if state.isFinal { self.notify(.failed(.notAvailable(state))) }
      default: break
      }
    }
    // The listener is needed for the answer, also by a run that has ended.
    _ = PeripheralManagerListener.all.retain(for: manager)
    listener.channelPublications.add(requiresEncryption: encryptionRequired, of: manager) {
      self.answered($0)
      PeripheralManagerListener.all.release(for: self.manager)
    }
    registration.add {
      self.end()
      PeripheralManagerListener.all.release(for: self.manager)
    }
    return registration
  }

  private func answered(_ result: Result<CBL2CAPPSM, BluetoothError>) {
    switch result {
    case .failure(let error): notify(.failed(error))
    case .success(let psm):
      let isWanted = phase.withLock { phase in
        guard case .waiting = phase else { return false }
        phase = .published(psm)
        return true
      }
      if isWanted { notify(.value(.published(psm))) } else { manager.withdraw(psm) }
    }
  }

  private func end() {
    let old = phase.withLock { phase in
      defer { phase = .ended }
      return phase
    }
    if case .published(let psm) = old { manager.withdraw(psm) }
  }
}

extension CBPeripheralManager {
  /// Why an update of a characteristic can't be sent, however much room there is.
  fileprivate func refusal(ofUpdating characteristic: CBMutableCharacteristic) -> BluetoothError? {
    guard state == .poweredOn else { return .notAvailable(state) }
    return isPublished(characteristic) ? nil : .notFound(characteristic.uuid)
  }

  /// Unpublishes a channel, which takes a radio that is on: now, or when it is back.
  fileprivate func withdraw(_ psm: CBL2CAPPSM) {
    reactive.whenPoweredOn.startWithCompleted { [weak self] in self?.unpublishL2CAPChannel(psm) }
  }

  /// Removes a service, which takes a radio that is on: now, or when it is back.
  fileprivate func withdraw(_ service: CBMutableService) {
    reactive.whenPoweredOn.startWithCompleted { [weak self] in self?.remove(service) }
  }
}

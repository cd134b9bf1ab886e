internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

// What the host has kept since an earlier process of the app.

extension PeripheralManagerSession {
  var hasDelegate: Bool { manager?.receiver != nil }

  func attached(_ attachment: SessionAttachment) {
    preservation.report(attachment)
    lock.withLock { holdings = attachment.holdings }
  }

  /// On the host's thread: the subscribers are known before they may change.
  func restoredOnHost(_ holdings: SessionHoldings) {
    for subscriber in holdings.subscribers {
      lock.withLock {
        windows.subscribed(subscriber.peer, to: subscriber.handle) {
          makeUpdateToken(subscriber.peer)
        }
      }
    }
  }

  /// Restores what the host has kept, and reports it before anything else. The centrals that were connected are
  /// known by now.
  func restore() {
    let found = lock.withLock { () -> (SessionHoldings, [CBMutableService])? in
      guard let holdings = self.holdings.take() else { return nil }
      missedStates.begin()
      advertising = holdings.advertising == nil ? .off : .on
      psms.formUnion(holdings.listeners.map(\.psm))
      let services = holdings.services.map { restored($0) }
      for subscriber in holdings.subscribers {
        characteristics[subscriber.handle]?.addSubscriber(lockedCentral(subscriber.peer))
      }
      return (holdings, services)
    }
    guard let (holdings, services) = found else { return }
    reportManagerChanges()
    notifyDelegate {
      $1.peripheralManager($0, willRestoreState: holdings.peripheralState(services))
    }
    // Completed behind the events that the host has kept.
    connection.request({ .barrier($0) }) { [weak self] _ in
      guard let self, lock.withLock({ missedStates.end() }) else { return }
      stateChanged(.poweredOff)
    }
  }

  /// The object of a published service. Call with the lock.
  private func restored(_ service: SessionHoldings.Service) -> CBMutableService {
    let object = CBMutableService(service.definition)
    object.includedServices = service.definition.includedServices.compactMap { handle in
      entries.values.first { $0.published?.start == handle }?.service
    }
    let members = (object.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
    for (characteristic, place) in zip(members, service.published.characteristics) {
      characteristics[place.valueHandle] = characteristic
      characteristic.setHandles(CharacteristicHandles(value: place.valueHandle))
    }
    _ = object.freeze()
    lastAddition += 1
    entries[ObjectIdentifier(object)] = Entry(
      service: object, characteristics: members, addition: lastAddition,
      published: service.published.range)
    return object
  }
}

extension SessionHoldings {
  /// The dictionary for `peripheralManager(_:willRestoreState:)`. A key without a value is left out.
  fileprivate func peripheralState(_ services: [CBMutableService]) -> [String: Any] {
    var state: [String: Any] = [:]
    if !services.isEmpty { state[CBPeripheralManagerRestoredStateServicesKey] = services }
    if let advertising {
      state[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertising.advertisementData
    }
    return state
  }
}

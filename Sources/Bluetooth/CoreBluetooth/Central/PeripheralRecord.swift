internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

/// What a peripheral object stores; guarded by its session's lock.
struct PeripheralRecord {
  let link: PeripheralLink
  /// The GAP device name, once read.
  var deviceName: String?
  /// The name it advertised last.
  var advertisedName: String?
  var mtu = Limits.mtuMin
  var lastRSSI: NSNumber?
  /// Counts connections, so that completions of an earlier one are recognised.
  var connectionCount = 0

  /// The discovered primary services in the order of their handles; nil until discovered.
  var services: [CBService]?
  /// Every service known, by its first handle: also those that are only included.
  var servicesByHandle: [UInt16: CBService] = [:]
  /// Every characteristic known, by its value's handle.
  var characteristicsByHandle: [UInt16: CBCharacteristic] = [:]

  /// Subscriptions of an earlier process to characteristics that this one has not discovered, by their values'
  /// handles.
  var subscribedHandles: Set<UInt16> = []

  /// What all writes without response of a connection share, as only their number matters.
  var writeToken: (value: RequestToken, connectionCount: Int)?
  /// Writes without response that the host has not yet handed to the controller.
  var writesOutstanding = 0
  /// The window was full and is not yet half empty.
  var isWriteBlocked = false

  init(link: PeripheralLink) { self.link = link }

  var state: CBPeripheralState { link.state }
  var name: String? { deviceName ?? advertisedName }

  /// The longest value that fits in one PDU.
  var writeWithoutResponseByteCountMax: Int {
    min(mtu - Limits.notificationHeaderByteCount, Limits.valueByteCountMax)
  }

  /// The link is down, and this far: nothing that was discovered is valid any more.
  mutating func disconnect(to phase: PeripheralLink.Phase) {
    link.phase = phase
    connectionCount += 1
    mtu = Limits.mtuMin
    writesOutstanding = 0
    isWriteBlocked = false
    subscribedHandles = []
    invalidate(Array(servicesByHandle.values))
    services = nil
    characteristicsByHandle = [:]
  }

  /// Forgets services with all that is in them.
  mutating func invalidate(_ gone: [CBService]) {
    for service in gone {
      service.isValid = false
      servicesByHandle[service.range.start] = nil
      for characteristic in service.characteristicsStorage ?? [] {
        characteristic.isValid = false
        characteristic.isNotifyingStorage = false
        characteristicsByHandle[characteristic.handles.value] = nil
      }
    }
    services?.removeAll { !$0.isValid }
  }

  /// Adds services found, keeping the objects of those known. What a search for all did not find
  /// is gone.
  mutating func merge(
    services found: [RemoteService], isComplete: Bool, make: (RemoteService) -> CBService
  ) {
    var list = services ?? []
    if isComplete {
      let starts = Set(found.map(\.range.start))
      let gone = list.filter { !starts.contains($0.range.start) }
      invalidate(gone)
      list.removeAll { !$0.isValid }
    }
    for remote in found {
      let service = service(for: remote, make: make)
      if !list.contains(where: { $0 === service }) { list.append(service) }
    }
    list.removeAll { !$0.isValid }
    services = list.sorted { $0.range.start < $1.range.start }
  }

  /// The object of a service, created if necessary.
  mutating func service(
    for remote: RemoteService, make: (RemoteService) -> CBService
  ) -> CBService {
    if let known = servicesByHandle[remote.range.start] {
      if known.uuid.value == remote.uuid {
        known.range = remote.range
        return known
      }
      invalidate([known])
    }
    let service = make(remote)
    servicesByHandle[remote.range.start] = service
    return service
  }

  /// Adds characteristics found in a service, keeping the objects of those known.
  mutating func merge(
    characteristics found: [RemoteCharacteristic], into service: CBService, isComplete: Bool,
    lock: SharedLock
  ) {
    var list = service.characteristicsStorage ?? []
    if isComplete {
      let handles = Set(found.map(\.valueHandle))
      for gone in list where !handles.contains(gone.handles.value) {
        gone.isValid = false
        characteristicsByHandle[gone.handles.value] = nil
      }
      list.removeAll { !$0.isValid }
    }
    for remote in found {
      let handles = CharacteristicHandles(
        declaration: remote.declarationHandle, value: remote.valueHandle, end: remote.endHandle)
      if let known = characteristicsByHandle[remote.valueHandle],
        known.uuid.value == remote.uuid
      {
        known.handles = handles
        known.propertiesStorage = CBCharacteristicProperties(remote.properties)
        if !list.contains(where: { $0 === known }) { list.append(known) }
        continue
      }
      let characteristic = CBCharacteristic(
        uuid: CBUUID(remote.uuid), properties: CBCharacteristicProperties(remote.properties),
        handles: handles, service: service, lock: lock)
      characteristic.isNotifyingStorage = subscribedHandles.remove(remote.valueHandle) != nil
      characteristicsByHandle[remote.valueHandle] = characteristic
      list.append(characteristic)
    }
    service.characteristicsStorage = list.sorted { $0.handles.value < $1.handles.value }
  }
}

extension PeripheralRecord {
  /// Takes what an earlier process of the app has discovered over this connection.
  mutating func restore(
    _ attributes: PeerAttributes, hidesSystemServices: Bool, lock: SharedLock,
    make: (RemoteService) -> CBService
  ) {
    let visible = attributes.services.filter {
      !hidesSystemServices || !SystemServices.uuids.contains($0.service.uuid)
    }
    let listed = visible.filter(\.isListed).map(\.service)
    if !listed.isEmpty { merge(services: listed, isComplete: false, make: make) }
    for found in visible {
      let service = service(for: found.service, make: make)
      guard let characteristics = found.characteristics else { continue }
      merge(
        characteristics: characteristics.map(\.characteristic), into: service, isComplete: true,
        lock: lock)
      for characteristic in characteristics {
        guard let descriptors = characteristic.descriptors else { continue }
        characteristicsByHandle[characteristic.characteristic.valueHandle]?.merge(descriptors)
      }
    }
    for found in visible {
      guard let included = found.includedServices else { continue }
      servicesByHandle[found.service.range.start]?.includedServicesStorage = included.compactMap {
        servicesByHandle[$0]
      }
    }
  }
}

extension CBCharacteristicProperties {
  init(_ properties: CharacteristicProperties) { self.init(rawValue: UInt(properties.rawValue)) }
}

extension CBCharacteristic {
  /// Adds descriptors found, keeping the objects of those known. Call with the lock.
  func merge(_ found: [RemoteDescriptor]) {
    let known = descriptorsStorage ?? []
    descriptorsStorage = found.map { remote in
      known.first { $0.handle == remote.handle && $0.uuid.value == remote.uuid }
        ?? CBDescriptor(
          uuid: CBUUID(remote.uuid), handle: remote.handle, characteristic: self, lock: lock)
    }
  }
}

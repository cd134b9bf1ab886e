public import BluetoothInterface
public import BluetoothWire

/// A service of a simulated device.
public final class SimulatedService {
  /// The type of the service.
  public let uuid: BluetoothUUID
  let isPrimary: Bool
  private unowned let device: SimulatedDevice
  private var characteristics: [SimulatedCharacteristic] = []
  private var included: [SimulatedService] = []
  /// The handle of its declaration, once it is published.
  var handle: UInt16?

  init(uuid: BluetoothUUID, isPrimary: Bool, device: SimulatedDevice) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.device = device
  }

  /// Adds a characteristic. If it has a `value` and no write property, the host answers reads with
  /// it. Otherwise `onRead` and `onWrite` are called; while `onRead` is not set, a read returns
  /// `value`.
  @discardableResult
  public func addCharacteristic(
    _ uuid: BluetoothUUID, _ properties: CharacteristicProperties, value: [UInt8] = [],
    requiresEncryption: Bool = false, requiresAuthentication: Bool = false,
    description: String? = nil
  ) -> SimulatedCharacteristic {
    let characteristic = SimulatedCharacteristic(
      uuid: uuid, properties: properties, value: value, requiresEncryption: requiresEncryption,
      requiresAuthentication: requiresAuthentication, description: description, device: device)
    characteristics.append(characteristic)
    return characteristic
  }

  /// Includes another service of the device, which must have been added before this one.
  public func include(_ other: SimulatedService) { included.append(other) }

  /// Whether the services that it includes have handles.
  var includesOnlyPublished: Bool { included.allSatisfy { $0.handle != nil } }

  var definition: ServiceDefinition {
    ServiceDefinition(
      uuid: uuid, isPrimary: isPrimary, includedServices: included.compactMap(\.handle),
      characteristics: characteristics.map(\.definition))
  }

  func wasPublished(
    _ published: PublishedService, register: (UInt16, SimulatedCharacteristic) -> Void
  ) {
    handle = published.range.start
    for (characteristic, place) in zip(characteristics, published.characteristics) {
      characteristic.valueHandle = place.valueHandle
      characteristic.subscribers = []
      register(place.valueHandle, characteristic)
    }
  }
}

/// A characteristic of a simulated device.
public final class SimulatedCharacteristic {
  /// The type of the characteristic.
  public let uuid: BluetoothUUID
  /// The value that reads return unless `onRead` is set.
  public var value: [UInt8]
  /// The subscribed centrals.
  public internal(set) var subscribers: [DeviceAddress] = []

  var valueHandle: UInt16?
  private let properties: CharacteristicProperties
  private let requiresEncryption: Bool
  private let requiresAuthentication: Bool
  private let userDescription: String?
  /// Descriptors beside the configuration, which follows from the properties.
  var descriptors: [DescriptorDefinition] = []
  /// What reading and writing take; nil where it follows from the properties.
  var permissions: AttributePermissions?
  private unowned let device: SimulatedDevice
  private var reader: ((DeviceAddress) -> Result<[UInt8], ATTErrorCode>)?
  private var writer: ((DeviceAddress, [UInt8]) -> Result<Void, ATTErrorCode>)?
  private var subscriptionObserver: ((DeviceAddress, Bool) -> Void)?

  init(
    uuid: BluetoothUUID, properties: CharacteristicProperties, value: [UInt8],
    requiresEncryption: Bool, requiresAuthentication: Bool, description: String?,
    device: SimulatedDevice
  ) {
    self.uuid = uuid
    self.properties = properties
    self.value = value
    self.requiresEncryption = requiresEncryption
    self.requiresAuthentication = requiresAuthentication
    self.userDescription = description
    self.device = device
  }

  /// Sets the closure that returns the value for a read.
  public func onRead(_ read: @escaping (DeviceAddress) -> Result<[UInt8], ATTErrorCode>) {
    reader = read
  }

  /// Sets the closure that accepts or refuses a write. Without it, a write replaces `value`.
  public func onWrite(
    _ write: @escaping (DeviceAddress, [UInt8]) -> Result<Void, ATTErrorCode>
  ) {
    writer = write
  }

  /// Sets the closure that is called when a central subscribes or unsubscribes.
  public func onSubscriptionChange(
    _ observe: @escaping (DeviceAddress, _ isSubscribed: Bool) -> Void
  ) {
    subscriptionObserver = observe
  }

  /// Sends a value to all subscribers, and stores it as the value for reads.
  public func notify(_ newValue: [UInt8]) {
    value = newValue
    guard let valueHandle, !subscribers.isEmpty else { return }
    device.request(
      .updateValue(handle: valueHandle, newValue, peers: nil, device.makeToken()))
  }

  /// Whether the host may serve the value without asking: it can't change.
  private var isConstant: Bool {
    reader == nil && properties.isSubset(of: [.read, .broadcast]) && properties.contains(.read)
  }

  var definition: CharacteristicDefinition {
    var permissions: AttributePermissions = []
    if properties.contains(.read) {
      permissions.insert(
        requiresAuthentication
          ? .readAuthenticationRequired : requiresEncryption ? .readEncryptionRequired : .readable)
    }
    if !properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites]) {
      permissions.insert(
        requiresAuthentication
          ? .writeAuthenticationRequired
          : requiresEncryption ? .writeEncryptionRequired : .writeable)
    }
    var definition = CharacteristicDefinition(
      uuid: uuid, properties: properties, permissions: self.permissions ?? permissions,
      value: isConstant ? value : nil, subscribingRequiresEncryption: requiresEncryption,
      subscribingRequiresAuthentication: requiresAuthentication)
    if let userDescription {
      definition.descriptors = [
        DescriptorDefinition(uuid: 0x2901, value: Array(userDescription.utf8))
      ]
    }
    definition.descriptors += descriptors
    return definition
  }

  func read(_ peer: DeviceAddress, offset: Int) -> Result<[UInt8], ATTErrorCode> {
    let whole = reader?(peer) ?? .success(value)
    return whole.flatMap { bytes in
      offset <= bytes.count ? .success(Array(bytes[offset...])) : .failure(.invalidOffset)
    }
  }

  func write(_ peer: DeviceAddress, _ newValue: [UInt8]) -> Result<Void, ATTErrorCode> {
    if let writer { return writer(peer, newValue) }
    value = newValue
    return .success(())
  }

  func subscriptionChanged(_ peer: DeviceAddress, isSubscribed: Bool) {
    subscribers.removeAll { $0 == peer }
    if isSubscribed { subscribers.append(peer) }
    subscriptionObserver?(peer, isSubscribed)
  }
}

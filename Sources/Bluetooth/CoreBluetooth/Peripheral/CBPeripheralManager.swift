internal import BluetoothInterface
internal import BluetoothSessions
internal import EventLoop

/// Publishes services and advertises them.
///
/// The manager uses the host that is current in its task, else the one on the radio that
/// `AMBIT_RADIO` names. Methods may be called from any thread; the delegate is called on the queue
/// that the manager was made with.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
  // Unchecked: `session` is constant, the delegate is behind `delegateLock`.

  let session: PeripheralManagerSession
  private let delegateLock = SharedLock()
  private weak var delegateStorage: (any CBPeripheralManagerDelegate)?

  /// A manager without a delegate, on the main queue.
  public convenience override init() {
    self.init(delegate: nil, queue: nil, options: nil)
  }

  /// A manager that calls its delegate on `queue`, or the main queue.
  public convenience init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?
  ) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// A manager that calls its delegate on `queue`, or the main queue. Options are accepted.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    session = PeripheralManagerSession(queue: queue ?? .main)
    delegateStorage = delegate
    super.init()
    session.start(for: self, on: CurrentHost.provider)
  }

  init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue,
    host: any HostSessionProvider
  ) {
    session = PeripheralManagerSession(queue: queue)
    delegateStorage = delegate
    super.init()
    session.start(for: self, on: host)
  }

  deinit { session.connection.close() }

  /// The object that receives the manager's events; called on the manager's queue.
  open weak var delegate: (any CBPeripheralManagerDelegate)? {
    get { delegateLock.withLock { delegateStorage } }
    set { delegateLock.withLock { delegateStorage = newValue } }
  }

  /// The radio's state.
  open override var state: CBManagerState { session.state }

  /// Whether this manager advertises.
  open var isAdvertising: Bool { session.isAdvertising }

  override func property(_ key: String) -> Any?? {
    switch key {
    case "isAdvertising": .some(isAdvertising)
    case "delegate": .some(delegate)
    default: super.property(key)
    }
  }

  /// Whether the app may use Bluetooth; the same as `CBManager.authorization`.
  @available(*, deprecated, message: "Use CBManager's authorization instead")
  open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
    switch authorization {
    case .notDetermined: .notDetermined
    case .restricted: .restricted
    case .denied: .denied
    case .allowedAlways: .authorized
    }
  }

  /// Advertises a local name and service UUIDs, or the beacon of `CLBeaconRegion`; other keys are
  /// ignored.
  ///
  /// UUIDs and name share 28 bytes, headers included. Up to ten bytes of a name that does not fit
  /// there go to the scan response, and so do UUIDs: the list in the advertising data is marked
  /// incomplete and continued by incomplete lists in the scan response. UUIDs that fit in neither
  /// are not advertised.
  ///
  /// The dictionary of `CLBeaconRegion.peripheralData(withMeasuredPower:)` fills an advertisement
  /// of its own, which is not connectable. If its value is not the 21 bytes of a beacon, the
  /// delegate gets `invalidParameters`.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    session.startAdvertising(advertisementData ?? [:])
  }

  /// Ends advertising.
  open func stopAdvertising() { session.stopAdvertising() }

  /// Requests another connection latency from a connected central, which may ignore the request.
  open func setDesiredConnectionLatency(
    _ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral
  ) {
    session.setLatency(latency, for: central)
  }

  /// Publishes a service, which is frozen from then on.
  ///
  /// The delegate gets `uuidNotAllowed` for services that the host itself has (1800 and 1801),
  /// and `invalidParameters` where Apple's framework raises an exception: a characteristic with a
  /// value that can be more than read, a descriptor other than a user description (2901, a
  /// `String`) and a presentation format (2904, a `Data`), an included service that is not
  /// published, a service that is published already.
  open func add(_ service: CBMutableService) { session.add(service) }

  /// Withdraws a service.
  open func remove(_ service: CBMutableService) { session.remove(service) }

  /// Withdraws all services.
  open func removeAllServices() { session.removeAll() }

  /// Answers a request; of a batch of writes, the first for all. For a read, set the request's
  /// value before: the bytes from its offset on.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    session.respond(to: request, result)
  }

  /// Notifies or indicates a value to subscribed centrals: all, or these.
  ///
  /// A value longer than a central's `maximumUpdateValueLength` is cut for it.
  /// - Returns: False if there is no room at the moment; then
  ///   `peripheralManagerIsReady(toUpdateSubscribers:)` will be called.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    session.update(value, of: characteristic, for: centrals)
  }

  /// Listens for channels on a PSM that the host picks and reports to the delegate.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    session.publishChannel(requiresEncryption: encryptionRequired)
  }

  /// Stops listening; open channels stay open. The delegate gets `invalidParameters` for a PSM
  /// that this manager does not listen on.
  open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) { session.unpublishChannel(PSM) }
}

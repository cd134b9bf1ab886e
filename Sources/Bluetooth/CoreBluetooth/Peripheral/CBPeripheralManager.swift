package import BluetoothInterface
internal import BluetoothSessions
internal import EventLoop

/// Publishes services and advertises them.
///
/// The manager uses the host that is current in its task, else the one that the environment selects:
/// on the radio that `AMBIT_RADIO` names, or that of a running hub. Methods may be called from any
/// thread; the delegate is called on the queue that was passed to the initializer.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
  // Unchecked: `session` is constant, delegate and proxy are behind `delegateLock`.

  let session: PeripheralManagerSession
  private let delegateLock = SharedLock()
  private weak var delegateStorage: (any CBPeripheralManagerDelegate)?
  private weak var delegateProxyStorage: (any CBPeripheralManagerDelegate)?

  /// Creates a manager without a delegate, on the main queue.
  public convenience override init() {
    self.init(delegate: nil, queue: nil, options: nil)
  }

  /// Creates a manager that calls its delegate on `queue`, or on the main queue if that is nil.
  public convenience init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?
  ) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// Creates a manager that calls its delegate on `queue`, or on the main queue if that is nil.
  ///
  /// With a restore identifier (`CBPeripheralManagerOptionRestoreIdentifierKey`), a running hub preserves the manager's
  /// services and advertising when the process ends, and the manager with that identifier in the next run gets
  /// them: see <doc:LiveInTheBackground>. The other options have no effect.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    session = PeripheralManagerSession(queue: queue ?? .main)
    delegateStorage = delegate
    super.init()
    let identifier = options?[CBPeripheralManagerOptionRestoreIdentifierKey] as? String
    session.start(for: self, on: CurrentHost.provider, restoreIdentifier: identifier)
  }

  /// Creates a manager on a host.
  package init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue,
    host: any HostSessionProvider, restoreIdentifier: String? = nil
  ) {
    session = PeripheralManagerSession(queue: queue)
    delegateStorage = delegate
    super.init()
    session.start(for: self, on: host, restoreIdentifier: restoreIdentifier)
  }

  deinit { session.connection.close() }

  /// The object that receives the manager's events; called on the manager's queue.
  open weak var delegate: (any CBPeripheralManagerDelegate)? {
    get { delegateLock.withLock { delegateStorage } }
    set {
      delegateLock.withLock { delegateStorage = newValue }
      session.connection.delegateChanged()
    }
  }

  /// Receives the calls in the delegate's stead, and forwards them to it. A bridge sets it, and then
  /// receives every call, also after the app has set another delegate.
  package var delegateProxy: (any CBPeripheralManagerDelegate)? {
    get { delegateLock.withLock { delegateProxyStorage } }
    set {
      delegateLock.withLock { delegateProxyStorage = newValue }
      session.connection.delegateChanged()
    }
  }

  /// The object to call: the proxy or, without one, the delegate.
  var receiver: (any CBPeripheralManagerDelegate)? { delegateProxy ?? delegate }

  /// The radio's state.
  open override var state: CBManagerState { session.state }

  /// Whether this manager is advertising.
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
  /// The dictionary of `CLBeaconRegion.peripheralData(withMeasuredPower:)` is sent in a separate
  /// advertisement, which is not connectable. If its value is not the 21 bytes of a beacon, the
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

  /// Publishes a service, which can't be changed from then on.
  ///
  /// The delegate gets `uuidNotAllowed` for the services that the host itself provides (1800 and
  /// 1801), and `invalidParameters` where Apple's framework raises an exception: a characteristic
  /// with a fixed value that is not read-only, a descriptor other than a user description (2901, a
  /// `String`) or a presentation format (2904, a `Data`), an included service that is not
  /// published, or a service that is already published.
  open func add(_ service: CBMutableService) { session.add(service) }

  /// Removes a published service.
  open func remove(_ service: CBMutableService) { session.remove(service) }

  /// Removes all published services.
  open func removeAllServices() { session.removeAll() }

  /// Responds to a request. For a batch of writes, pass the first request; the result applies to
  /// all. For a read, first set the request's `value` to the bytes from its `offset` on.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    session.respond(to: request, result)
  }

  /// Notifies or indicates a value to all subscribed centrals, or to those listed.
  ///
  /// A value longer than a central's `maximumUpdateValueLength` is truncated for that central.
  /// - Returns: False if the queue is full; then `peripheralManagerIsReady(toUpdateSubscribers:)`
  ///   is called when it has space again.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    session.update(value, of: characteristic, for: centrals)
  }

  /// Whether `updateValue` takes values of a characteristic, in the state `poweredOn`: its service is
  /// published.
  package func isPublished(_ characteristic: CBMutableCharacteristic) -> Bool {
    session.isPublished(characteristic)
  }

  /// Listens for L2CAP channels on a PSM that the host chooses and reports to the delegate.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    session.publishChannel(requiresEncryption: encryptionRequired)
  }

  /// Stops listening; open channels stay open. The delegate gets `invalidParameters` for a PSM
  /// that this manager does not listen on.
  open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) { session.unpublishChannel(PSM) }
}

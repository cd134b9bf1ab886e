package import BluetoothInterface
internal import BluetoothSessions
internal import Essentials
internal import EventLoop

/// Scans for peripherals and connects to them.
///
/// The manager uses the host that is current in its task, else the one that the environment selects:
/// on the radio that `AMBIT_RADIO` names, or that of a running hub. Methods may be called from any
/// thread; the delegate is called on the queue that was passed to the initializer.
open class CBCentralManager: CBManager, @unchecked Sendable {
  // Unchecked: `session` is constant, delegate and proxy are behind `delegateLock`.

  /// Features that not every radio supports.
  public struct Feature: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Creates a set of features from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Extended scanning, and connections to peripherals that were discovered by it.
    public static let extendedScanAndConnect = Feature(rawValue: 1 << 0)
    /// Channel sounding: measuring distances to peripherals.
    public static let channelSounding = Feature(rawValue: 1 << 10)
  }

  let session: CentralSession
  private let delegateLock = SharedLock()
  private weak var delegateStorage: (any CBCentralManagerDelegate)?
  private weak var delegateProxyStorage: (any CBCentralManagerDelegate)?

  /// Creates a manager without a delegate, on the main queue.
  public convenience override init() {
    self.init(delegate: nil, queue: nil, options: nil)
  }

  /// Creates a manager that calls its delegate on `queue`, or on the main queue if that is nil.
  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// Creates a manager that calls its delegate on `queue`, or on the main queue if that is nil.
  ///
  /// With a restore identifier (`CBCentralManagerOptionRestoreIdentifierKey`), a running hub preserves what the manager
  /// scans for, its connections and subscriptions when the process ends, and the manager with that identifier in
  /// the next run gets them: see <doc:LiveInTheBackground>. The other options have no effect.
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    session = CentralSession(queue: queue ?? .main)
    delegateStorage = delegate
    super.init()
    let identifier = options?[CBCentralManagerOptionRestoreIdentifierKey] as? String
    session.start(for: self, on: CurrentHost.provider, restoreIdentifier: identifier)
  }

  /// Creates a manager on a host, for tools that show the complete attribute database if
  /// `showsSystemServices` is set: its peripherals then also discover Generic Access and Generic
  /// Attribute, which Core Bluetooth hides.
  package init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue,
    host: any HostSessionProvider, showsSystemServices: Bool = false,
    restoreIdentifier: String? = nil
  ) {
    session = CentralSession(queue: queue, showsSystemServices: showsSystemServices)
    delegateStorage = delegate
    super.init()
    session.start(for: self, on: host, restoreIdentifier: restoreIdentifier)
  }

  deinit { session.end() }

  /// The object that receives the manager's events; called on the manager's queue.
  open weak var delegate: (any CBCentralManagerDelegate)? {
    get { delegateLock.withLock { delegateStorage } }
    set {
      delegateLock.withLock { delegateStorage = newValue }
      session.connection.delegateChanged()
    }
  }

  /// Receives the calls in the delegate's stead, and forwards them to it. A bridge sets it, and then
  /// receives every call, also after the app has set another delegate.
  package var delegateProxy: (any CBCentralManagerDelegate)? {
    get { delegateLock.withLock { delegateProxyStorage } }
    set {
      delegateLock.withLock { delegateProxyStorage = newValue }
      session.connection.delegateChanged()
    }
  }

  /// The object to call: the proxy or, without one, the delegate.
  var receiver: (any CBCentralManagerDelegate)? { delegateProxy ?? delegate }

  /// The radio's state.
  open override var state: CBManagerState { session.state }

  /// Whether this manager is scanning.
  open var isScanning: Bool { session.isScanning }

  override func property(_ key: String) -> Any?? {
    switch key {
    case "isScanning": .some(isScanning)
    case "delegate": .some(delegate)
    default: super.property(key)
    }
  }

  /// Whether radios on this system support all of these features: true for extended scanning, false
  /// for channel sounding.
  open class func supports(_ features: Feature) -> Bool {
    features.isSubset(of: .extendedScanAndConnect)
  }

  /// The peripherals with these identifiers, even if they were not discovered in this run.
  ///
  /// An identifier contains all that is needed to connect. Identifiers that were not created by
  /// this host are left out.
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { PeerIdentifier.address(in: $0) }.map { session.peripheral(at: $0) }
  }

  /// The peripherals that any client of this host is connected to and that have one of the
  /// services. Call `connect(_:options:)` before using them.
  ///
  /// Only services that a client has discovered over the present link are known: unlike Apple's system,
  /// this host discovers none by itself. A peripheral of which no manager has discovered services is left out.
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    session.connectedPeers(with: serviceUUIDs.values).map { session.peripheral(at: $0) }
  }

  /// Scans for peripherals that advertise one of the services, or for all if there are none.
  /// Replaces a running scan.
  open func scanForPeripherals(
    withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil
  ) {
    var scan = ScanOptions()
    scan.services = serviceUUIDs?.values ?? []
    let solicited = options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID]
    scan.solicitedServices = solicited?.values ?? []
    scan.allowsDuplicates = options.truth(CBCentralManagerScanOptionAllowDuplicatesKey)
    session.startScan(scan)
  }

  /// Ends the scan.
  open func stopScan() { session.stopScan() }

  /// Connects to a peripheral. The attempt has no timeout; cancel it with
  /// `cancelPeripheralConnection(_:)`.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    var connect = ConnectOptions()
    connect.reconnectsAutomatically = options.truth(CBConnectPeripheralOptionEnableAutoReconnect)
    if let delay = options?[CBConnectPeripheralOptionStartDelayKey] as? NSNumber {
      connect.startDelay = .milliseconds(Int64(max(0, min(delay.doubleValue, 86_400)) * 1_000))
    }
    connect.alerts = ConnectionAlerts(options)
    let requiresANCS = options.truth(CBConnectPeripheralOptionRequiresANCS)
    session.connect(peripheral, connect, requiresANCS: requiresANCS)
  }

  /// Cancels an established or pending connection. The link stays up while another client of the
  /// host uses it.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) { session.cancel(peripheral) }

  /// Reports connections and disconnections of the matching peers to the delegate; nil ends that.
  open func registerForConnectionEvents(
    options: [CBConnectionEventMatchingOption: Any]? = nil
  ) {
    session.matchConnectionEvents(
      options.map { options in
        let identifiers = options[.peripheralUUIDs] as? [UUID] ?? []
        return ConnectionEventFilter(
          services: (options[.serviceUUIDs] as? [CBUUID] ?? []).values,
          peers: identifiers.compactMap { PeerIdentifier.address(in: $0) })
      })
  }
}

extension [String: Any]? {
  /// The Boolean value of an option, from `true` or `NSNumber(value: true)`.
  func truth(_ key: String) -> Bool { (self?[key] as? NSNumber)?.boolValue ?? false }
}

extension ConnectionAlerts {
  fileprivate init(_ options: [String: Any]?) {
    self = []
    if options.truth(CBConnectPeripheralOptionNotifyOnConnectionKey) { insert(.connection) }
    if options.truth(CBConnectPeripheralOptionNotifyOnDisconnectionKey) { insert(.disconnection) }
    if options.truth(CBConnectPeripheralOptionNotifyOnNotificationKey) { insert(.notification) }
  }
}

internal import Connections
internal import DiscoveryMachines
internal import DNSWire
internal import EventLoop
internal import RunLoopSupport

/// A service of the local network: one that this program publishes, or one that it found.
///
/// The delegate is called on the run loops on which the service is scheduled, initially that of the
/// thread that created it. The properties change there, too. Releasing the service stops it.
open class NetService: NSObject, @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  let discovery: any DiscoveryProvider
  let inbox = RunLoopInbox<DelegateCall> { $0.add(to: &$1) }
  private let lock = SharedLock()
  private var guarded: State

  struct State {
    var name: String
    var type: String
    var domain: String
    var port: Int
    var hostName: String?
    var endpoints: [SocketEndpoint]?
    var text: TXTRecord?
    var activity: Activity?
    var monitor: Monitor?
    var lastNumber = 0
    var includesPeerToPeer = false
    weak var delegate: (any NetServiceDelegate)?
  }

  /// The activity of a service: publishing or resolving.
  struct Activity {
    let number: Int
    var registration: (any DiscoveryRegistration)?
    /// The text to announce where another one was set since the activity began; nil if none was.
    var newText: TXTRecord?
    /// Queries, registrations and timers that end with the activity.
    var held: [any Sendable & AnyObject] = []
    /// Whether the delegate was notified of an address.
    var isResolved = false
  }

  struct Monitor {
    let number: Int
    var query: (any Sendable & AnyObject)?
    var reportedText: TXTRecord?
  }

  /// Creates a service to publish.
  ///
  /// - Parameters:
  ///   - domain: The domain; empty for the default, `local.`.
  ///   - type: The type, such as `_http._tcp.`, optionally with names of subtypes after commas.
  ///   - name: The name, up to 63 bytes of UTF-8; empty for the host's name.
  ///   - port: The port that accepts connections; with ``Options/listenForConnections``, 0 for one
  ///     that the system chooses.
  public init(domain: String, type: String, name: String, port: Int32) {
    discovery = DiscoveryContext.discovery
    guarded = State(name: name, type: type, domain: domain, port: Int(port))
    super.init()
    receiveNotices()
    schedule(in: .ofDelegates, forMode: .default)
  }

  /// Creates a service to resolve.
  ///
  /// - Parameters:
  ///   - domain: The domain in which it was found; empty for the default, `local.`.
  ///   - type: The type, such as `_http._tcp.`.
  ///   - name: The name.
  public convenience init(domain: String, type: String, name: String) {
    self.init(domain: domain, type: type, name: name, port: -1)
  }

  /// A service that was found, which is on no run loop.
  static func found(_ name: ServiceName, _ discovery: any DiscoveryProvider) -> NetService {
    found(name.instanceText, name.typeText, name.domainText, discovery)
  }

  /// A type of services that was found, as the service that Apple's systems make of it.
  static func found(_ type: ServiceType, _ discovery: any DiscoveryProvider) -> NetService {
    found(
      String(decoding: type.label.bytes, as: UTF8.self), "\(type.transport.label).local.", ".",
      discovery)
  }

  /// Not an initialiser: a class with one that apps don't see passes on no convenience ones.
  private static func found(
    _ name: String, _ type: String, _ domain: String, _ discovery: any DiscoveryProvider
  ) -> NetService {
    let service = DiscoveryContext.$override.withValue(discovery) {
      NetService(domain: domain, type: type, name: name)
    }
    service.remove(from: .ofDelegates, forMode: .default)
    return service
  }

  private func receiveNotices() {
    inbox.onItem { [weak self] notice in self?.handle(notice) }
  }

  /// Reads or changes the state.
  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.withLock { body(&guarded) }
  }

  // MARK: Properties

  /// The object that receives the events of the service; held weakly.
  open weak var delegate: (any NetServiceDelegate)? {
    get { withState { $0.delegate } }
    set { withState { $0.delegate = newValue } }
  }

  /// Whether to use peer-to-peer links as well. Without effect on Linux.
  open var includesPeerToPeer: Bool {
    get { withState { $0.includesPeerToPeer } }
    set { withState { $0.includesPeerToPeer = newValue } }
  }

  /// The name of the service. It changes if another host has the name when the service is
  /// published.
  open var name: String { withState { $0.name } }

  /// Its type, such as `_http._tcp.`.
  open var type: String { withState { $0.type } }

  /// Its domain, such as `local.`.
  open var domain: String { withState { $0.domain } }

  /// The host name, such as `lamp.local.`; nil before the service was resolved.
  open var hostName: String? { withState { $0.hostName } }

  /// The addresses, each a `sockaddr_in` or `sockaddr_in6` with the port; nil before the service
  /// was resolved.
  open var addresses: [Data]? {
    withState { $0.endpoints?.map { Data($0.systemBytes) } }
  }

  /// The port; -1 for a service to resolve that was not resolved yet.
  open var port: Int { withState { $0.port } }

  /// The name as the wire has it.
  var serviceName: ServiceName? {
    let (name, type, domain) = withState { ($0.name, $0.type, $0.domain) }
    return try? ServiceName(name: name, type: type, domain: domain)
  }

  // MARK: Run loops

  /// Schedules the service on a run loop: the delegate is called there while it runs in the mode.
  open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.schedule(in: .forDelegates(aRunLoop), forMode: mode)
  }

  /// Removes the service from a run loop in a mode. Events that happen while the service is on no
  /// run loop are delivered when it is scheduled again. When 128 events are pending, only the
  /// latest names, resolutions and TXT records are kept, and connections are refused.
  open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.remove(from: .forDelegates(aRunLoop), forMode: mode)
  }

  // MARK: Activities

  /// Begins to be busy. If the service is so already, `refusal` is reported and the result is nil.
  func beginActivity(refusal: DelegateEvent) -> Int? {
    withState { state in
      guard state.activity == nil else {
        inbox.post(DelegateCall(refusal))
        return nil
      }
      state.lastNumber += 1
      state.activity = Activity(number: state.lastNumber)
      return state.lastNumber
    }
  }

  /// Changes an activity, unless it has ended meanwhile.
  func updateActivity(_ number: Int, _ change: (inout Activity) -> Void) {
    withState { state in
      guard var activity = state.activity, activity.number == number else { return }
      change(&activity)
      state.activity = activity
    }
  }

  /// Ends the activity with a number, or the present one if nil, and has the end reported. Returns false if it isn't
  /// running.
  ///
  /// The call is queued under the lock: before a start on another thread can report its own.
  @discardableResult
  func endActivity(_ number: Int?, reporting event: DelegateEvent? = nil) -> Bool {
    let ended = withState { state -> Activity? in
      guard let activity = state.activity, number ?? activity.number == activity.number else {
        return nil
      }
      state.activity = nil
      if let event { inbox.post(DelegateCall(event)) }
      return activity
    }
    // What it held is released here, outside the lock.
    return ended != nil
  }

  /// Stops publishing or resolving, and calls `netServiceDidStop`, even if the service is released
  /// immediately. No effect if the service is neither published nor resolved.
  open func stop() {
    endActivity(nil, reporting: .stopped(inbox.isScheduled ? self : nil))
  }

  // MARK: Publishing

  /// Publishes the service, under another name if its own is already in use.
  open func publish() { beginPublishing([]) }

  /// Publishes the service.
  ///
  /// The delegate is called when publishing begins, and again when the service is published, with
  /// its name in ``name``, or when it failed. If another host takes the name later, the delegate is
  /// called once more, with the new name.
  open func publish(options: NetService.Options = []) { beginPublishing(options) }

  // MARK: Resolving

  /// Resolves the service, with a timeout of five seconds.
  @available(*, deprecated, message: "use resolve(withTimeout:)")
  open func resolve() { beginResolving(timeout: 5) }

  /// Resolves host, port, TXT record and addresses of the service.
  ///
  /// The delegate is called whenever an address becomes known; at the timeout, `netServiceDidStop`
  /// is called, or `didNotResolve` if no address was found.
  ///
  /// - Parameter timeout: The timeout in seconds; 0 for none.
  open func resolve(withTimeout timeout: TimeInterval) { beginResolving(timeout: timeout) }

  /// Returns streams to the service, which is resolved when they are opened.
  ///
  /// - Returns: Whether the name of the service is valid.
  open func getInputStream(
    _ inputStream: UnsafeMutablePointer<InputStream?>?,
    outputStream: UnsafeMutablePointer<OutputStream?>?
  ) -> Bool {
    guard let streams = streams() else { return false }
    inputStream?.pointee = streams.input
    outputStream?.pointee = streams.output
    return true
  }

  // MARK: Text

  /// Decodes a TXT record (RFC 6763, §6). A key without a value gets an empty one. Returns an empty
  /// dictionary if the data is not a TXT record.
  open class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
    entries(of: txtData)
  }

  /// Encodes a TXT record. Leaves out entries that are not allowed in one: keys that are empty,
  /// contain `=` or are not printable ASCII, and entries longer than 255 bytes.
  open class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
    record(of: txtDictionary)
  }

  /// Sets the TXT record; nil for an empty one. A published service is updated at once.
  ///
  /// - Returns: Whether the data is a TXT record of at most 8,192 bytes.
  @discardableResult
  open func setTXTRecord(_ recordData: Data?) -> Bool { changeText(recordData) }

  /// The TXT record that was set, or received while resolving or monitoring.
  open func txtRecordData() -> Data? { withState { $0.text.map { Data($0.wireBytes) } } }

  /// Starts monitoring the TXT record: `didUpdateTXTRecord` is called with the current record and
  /// each change.
  open func startMonitoring() { beginMonitoring() }

  /// Stops monitoring the TXT record.
  open func stopMonitoring() { endMonitoring() }

  // MARK: Equality

  /// Two services are equal if their names, types and domains are.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NetService else { return false }
    return identity == other.identity
  }

  /// Hashes name, type and domain.
  open override var hash: Int { identity.hashValue }

  /// Name, type, domain and port, for logs.
  open override var description: String {
    "<NetService \(name).\(type)\(domain) \(port)>"
  }

  private var identity: [String] {
    withState { state in
      let domain = state.domain.isEmpty ? "local." : state.domain
      return [state.name, state.type, domain].map { text in
        (text.hasSuffix(".") ? String(text.dropLast()) : text).lowercased()
      }
    }
  }
}

internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport

/// A service of the local network: one that this program publishes, or one that it found.
///
/// The delegate is called on the run loops on which the service is scheduled, at first that of the
/// thread which made it. What the properties say changes there, too. A service that is let go of
/// stops.
open class NetService: NSObject, @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  let discovery: any Discovery
  let inbox = RunLoopInbox<Notice> { $0.add(to: &$1) }
  private let lock = NSLock()
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

  /// What a service is busy with: publishing or resolving.
  struct Activity {
    let number: Int
    var announcement: (any Announcement)?
    /// The text to announce where another one was set since the activity began; nil if none was.
    var newText: TXTRecord?
    /// What ends when the activity does.
    var held: [any Sendable & AnyObject] = []
    /// Whether the delegate was told of an address.
    var isResolved = false
  }

  struct Monitor {
    let number: Int
    var query: (any Sendable & AnyObject)?
    var toldText: TXTRecord?
  }

  /// A service to publish.
  ///
  /// - Parameters:
  ///   - domain: Where; empty for the default, `local.`.
  ///   - type: Such as `_http._tcp.`, with names of subtypes after commas.
  ///   - name: Up to 63 bytes of UTF-8; empty for the host's name.
  ///   - port: The port on which it can be reached; with ``Options/listenForConnections``, 0 for one
  ///     that the system chooses.
  public init(domain: String, type: String, name: String, port: Int32) {
    discovery = DiscoveryContext.discovery
    guarded = State(name: name, type: type, domain: domain, port: Int(port))
    super.init()
    receiveNotices()
    schedule(in: .current, forMode: .default)
  }

  /// A service to resolve.
  ///
  /// - Parameters:
  ///   - domain: Where it was found; empty for the default, `local.`.
  ///   - type: Such as `_http._tcp.`.
  ///   - name: Its name.
  public convenience init(domain: String, type: String, name: String) {
    self.init(domain: domain, type: type, name: name, port: -1)
  }

  /// A service that was found, which is on no run loop.
  static func found(_ name: ServiceName, _ discovery: any Discovery) -> NetService {
    found(name.instanceText, name.typeText, name.domainText, discovery)
  }

  /// A type of services that was found, as the service that Apple's systems make of it.
  static func found(_ type: ServiceType, _ discovery: any Discovery) -> NetService {
    let labels = type.description.split(separator: ".").map(String.init)
    return found(labels.first ?? "", "\(labels.last ?? "").local.", ".", discovery)
  }

  /// Not an initialiser: a class with one that apps don't see passes on no convenience ones.
  private static func found(
    _ name: String, _ type: String, _ domain: String, _ discovery: any Discovery
  ) -> NetService {
    let service = DiscoveryContext.$override.withValue(discovery) {
      NetService(domain: domain, type: type, name: name)
    }
    service.remove(from: .current, forMode: .default)
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

  /// Told what becomes of the service; held weakly.
  open weak var delegate: (any NetServiceDelegate)? {
    get { withState { $0.delegate } }
    set { withState { $0.delegate = newValue } }
  }

  /// Whether peer-to-peer radio is used as well; there is none here.
  open var includesPeerToPeer: Bool {
    get { withState { $0.includesPeerToPeer } }
    set { withState { $0.includesPeerToPeer = newValue } }
  }

  /// The service's name; another one than it was given after it was published where another service
  /// had that.
  open var name: String { withState { $0.name } }

  /// Its type, such as `_http._tcp.`.
  open var type: String { withState { $0.type } }

  /// Its domain, such as `local.`.
  open var domain: String { withState { $0.domain } }

  /// The host's name, such as `lamp.local.`; nil before the service was resolved.
  open var hostName: String? { withState { $0.hostName } }

  /// The addresses, each a `sockaddr_in` or `sockaddr_in6` with the port; nil before the service was
  /// resolved.
  open var addresses: [Data]? {
    withState { $0.endpoints?.map { Data($0.systemBytes) } }
  }

  /// The port; -1 of a service to resolve that was not resolved yet.
  open var port: Int { withState { $0.port } }

  /// The name as the wire has it.
  var serviceName: ServiceName? {
    let (name, type, domain) = withState { ($0.name, $0.type, $0.domain) }
    return try? ServiceName(name: name, type: type, domain: domain)
  }

  // MARK: Run loops

  /// Has the delegate called on a run loop while it runs in that mode.
  open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.schedule(in: aRunLoop, forMode: mode)
  }

  /// Has the delegate called no more on a run loop in that mode. What happens while the service is on
  /// no run loop is told when it is on one again. When 128 notices wait, only the latest of names,
  /// places and texts is kept, and who connects is turned away.
  open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.remove(from: aRunLoop, forMode: mode)
  }

  // MARK: Activities

  /// Begins to be busy; nil if the service is so already.
  func beginActivity() -> Int? {
    withState { state in
      guard state.activity == nil else { return nil }
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

  /// Ends an activity, the present one if none is named; false if there is none.
  @discardableResult
  func endActivity(_ number: Int? = nil) -> Bool {
    let ended = withState { state -> Activity? in
      guard let activity = state.activity, number ?? activity.number == activity.number else {
        return nil
      }
      state.activity = nil
      return activity
    }
    // What it held is let go of here, outside the lock.
    return ended != nil
  }

  /// Ends publishing or resolving; the delegate is told, also if the service is let go of at once.
  /// Does nothing if the service does neither.
  open func stop() {
    guard endActivity() else { return }
    inbox.post(Notice(.stopped(inbox.isScheduled ? self : nil)))
  }

  // MARK: Publishing

  /// Publishes the service, under another name if its own is taken.
  open func publish() { beginPublishing([]) }

  /// Publishes the service.
  ///
  /// The delegate is told that it begins, and then that the service is published, under which name
  /// it is in ``name``; or why it is not. If another host takes the name later the delegate is told
  /// once more, of the new name.
  open func publish(options: NetService.Options = []) { beginPublishing(options) }

  // MARK: Resolving

  /// Resolves the service, for five seconds.
  @available(*, deprecated, message: "use resolve(withTimeout:)")
  open func resolve() { beginResolving(timeout: 5) }

  /// Finds out host, port, text and addresses of the service.
  ///
  /// The delegate is told whenever an address becomes known; at the timeout that the service stopped,
  /// or, if there was none, that it is not resolved.
  ///
  /// - Parameter timeout: In seconds; 0 for no end.
  open func resolve(withTimeout timeout: TimeInterval) { beginResolving(timeout: timeout) }

  /// Streams to the service, which is looked for when they are opened.
  ///
  /// - Returns: Whether the service's name makes sense.
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

  /// The keys and values of a text record (RFC 6763, §6). A key without a value has an empty one;
  /// there are none where the data is no text record.
  open class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
    entries(of: txtData)
  }

  /// A text record of keys and values. Left out is what can't be in one: keys that are empty, have a
  /// `=` or are not printable ASCII, and entries above 255 bytes.
  open class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
    record(of: txtDictionary)
  }

  /// Sets what the service says about itself; nil for nothing. A service that is published says so at
  /// once.
  ///
  /// - Returns: Whether the data is a text record, of 8,192 bytes at most.
  @discardableResult
  open func setTXTRecord(_ recordData: Data?) -> Bool { changeText(recordData) }

  /// What the service says about itself: what was set, heard while resolving, or by monitoring.
  open func txtRecordData() -> Data? { withState { $0.text.map { Data($0.wireBytes) } } }

  /// Has the delegate told what the service says about itself, now and whenever that changes.
  open func startMonitoring() { beginMonitoring() }

  /// Has the delegate told no more of that.
  open func stopMonitoring() { endMonitoring() }

  // MARK: Equality

  /// Whether the other is a service of the same name, type and domain.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NetService else { return false }
    return identity == other.identity
  }

  /// Feeds from name, type and domain.
  open override var hash: Int { identity.hashValue }

  /// Name, type, domain and port, for people.
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

internal import BonjourHost
internal import DiscoveryMachines
internal import DNSWire
internal import EventLoop
internal import RunLoopSupport

/// Browses for services and domains.
///
/// A browser runs one search at a time. The delegate is called on the run loops on which the
/// browser is scheduled, initially that of the thread that created it. Releasing the browser stops
/// it.
open class NetServiceBrowser: NSObject, @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  private let discovery: any DiscoveryProvider
  private let inbox = RunLoopInbox<DelegateCall> { $0.add(to: &$1) }
  private let lock = SharedLock()
  private var search: Search?
  private var lastNumber = 0
  private var isPeerToPeer = false
  private weak var observer: (any NetServiceBrowserDelegate)?

  fileprivate struct Search {
    let number: Int
    var query: (any Sendable & AnyObject)?
    /// Reported results with their interfaces; nil for all.
    var services: [DNSName: (object: NetService, interfaces: Set<InterfaceIndex?>)] = [:]
    var domains: [DNSName: Set<InterfaceIndex?>] = [:]
  }

  private struct DelegateCall: Sendable {
    /// The search that it belongs to; nil for an event that is always delivered.
    var number: Int?
    var event: DelegateEvent

    /// Appends the notice to the waiting ones. Other hosts can cause any number: at the bound,
    /// additions and removals that cancel each other are left out.
    func add(to waiting: inout ArraySlice<DelegateCall>) {
      waiting.append(self)
      guard waiting.count > Self.waitingCountMax else { return }
      var found: [FoundEvent] = []
      waiting.removeAll { notice in
        guard notice.number == number, case .found(let events) = notice.event else { return false }
        found += events
        return true
      }
      waiting.append(DelegateCall(number: number, event: .found(found.coalesced)))
    }

    private static let waitingCountMax = 64
  }

  private enum DelegateEvent: Sendable {
    case willSearch
    case found([FoundEvent])
    case notSearched(NetServiceFailure)
    case stopped
  }

  /// Creates a browser that is scheduled on the run loop of this thread, in its default mode.
  public override init() {
    discovery = DiscoveryContext.discovery
    super.init()
    inbox.onItem { [weak self] notice in self?.handle(notice) }
    schedule(in: .ofDelegates, forMode: .default)
  }

  /// The object that receives the results; held weakly.
  open weak var delegate: (any NetServiceBrowserDelegate)? {
    get { lock.withLock { observer } }
    set { lock.withLock { observer = newValue } }
  }

  /// Whether to use peer-to-peer links as well. Without effect on Linux.
  open var includesPeerToPeer: Bool {
    get { lock.withLock { isPeerToPeer } }
    set { lock.withLock { isPeerToPeer = newValue } }
  }

  /// Schedules the browser on a run loop: the delegate is called there while it runs in the mode.
  open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.schedule(in: .forDelegates(aRunLoop), forMode: mode)
  }

  /// Removes the browser from a run loop in a mode. Results found while the browser is on no run
  /// loop are delivered when it is scheduled again; if there are many, without services that
  /// appeared and disappeared in between.
  open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.remove(from: .forDelegates(aRunLoop), forMode: mode)
  }

  // MARK: Searching

  /// Searches for the domains in which services can be browsed; `local.` is always found.
  open func searchForBrowsableDomains() { begin { .domains(.browsing) } }

  /// Searches for the domains in which services can be published; `local.` is always found.
  open func searchForRegistrationDomains() { begin { .domains(.registration) } }

  /// Searches for services of a type, or for service types.
  ///
  /// - Parameters:
  ///   - type: The type, such as `_http._tcp.`, optionally with the name of one subtype after a
  ///     comma. For `_services._dns-sd._udp.` types are found, as on Apple's systems: as services
  ///     such as `_http` with the type `_tcp.local.` in the domain `.`
  ///   - domainString: The domain; empty for the default, `local.`.
  open func searchForServices(ofType type: String, inDomain domainString: String) {
    begin { () throws(DNSWireError) in
      if let name = try? DNSName(text: type), name == "_services._dns-sd._udp." {
        return .serviceTypes(domain: try .domain(domainString))
      }
      return try .services(ofType: type, inDomain: domainString)
    }
  }

  /// Stops the search, and calls `netServiceBrowserDidStopSearch`. No effect if no search is
  /// running.
  open func stop() {
    end(nil, reporting: .stopped)
  }

  private func begin(_ makeRequest: () throws(DNSWireError) -> QueryRequest) {
    let request = try? makeRequest()
    // Calls are queued under the lock, in the order of the starts and stops of all threads.
    let number = lock.withLock { () -> Int? in
      guard search == nil, request != nil else {
        let failure: NetServiceFailure = search == nil ? .badArgument : .busy
        inbox.post(DelegateCall(event: .notSearched(failure)))
        return nil
      }
      lastNumber += 1
      search = Search(number: lastNumber)
      inbox.post(DelegateCall(number: lastNumber, event: .willSearch))
      return lastNumber
    }
    guard let number, let request else { return }
    let batches = EventBatches { [inbox] in
      inbox.post(DelegateCall(number: number, event: .found($0)))
    }
    let query = discovery.startQuery(request, on: nil) { batches.take($0) }
    lock.withLock { if search?.number == number { search?.query = query } }
  }

  /// Ends the search with a number, or the present one if nil, and has the end reported. Returns false if it isn't
  /// running.
  @discardableResult
  private func end(_ number: Int?, reporting event: DelegateEvent? = nil) -> Bool {
    let ended = lock.withLock { () -> Search? in
      guard let search, number ?? search.number == search.number else { return nil }
      self.search = nil
      // Before a start on another thread can report its own.
      if let event { inbox.post(DelegateCall(event: event)) }
      return search
    }
    // Its query is released here, outside the lock.
    return ended != nil
  }

  // MARK: Reporting

  private func handle(_ notice: DelegateCall) {
    guard lock.withLock({ notice.number == nil || notice.number == search?.number }) else { return }
    switch notice.event {
    case .willSearch: delegate?.netServiceBrowserWillSearch(self)
    case .found(let events): handle(events, of: notice.number)
    case .notSearched(let failure):
      delegate?.netServiceBrowser(self, didNotSearch: failure.dictionary)
    case .stopped: delegate?.netServiceBrowserDidStopSearch(self)
    }
  }

  private func handle(_ events: [FoundEvent], of number: Int?) {
    for event in events {
      guard case .failed(let error) = event.event else { continue }
      // Unless another thread has stopped it, which is reported then.
      guard end(number) else { return }
      delegate?.netServiceBrowser(self, didNotSearch: NetServiceFailure(error).dictionary)
      return
    }
    let changes = lock.withLock {
      // Another thread may have begun the next search.
      search?.number == number ? events.compactMap { search?.take($0, discovery) } : []
    }
    for (index, change) in changes.enumerated() {
      // The delegate may have stopped the search.
      guard lock.withLock({ search?.number == number }) else { return }
      notify(change, moreComing: index < changes.count - 1)
    }
  }

  private func notify(_ change: Change, moreComing: Bool) {
    switch change {
    case .serviceFound(let service):
      service.schedule(in: .ofDelegates, forMode: .default)
      delegate?.netServiceBrowser(self, didFind: service, moreComing: moreComing)
    case .serviceGone(let service):
      delegate?.netServiceBrowser(self, didRemove: service, moreComing: moreComing)
    case .domainFound(let name):
      delegate?.netServiceBrowser(self, didFindDomain: name, moreComing: moreComing)
    case .domainGone(let name):
      delegate?.netServiceBrowser(self, didRemoveDomain: name, moreComing: moreComing)
    }
  }

  fileprivate enum Change {
    case serviceFound(NetService)
    case serviceGone(NetService)
    case domainFound(String)
    case domainGone(String)
  }
}

extension NetServiceBrowser.Search {
  /// The change for the delegate, if any: a service is added with the first interface on which it
  /// is found, and removed with the last.
  fileprivate mutating func take(
    _ event: FoundEvent, _ discovery: any DiscoveryProvider
  ) -> NetServiceBrowser.Change? {
    switch event.event {
    case .serviceAdded(let name):
      return add(name.name, event.interface) { NetService.found(name, discovery) }
    case .serviceRemoved(let name): return remove(name.name, event.interface)
    case .typeAdded(let type):
      return add(type.relativeName, event.interface) { NetService.found(type, discovery) }
    case .typeRemoved(let type): return remove(type.relativeName, event.interface)
    case .domainAdded(let name):
      let isNew = domains[name] == nil
      domains[name, default: []].insert(event.interface)
      return isNew ? .domainFound(name.description) : nil
    case .domainRemoved(let name):
      domains[name]?.remove(event.interface)
      guard domains[name]?.isEmpty == true else { return nil }
      domains[name] = nil
      return .domainGone(name.description)
    default: return nil
    }
  }

  private mutating func add(
    _ name: DNSName, _ interface: InterfaceIndex?, _ make: () -> NetService
  ) -> NetServiceBrowser.Change? {
    guard services[name] == nil else {
      services[name]?.interfaces.insert(interface)
      return nil
    }
    let service = make()
    services[name] = (service, [interface])
    return .serviceFound(service)
  }

  private mutating func remove(
    _ name: DNSName, _ interface: InterfaceIndex?
  ) -> NetServiceBrowser.Change? {
    services[name]?.interfaces.remove(interface)
    guard let known = services[name], known.interfaces.isEmpty else { return nil }
    services[name] = nil
    return .serviceGone(known.object)
  }
}

extension QueryRequest {
  /// The request for services of a type, as Apple's API takes it.
  static func services(
    ofType text: String, inDomain domain: String?
  ) throws(DNSWireError) -> QueryRequest {
    let type = try TypeText(text)
    return .browse(type.type, subtype: type.subtypes.first, domain: try .domain(domain))
  }
}

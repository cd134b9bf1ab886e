package import BonjourHost
import DNSWire
import DiscoveryMachines
package import Essentials

/// The addresses of a host as they come in.
package struct AddressSearch: Sendable {
  /// The time by which the answers to the second question should have arrived, from the beginning.
  /// The second question follows the first after a second (RFC 6762, §5.2), since a host that has
  /// multicast its addresses less than a second ago may not answer the first (§6). Questions and
  /// answers are delayed by up to 120 ms each.
  static let secondAnswer = Duration.milliseconds(1_250)

  private var found: [InetAddress] = []
  private var absent: Set<IPVersion> = []
  private(set) var failure: QueryError?
  /// Whether a host that has one address may have been asked for others long enough.
  var isPastSecondAnswer = false
  /// Whether a host may have been asked long enough.
  var isPastLimit = false
  private var reported: [InetAddress]?

  package init() {}

  /// IPv4 first, each as it came.
  package var addresses: [InetAddress] {
    IPVersion.allCases.flatMap { version in found.filter { $0.version == version } }
  }

  /// Whether nothing has to be waited for.
  var isDone: Bool {
    if failure != nil || isPastLimit { return true }
    let known = absent.union(found.map(\.version))
    return known.count == IPVersion.allCases.count || !found.isEmpty && isPastSecondAnswer
  }

  /// Takes a result; true if nothing more has to be waited for.
  package mutating func take(_ event: FoundEvent) -> Bool {
    switch event.event {
    case .addressAdded(let address, _):
      if !found.contains(address) { found.append(address) }
      absent.remove(address.version)
    case .addressRemoved(let address): found.removeAll { $0 == address }
    case .addressAbsent(let version):
      if !found.contains(where: { $0.version == version }) { absent.insert(version) }
    case .failed(let error): failure = error
    default: break
    }
    return isDone && (!event.moreComing || failure != nil)
  }

  /// All addresses, once they are known and then whenever they have changed; nil otherwise.
  mutating func takeNews() -> [InetAddress]? {
    guard isDone || reported != nil, reported != addresses else { return nil }
    reported = addresses
    return reported
  }
}

extension NetworkSession {
  /// The addresses of a host, IPv4 first; none if it did not answer within `limit`.
  func addresses(
    of host: DNSName, on interface: InterfaceIndex?, within limit: Duration
  ) async throws -> [InetAddress] {
    let found = Guarded<[InetAddress]>([])
    try await followAddresses(of: host, on: interface, within: limit) { addresses in
      found.update { $0 = addresses }
      return false
    }
    return found.value
  }

  /// Follows the addresses of a host until the task is cancelled.
  ///
  /// - Parameters:
  ///   - limit: When the host counts as one without an address, unless it has answered.
  ///   - tell: Called with all addresses, IPv4 first, once they are known and then whenever they
  ///     have changed. False ends it.
  func followAddresses(
    of host: DNSName, on interface: InterfaceIndex?, within limit: Duration,
    _ tell: @Sendable ([InetAddress]) async -> Bool
  ) async throws {
    enum Step {
      case found(FoundEvent)
      case secondAnswer
      case limit
    }
    let (steps, continuation) = AsyncStream.makeStream(of: Step.self)
    let query = self.host.query(.addresses(host, versions: [.v4, .v6]), on: interface) {
      continuation.yield(.found($0))
    }
    let timer = Task {
      let first = min(limit, AddressSearch.secondAnswer)
      try await Task.sleep(for: first)
      continuation.yield(.secondAnswer)
      try await Task.sleep(for: limit - first)
      continuation.yield(.limit)
    }
    defer {
      query.cancel()
      timer.cancel()
    }
    var search = AddressSearch()
    for await step in steps {
      switch step {
      case .found(let event):
        _ = search.take(event)
        if let failure = search.failure { throw NetworkText.failure(failure) }
        if event.moreComing { continue }
      case .secondAnswer: search.isPastSecondAnswer = true
      case .limit: search.isPastLimit = true
      }
      if let addresses = search.takeNews(), await !tell(addresses) { return }
    }
  }
}

/// An address as it is printed: a link-local one of IPv6 with the interface on whose link it is
/// valid, as other programs take it (RFC 4007, §11).
package struct ScopedAddress: Hashable, Sendable, CustomStringConvertible {
  package var address: InetAddress
  /// What the system calls the interface on which it was heard.
  package var interface: String?

  package init(_ address: InetAddress, on interface: String?) {
    (self.address, self.interface) = (address, interface)
  }

  /// `192.0.2.1`, or `fe80::1%eth0`.
  package var description: String {
    guard case .v6(let six) = address, six.isLinkLocal, let interface else { return "\(address)" }
    return "\(address)%\(interface)"
  }
}

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

  package init() {}

  /// IPv4 first, each as it came.
  package var addresses: [InetAddress] {
    IPVersion.allCases.flatMap { version in found.filter { $0.version == version } }
  }

  /// Whether nothing has to be waited for.
  var isDone: Bool {
    if failure != nil { return true }
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
}

extension NetworkSession {
  /// The addresses of a host, IPv4 first; none if it did not answer within `limit`.
  func addresses(
    of host: DNSName, on interface: InterfaceIndex?, within limit: Duration
  ) async throws -> [InetAddress] {
    let search = Guarded(AddressSearch())
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for await event in events(of: .addresses(host, versions: [.v4, .v6]), on: interface)
        where search.update({ $0.take(event) }) { return }
      }
      group.addTask {
        let first = min(limit, AddressSearch.secondAnswer)
        try await Task.sleep(for: first)
        let isDone = search.update { search in
          search.isPastSecondAnswer = true
          return search.isDone
        }
        if !isDone { try await Task.sleep(for: limit - first) }
      }
      defer { group.cancelAll() }
      _ = try await group.next()
    }
    if let failure = search.value.failure { throw NetworkText.failure(failure) }
    return search.value.addresses
  }
}

import DNSWire
package import Essentials

/// The addresses of a host that is not on this link, such as the target of a service that was
/// registered for `printer.example.com`: the system's resolver is asked, and asked again as long as
/// the query runs, since it tells neither how long an answer is valid nor when it changes.
package struct UnicastAddresses: Sendable {
  /// What happened.
  package enum Event: Hashable, Sendable {
    /// The query began.
    case begun
    /// The resolver answered; without addresses if it knows none.
    case answered([InetAddress])
    /// The resolver could not be asked now.
    case busy
  }

  /// What to do.
  package enum Action: Hashable, Sendable {
    /// Ask the resolver for a host.
    case lookUp(String)
    /// Report an event to the client. If it is a failure, the query has ended.
    case deliver(QueryEvent, moreComing: Bool)
  }

  /// Limits.
  package enum Limits {
    /// How long an answer counts, after which the resolver is asked again.
    package static let answerSeconds: UInt32 = 60
    /// When a resolver is asked again that knows no addresses any more.
    package static let doubtPause = TimeSpan.seconds(10)
    /// The maximum number of addresses of a host.
    package static let addressesMax = 64
  }

  private let host: DNSName
  private let versions: Set<IPVersion>
  private let timeout: TimeSpan?
  /// When the query times out.
  package private(set) var endsAt: Instant?
  /// When the resolver is to be asked; nil while it is.
  package private(set) var lookUpAt: Instant?
  /// Whether the resolver has answered before, so that the next look-up is a renewal.
  package private(set) var wasAnswered = false
  /// When the last look-up was due.
  private var dueAt = Instant.zero
  private var known: [InetAddress] = []
  private var absent: Set<IPVersion> = []
  /// Whether the last answer had no addresses, and the known ones are kept until the next.
  private var isDoubtful = false

  /// Creates the state for a query; nil if it is for something else, or to be sent by multicast.
  package init?(_ request: QueryRequest, _ options: QueryOptions) {
    guard case .addresses(let host, let versions) = request, !host.isOnThisLink,
      !options.reachesBeyondLink
    else { return nil }
    self.host = host
    // All of them if none is named, as with a query by multicast.
    self.versions = versions.isEmpty ? Set(IPVersion.allCases) : versions
    timeout = options.timeout
  }

  /// Takes an event.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .begun:
      endsAt = timeout.map { now + $0 }
      // Names with other bytes than those of host names have escapes; no resolver knows them.
      if host.isRoot || hostText.contains("\\") { take([], into: &actions) } else { lookUpAt = now }
    case .answered(let addresses):
      wasAnswered = true
      // A resolver that can't reach its server gives no addresses, either: it is asked again before
      // known ones are removed.
      if addresses.isEmpty, !known.isEmpty, !isDoubtful {
        isDoubtful = true
        lookUpAt = now + Limits.doubtPause
        return
      }
      isDoubtful = false
      lookUpAt = now + .seconds(Int64(Limits.answerSeconds))
      take(addresses, into: &actions)
    // Before those that have become due since.
    case .busy: lookUpAt = dueAt
    }
  }

  /// Does what is due at ``endsAt`` or ``lookUpAt``.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    if let endsAt, endsAt <= now {
      (self.endsAt, lookUpAt) = (nil, nil)
      actions.append(.deliver(.failed(.timedOut), moreComing: false))
    } else if let lookUpAt, lookUpAt <= now {
      (self.lookUpAt, dueAt) = (nil, lookUpAt)
      actions.append(.lookUp(hostText))
    }
  }

  /// The host without the last dot, with which no name is found in /etc/hosts.
  private var hostText: String { String(host.description.dropLast()) }

  /// Reports what has changed, in the resolver's order.
  private mutating func take(_ addresses: [InetAddress], into actions: inout [Action]) {
    var new: [InetAddress] = []
    for address in addresses
    where new.count < Limits.addressesMax && versions.contains(address.version)
      && !new.contains(address)
    { new.append(address) }
    var events = known.filter { !new.contains($0) }.map { QueryEvent.addressRemoved($0) }
    events += new.filter { !known.contains($0) }.map {
      .addressAdded($0, ttlSeconds: Limits.answerSeconds)
    }
    let missing = versions.subtracting(new.map(\.version))
    events += IPVersion.allCases.filter { missing.contains($0) && !absent.contains($0) }.map {
      .addressAbsent($0)
    }
    (known, absent) = (new, missing)
    for (index, event) in events.enumerated() {
      actions.append(.deliver(event, moreComing: index < events.count - 1))
    }
  }
}

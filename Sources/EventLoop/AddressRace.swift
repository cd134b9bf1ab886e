package import Essentials

/// Decides in which order and when to connect to the addresses of a host ("Happy Eyeballs", RFC
/// 8305, §4 and §5): IP versions alternate, and the next address is tried when an attempt fails or
/// has not succeeded for a while, without ending that attempt.
package struct AddressRace<Endpoint: Hashable & Sendable>: Sendable {
  /// The time after which the next attempt starts: the Connection Attempt Delay that §5 recommends.
  package static var attemptDelay: TimeSpan { .milliseconds(250) }

  var waiting: [(endpoint: Endpoint, isIPv6: Bool)] = []
  /// The version of IP of the latest attempt; the other one is next.
  var wasIPv6: Bool?
  var running: Set<Endpoint> = []
  var tried: Set<Endpoint> = []
  /// When the next attempt may begin beside those that are running.
  private var nextAt: Instant?

  /// Creates a race without addresses.
  package init() {}

  /// Whether no attempt is running and no address is left.
  package var isExhausted: Bool { waiting.isEmpty && running.isEmpty }

  /// The time to call ``next(now:)``; nil if no timer is running.
  package var nextWake: Instant? { waiting.isEmpty || running.isEmpty ? nil : nextAt }

  /// Sets the known addresses. Addresses that were already tried are not tried again.
  package mutating func offer(_ endpoints: [Endpoint], isIPv6: (Endpoint) -> Bool) {
    tried = tried.intersection(endpoints).union(running)
    let untried = endpoints.filter { !tried.contains($0) }.map { ($0, isIPv6: isIPv6($0)) }
    waiting = Self.interleave(untried, beginningWithIPv6: wasIPv6.map { !$0 })
    assertInvariants()
  }

  /// The address to connect to now; nil if none is left, or if it is too early.
  package mutating func next(now: Instant) -> Endpoint? {
    guard let (next, isIPv6) = waiting.first else { return nil }
    if !running.isEmpty, let nextAt, now < nextAt { return nil }
    waiting.removeFirst()
    running.insert(next)
    tried.insert(next)
    wasIPv6 = isIPv6
    nextAt = now + Self.attemptDelay
    assertInvariants()
    return next
  }

  /// Records that an attempt has failed, so that the next one may start at once.
  package mutating func fail(_ endpoint: Endpoint) {
    if running.remove(endpoint) != nil { nextAt = nil }
  }

  /// Removes all addresses except those of running attempts.
  package mutating func forget() {
    waiting = []
    tried = running
  }

  /// The versions in turn, beginning with the given one, or with that of the first address; each address
  /// once.
  private static func interleave(
    _ endpoints: [(endpoint: Endpoint, isIPv6: Bool)], beginningWithIPv6 firstIsIPv6: Bool?
  ) -> [(endpoint: Endpoint, isIPv6: Bool)] {
    guard let first = endpoints.first else { return [] }
    var known: Set<Endpoint> = []
    let unique = endpoints.filter { known.insert($0.endpoint).inserted }
    let some = unique.filter { $0.isIPv6 == firstIsIPv6 ?? first.isIPv6 }
    let others = unique.filter { $0.isIPv6 != firstIsIPv6 ?? first.isIPv6 }
    let shorter = min(some.count, others.count)
    return zip(some, others).flatMap { [$0, $1] } + some[shorter...] + others[shorter...]
  }
}

extension AddressRace {
  /// Stops a debug build whose race contradicts itself. Release builds check nothing.
  func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  /// How the race contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    if !running.isSubset(of: tried) { found.append("an attempt is running that was never begun") }
    if waiting.contains(where: { tried.contains($0.endpoint) }) {
      found.append("an address waits that was tried")
    }
    if Set(waiting.map(\.endpoint)).count != waiting.count {
      found.append("an address waits twice")
    }
    if wasIPv6 == nil, !running.isEmpty { found.append("an attempt is of no version") }
    return found
  }
}

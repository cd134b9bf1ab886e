internal import Essentials

/// Bounds the unicast responses on one link, so that queries with forged source addresses can
/// neither fill the system's queues with packets for hosts that do not exist, nor have this host
/// flood another one.
struct UnicastBudget: Sendable {
  private var counts: [InetAddress: Int] = [:]
  private var endsAt = Instant.zero

  /// Counts a response to an address; false if it must not be sent.
  mutating func admits(_ address: InetAddress, now: Instant) -> Bool {
    if now >= endsAt {
      counts.removeAll(keepingCapacity: true)
      endsAt = now + ResponderConstants.unicastWindow
    }
    let count = counts[address] ?? 0
    guard count > 0 || counts.count < ResponderConstants.unicastAddressesMax,
      count < ResponderConstants.unicastResponsesMax
    else { return false }
    counts[address] = count + 1
    assert(
      counts.count <= ResponderConstants.unicastAddressesMax, "\(counts.count) addresses at once")
    return true
  }
}

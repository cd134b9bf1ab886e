/// Counts which of the hub's events a client has handled, when it acknowledges those that it got.
///
/// The client doesn't get all of the hub's events: some are of a later version, some complete requests of the
/// library itself. And it gets events that the hub doesn't know, such as the loss of a hub.
struct AcknowledgementLedger: Sendable {
  private struct Run: Sendable {
    /// How many events of the run the client got; 0 if none of them.
    var clientCount: Int
    /// How many events of the run the hub waits for: as many as the client got; or, if either number is 0, all
    /// are the other's.
    var hubCount: Int
  }

  private var runs: [Run] = []
  /// The index of the oldest run that is not handled.
  private var first = 0
  /// How many of the hub's events are not acknowledged.
  private(set) var hubCount = 0
  /// How many events the client has not handled.
  private(set) var clientCount = 0

  /// Appends an event of the hub that the client gets.
  mutating func appendShared() { append(clientCount: 1, hubCount: 1) }
  /// Appends an event of the hub that the client doesn't get.
  mutating func appendHidden() { append(clientCount: 0, hubCount: 1) }
  /// Appends an event that the hub doesn't know.
  mutating func appendOwn() { append(clientCount: 1, hubCount: 0) }

  private mutating func append(clientCount: Int, hubCount: Int) {
    self.clientCount += clientCount
    self.hubCount += hubCount
    if let last = runs.indices.last, last >= first,
      (runs[last].clientCount == 0) == (clientCount == 0),
      (runs[last].hubCount == 0) == (hubCount == 0)
    {
      runs[last].clientCount += clientCount
      runs[last].hubCount += hubCount
    } else {
      runs.append(Run(clientCount: clientCount, hubCount: hubCount))
    }
  }

  /// The client has handled this number of events. Returns how many of the hub's events that are. More than
  /// there are count as all.
  mutating func handled(_ count: Int) -> Int {
    var left = max(0, min(count, clientCount))
    clientCount -= left
    var acknowledged = 0
    while first < runs.count {
      let run = runs[first]
      let taken = min(left, run.clientCount)
      left -= taken
      if taken < run.clientCount {
        runs[first].clientCount -= taken
        if run.hubCount > 0 {
          runs[first].hubCount -= taken
          acknowledged += taken
        }
        break
      }
      acknowledged += run.hubCount
      first += 1
    }
    hubCount -= acknowledged
    compact()
    return acknowledged
  }

  /// The client has handled all events.
  mutating func handledAll() -> Int { handled(clientCount) }

  /// The hub is gone: nothing is acknowledged to it any more, but the client still counts what it got.
  mutating func hubLost() {
    let count = clientCount
    self = AcknowledgementLedger()
    if count > 0 {
      clientCount = count
      runs = [Run(clientCount: count, hubCount: 0)]
    }
  }

  private mutating func compact() {
    guard first > 0, first * 2 >= runs.count else { return }
    runs.removeFirst(first)
    first = 0
  }

  /// Whether the sums are those of the runs.
  var isConsistent: Bool {
    let rest = runs[first...]
    return rest.reduce(0) { $0 + $1.clientCount } == clientCount
      && rest.reduce(0) { $0 + $1.hubCount } == hubCount && hubCount >= 0
      && rest.allSatisfy {
        $0.clientCount == $0.hubCount || $0.clientCount == 0 || $0.hubCount == 0
      }
  }
}

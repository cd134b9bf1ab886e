internal import Essentials

/// The states of a responder's links, and which of them is to be served next. An event costs what
/// the links cost that it changes, however many there are.
struct LinkTable: Sendable {
  private var states: [MulticastLink: LinkState] = [:]
  /// The position of each link in the order in which links were added.
  private var numbers: [MulticastLink: Int] = [:]
  private var lastNumber = 0
  private var wakes = WakeQueue<MulticastLink>()

  var count: Int { states.count }
  var keys: some Collection<MulticastLink> { states.keys }
  var values: some Collection<LinkState> { states.values }

  mutating func add(_ link: MulticastLink) {
    assert(states[link] == nil, "\(link) is there already")
    states[link] = LinkState()
    lastNumber += 1
    numbers[link] = lastNumber
  }

  mutating func remove(_ link: MulticastLink) {
    states[link] = nil
    numbers[link] = nil
    wakes.forget(link)
  }

  subscript(link: MulticastLink) -> LinkState? {
    get { states[link] }
    _modify {
      wakes.record(link)
      yield &states[link]
    }
  }

  subscript(existing link: MulticastLink) -> LinkState {
    get { states[existing: link] }
    _modify {
      wakes.record(link)
      yield &states[existing: link]
    }
  }

  /// When the first link has something to do, as of the last call of ``settle()``.
  var nextWake: Instant? { wakes.next }

  /// Brings ``nextWake`` up to date.
  mutating func settle() {
    let states = states
    wakes.settle { states[$0]?.nextWake }
  }

  /// The links that have something to do at `now`, in their order.
  mutating func takeDue(now: Instant) -> [MulticastLink] {
    settle()
    let due = wakes.takeDue(now: now)
    return due.count > 1 ? due.sorted { (numbers[$0] ?? 0) < (numbers[$1] ?? 0) } : due
  }
}

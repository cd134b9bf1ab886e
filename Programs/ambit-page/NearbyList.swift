import AmbitCLI

/// The listed items and their order: a value that is updated with each change.
struct NearbyList: Sendable {
  /// What a list depends on.
  struct Content: Sendable {
    var snapshot = Nearby.Snapshot()
    var filter = NearbyFilter()
    var marks = NearbyMarks()
    /// The item that is open.
    var open: String?
    /// The maximum number of listed items.
    var countMax = NearbyPage.pageCount
  }

  enum Step: Sendable {
    case content(Content)
    case sort(NearbyOrder.Rule)
  }

  private(set) var rows: [NearbyRow] = []
  /// How many more would be listed if there were no `countMax`.
  private(set) var remainingCount = 0
  /// Whether the filter hides all items, or the search finds none.
  private(set) var isNothingListed = false
  private(set) var summary = ""
  private(set) var kinds: [NearbyChoice] = []
  private(set) var companies: [NearbyChoice] = []
  private(set) var services: [NearbyChoice] = []
  private var order = NearbyOrder()
  private var content = Content()

  /// The list after a step.
  func following(_ step: Step) -> NearbyList {
    var next = self
    switch step {
    case .content(let content): next.content = content
    case .sort(let rule): next.order.sort(content.snapshot.items, by: rule)
    }
    next.update()
    return next
  }

  private mutating func update() {
    let (items, filter, marks) = (content.snapshot.items, content.filter, content.marks)
    let listed = order.ordered(filter.filtered(items, marks))
    // What one works with is never among the rest.
    let shown = listed.enumerated().filter { place, item in
      place < content.countMax || item.id == content.open || marks.starred.contains(item.id)
        || content.snapshot.linked.contains(item.id)
    }.map(\.element)
    remainingCount = listed.count - shown.count
    rows = shown.map { item in
      NearbyRow(
        item, marks, isOpen: content.open == item.id,
        isConnected: content.snapshot.linked.contains(item.id), now: content.snapshot.now)
    }
    let here = items.filter { $0.presence != .gone }
    isNothingListed = listed.isEmpty && !(here.isEmpty && filter.text.isEmpty)
    summary = Self.summary(listed.count, here.count, filter)
    if content.snapshot.isFull { summary += "; no room for more devices" }
    let overflowCount = content.snapshot.overflowCount
    if overflowCount > 0 { summary += "; \(NearbyTable.overflow(overflowCount))" }
    kinds = NearbyChoice.all(of: here.map(\.kind.rawValue), with: filter.kind)
    companies = NearbyChoice.all(of: here.compactMap(\.company), with: filter.company)
    services = NearbyChoice.all(of: here.flatMap { Set($0.services) }, with: filter.service)
  }

  private static func summary(_ listed: Int, _ here: Int, _ filter: NearbyFilter) -> String {
    if !filter.text.isEmpty { return "\(listed) of all items seen" }
    if here == 0 { return "Listening …" }
    return listed == here ? "\(here) nearby" : "\(listed) of \(here) nearby"
  }
}

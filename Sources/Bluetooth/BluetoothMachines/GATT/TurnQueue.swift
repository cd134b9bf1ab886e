import BluetoothInterface

/// The program that an operation of a link is run for, or the host itself.
enum Requester: Hashable, Sendable {
  case host
  /// A client of the host's own process.
  case client(ClientID)
  case program(ProgramID)
}

/// A queue in which requesters take turns, with one element each: one that queues many delays another by one at a
/// time. The elements of a requester keep their order. No allocation while the lengths stay about the same.
struct TurnQueue<Element: Sendable>: Sendable {
  private struct Lane: Sendable {
    var requester: Requester
    var elements = FIFO<Element>()
  }

  /// Some may be empty, for the next requester.
  private var lanes: [Lane] = []
  /// The lanes with elements, the next one first.
  private var turns = FIFO<Int>()
  private(set) var count = 0

  /// How many elements of a requester wait.
  func count(of requester: Requester) -> Int {
    lane(of: requester).map { lanes[$0].elements.count } ?? 0
  }

  /// How many requesters wait.
  var requesterCount: Int { turns.count }

  func count(where matches: (Element) -> Bool) -> Int {
    lanes.indices.reduce(0) { $0 + lanes[$1].elements.count(where: matches) }
  }

  /// The element that `popFirst` would take.
  var first: Element? { turns.first.flatMap { lanes[$0].elements.first } }

  private func lane(of requester: Requester) -> Int? {
    lanes.indices.first { lanes[$0].requester == requester }
  }

  mutating func append(_ element: Element, of requester: Requester) {
    let lane: Int
    if let known = self.lane(of: requester) {
      lane = known
    } else if let empty = lanes.indices.first(where: { lanes[$0].elements.isEmpty }) {
      lane = empty
      lanes[empty].requester = requester
    } else {
      lane = lanes.count
      lanes.append(Lane(requester: requester))
    }
    if lanes[lane].elements.isEmpty { turns.append(lane) }
    lanes[lane].elements.append(element)
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard let lane = turns.popFirst(), let element = lanes[lane].elements.popFirst() else {
      return nil
    }
    count -= 1
    if !lanes[lane].elements.isEmpty { turns.append(lane) }
    return element
  }

  /// Takes all that match, those of each requester in their order.
  mutating func takeAll(where matches: (Element) -> Bool) -> [Element] {
    var taken: [Element] = []
    for lane in lanes.indices { taken += lanes[lane].elements.takeAll(where: matches) }
    count -= taken.count
    _ = turns.takeAll { [lanes] in lanes[$0].elements.isEmpty }
    return taken
  }
}

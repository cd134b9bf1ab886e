package import BluetoothInterface
import L2CAPMachines

/// The program that an operation of a link is run for, or the host itself.
package enum Requester: Hashable, Sendable {
  case host
  /// A client of the host's own process.
  case client(ClientID)
  case program(ProgramID)

  /// The program, if it is one of a hub's.
  package var program: ProgramID? { if case .program(let program) = self { program } else { nil } }
}

/// A queue in which requesters take turns, with one element each: one that queues many delays another by one at a
/// time. The elements of a requester keep their order. Those of a requester that is held have no turn until it is
/// released. No allocation while the lengths stay about the same.
struct TurnQueue<Element: Sendable>: Sendable {
  private struct Lane: Sendable {
    var requester: Requester
    var elements = FIFO<Element>()
    var isHeld = false

    var isUnused: Bool { elements.isEmpty && !isHeld }
  }

  /// Some may be empty, for the next requester.
  private var lanes: [Lane] = []
  /// The lanes with elements that are not held, the next one first.
  private var turns = FIFO<Int>()
  private(set) var count = 0

  /// How many elements of a requester wait.
  func count(of requester: Requester) -> Int {
    lane(of: requester).map { lanes[$0].elements.count } ?? 0
  }

  /// How many requesters wait.
  var requesterCount: Int { lanes.count { !$0.elements.isEmpty } }

  /// Whether elements of a requester wait that match.
  func contains(of requester: Requester, where matches: (Element) -> Bool) -> Bool {
    lane(of: requester).map { lanes[$0].elements.count(where: matches) > 0 } ?? false
  }

  func count(where matches: (Element) -> Bool) -> Int {
    lanes.indices.reduce(0) { $0 + lanes[$1].elements.count(where: matches) }
  }

  /// The element that `popFirst` would take.
  var first: Element? { turns.first.flatMap { lanes[$0].elements.first } }

  private func lane(of requester: Requester) -> Int? {
    lanes.indices.first { lanes[$0].requester == requester }
  }

  private mutating func ensureLane(of requester: Requester) -> Int {
    if let known = lane(of: requester) { return known }
    if let unused = lanes.indices.first(where: { lanes[$0].isUnused }) {
      lanes[unused].requester = requester
      return unused
    }
    lanes.append(Lane(requester: requester))
    return lanes.count - 1
  }

  mutating func append(_ element: Element, of requester: Requester) {
    let lane = ensureLane(of: requester)
    if lanes[lane].isUnused { turns.append(lane) }
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

  // MARK: Requesters without a turn

  /// The requesters that are held.
  var heldRequesters: [Requester] { lanes.lazy.filter(\.isHeld).map(\.requester) }

  func isHeld(_ requester: Requester) -> Bool {
    lanes.contains { $0.isHeld && $0.requester == requester }
  }

  mutating func hold(_ requester: Requester) {
    let lane = ensureLane(of: requester)
    lanes[lane].isHeld = true
    _ = turns.takeAll { $0 == lane }
  }

  mutating func release(_ requester: Requester) {
    guard let lane = lane(of: requester), lanes[lane].isHeld else { return }
    lanes[lane].isHeld = false
    if !lanes[lane].elements.isEmpty { turns.append(lane) }
  }

  mutating func releaseAll() {
    for requester in heldRequesters { release(requester) }
  }

  /// Takes the first element that matches of the requesters that are held.
  mutating func takeHeld(where matches: (Element) -> Bool) -> Element? {
    for lane in lanes.indices where lanes[lane].isHeld {
      var hasTaken = false
      let taken = lanes[lane].elements.takeAll { element in
        guard !hasTaken, matches(element) else { return false }
        hasTaken = true
        return true
      }
      count -= taken.count
      if let element = taken.first { return element }
    }
    return nil
  }
}

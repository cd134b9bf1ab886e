/// First in, first out, in one array: no allocation while its length stays about the same.
struct FIFO<Element: Sendable>: Sendable {
  private var slots: [Element?] = []
  private var head = 0

  var count: Int { slots.count - head }

  var isEmpty: Bool { head == slots.count }

  func count(where matches: (Element) -> Bool) -> Int {
    slots[head...].count { $0.map(matches) ?? false }
  }

  mutating func append(_ element: Element) { slots.append(element) }

  /// The element that `removeFirst` would take; the queue must not be empty when it is set.
  var first: Element? {
    get { isEmpty ? nil : slots[head] }
    _modify {
      precondition(!isEmpty, "an empty queue has no first element to change")
      yield &slots[head]
    }
  }

  /// Takes all that match, in their order.
  mutating func takeAll(where matches: (Element) -> Bool) -> [Element] {
    var taken: [Element] = []
    var rest = FIFO()
    while let element = popFirst() {
      if matches(element) { taken.append(element) } else { rest.append(element) }
    }
    self = rest
    return taken
  }

  mutating func popFirst() -> Element? {
    guard head < slots.count else { return nil }
    let element = slots[head].take()
    head += 1
    if head == slots.count {
      slots.removeAll(keepingCapacity: slots.capacity <= L2CAPLimits.keptQueueCapacity)
      head = 0
    } else if head >= 32, head * 2 >= slots.count {
      slots.removeFirst(head)
      head = 0
    }
    return element
  }
}

/// First in, first out, in one array: no allocation while its length stays about the same.
@usableFromInline
package struct FIFO<Element: Sendable>: Sendable {
  @usableFromInline
  var slots: [Element?] = []
  @usableFromInline
  var head = 0

  /// Room that a queue keeps when it runs empty.
  @usableFromInline static var keptCapacity: Int { 256 }

  @inlinable
  package init() {}

  @inlinable
  package var count: Int { slots.count - head }

  @inlinable
  package var isEmpty: Bool { head == slots.count }

  @inlinable
  package func count(where matches: (Element) -> Bool) -> Int {
    slots[head...].count { $0.map(matches) ?? false }
  }

  @inlinable
  package mutating func append(_ element: Element) { slots.append(element) }

  /// The element that `removeFirst` would take; the queue must not be empty when it is set.
  @inlinable
  package var first: Element? {
    get { isEmpty ? nil : slots[head] }
    _modify {
      precondition(!isEmpty, "an empty queue has no first element to change")
      yield &slots[head]
    }
  }

  /// Takes all that match, in their order.
  @inlinable
  package mutating func takeAll(where matches: (Element) -> Bool) -> [Element] {
    var taken: [Element] = []
    var rest = FIFO()
    while let element = popFirst() {
      if matches(element) { taken.append(element) } else { rest.append(element) }
    }
    self = rest
    return taken
  }

  @inlinable
  package mutating func popFirst() -> Element? {
    guard head < slots.count else { return nil }
    let element = slots[head].take()
    head += 1
    if head == slots.count {
      slots.removeAll(keepingCapacity: slots.capacity <= Self.keptCapacity)
      head = 0
    } else if head >= 32, head * 2 >= slots.count {
      slots.removeFirst(head)
      head = 0
    }
    return element
  }
}

/// A first-in, first-out queue of values.
struct FIFO<Element>: Sequence {
  /// Nil where an element has been taken out: it must not be destroyed later, under the lock that
  /// may guard the queue.
  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    // Half of the array is kept for places that are empty, at most.
    if head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  func makeIterator() -> some IteratorProtocol<Element> {
    elements[head...].lazy.compactMap { $0 }.makeIterator()
  }
}

/// Values that wait for their turn.
struct WaitingLine<Element>: Sequence {
  private var elements: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head]
    head += 1
    // Half of the array is kept for elements that are gone, at most.
    if head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  func makeIterator() -> ArraySlice<Element>.Iterator {
    elements[head...].makeIterator()
  }
}

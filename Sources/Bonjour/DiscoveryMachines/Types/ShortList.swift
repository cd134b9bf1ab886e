/// A list that mostly has one element, for which it needs no memory of its own: there are thousands
/// of such lists.
struct ShortList<Element: Sendable>: Sequence, Sendable {
  private(set) var first: Element?
  /// Empty where there is no first.
  private var rest: [Element] = []

  init(_ element: Element? = nil) { first = element }

  var count: Int { (first == nil ? 0 : 1) + rest.count }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { rest.append(element) }
  }

  mutating func removeAll(where isGone: (Element) -> Bool) {
    rest.removeAll(where: isGone)
    if first.map(isGone) ?? false { first = rest.isEmpty ? nil : rest.removeFirst() }
    assert(first != nil || rest.isEmpty, "a list with elements has a first one")
  }

  struct Iterator: IteratorProtocol {
    fileprivate var first: Element?
    fileprivate var rest: IndexingIterator<[Element]>

    mutating func next() -> Element? { first.take() ?? rest.next() }
  }

  func makeIterator() -> Iterator { Iterator(first: first, rest: rest.makeIterator()) }
}

/// Elements in the order of insertion, each removed by the token that its insertion returned.
///
/// Unlike ``Bag`` it isn't a collection. In return, a removal leaves a hole, and holes are closed when
/// they are more than half, so that removing all of many elements isn't quadratic.
struct TokenList<Element> {
  /// Identifies an element.
  struct Token: Sendable {
    fileprivate let value: UInt64
  }

  /// The elements with their tokens, which rise; nil for a hole.
  private var slots: ContiguousArray<(token: UInt64, element: Element?)> = []
  private var holes = 0
  private var nextToken: UInt64 = 0

  /// The elements, from the oldest to the newest.
  var elements: [Element] { slots.compactMap(\.element) }

  /// Appends an element.
  @discardableResult
  mutating func insert(_ element: Element) -> Token {
    defer { nextToken += 1 }
    slots.append((nextToken, element))
    return Token(value: nextToken)
  }

  /// Removes an element.
  ///
  /// - Returns: The element; nil if it was already removed.
  @discardableResult
  mutating func remove(using token: Token) -> Element? {
    let index = firstIndex(notBelow: token.value)
    guard index < slots.endIndex, slots[index].token == token.value,
      let element = slots[index].element
    else { return nil }
    slots[index].element = nil
    holes += 1
    if holes * 2 > slots.count {
      slots.removeAll { $0.element == nil }
      holes = 0
    }
    return element
  }

  private func firstIndex(notBelow token: UInt64) -> Int {
    var (low, high) = (slots.startIndex, slots.endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if slots[middle].token < token { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension TokenList: Sendable where Element: Sendable {}

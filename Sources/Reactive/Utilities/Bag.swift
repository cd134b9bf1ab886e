/// A collection whose elements are removed by the token that inserting them returned. It keeps the
/// order of insertion.
public struct Bag<Element> {
  /// Identifies an element of a bag, to remove it.
  public struct Token: Sendable {
    fileprivate let value: UInt64
  }

  private var elements: ContiguousArray<Element> = []
  /// The token of each element. Tokens are handed out in rising order and elements never move
  /// past one another, so this is sorted.
  private var tokens: ContiguousArray<UInt64> = []
  private var nextToken: UInt64 = 0

  /// An empty bag.
  public init() {}

  /// Creates a bag of the given elements. They can't be removed, as they have no tokens.
  public init<S: Sequence>(_ elements: S) where S.Element == Element {
    self.elements = ContiguousArray(elements)
    nextToken = UInt64(self.elements.count)
    tokens = ContiguousArray(0..<nextToken)
  }

  /// Appends an element.
  ///
  /// - Returns: The token to remove it.
  @discardableResult
  public mutating func insert(_ value: Element) -> Token {
    let token = Token(value: nextToken)
    // At a thousand million insertions a second it takes 584 years to overflow.
    nextToken += 1
    elements.append(value)
    tokens.append(token.value)
    return token
  }

  /// Removes an element.
  ///
  /// - Returns: The element; nil if it was already removed.
  @discardableResult
  public mutating func remove(using token: Token) -> Element? {
    var low = tokens.startIndex
    var high = tokens.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if tokens[middle] < token.value { low = middle + 1 } else { high = middle }
    }
    guard low < tokens.endIndex, tokens[low] == token.value else { return nil }
    tokens.remove(at: low)
    return elements.remove(at: low)
  }
}

extension Bag: Sendable where Element: Sendable {}

extension Bag: RandomAccessCollection {
  /// The position of the oldest element.
  public var startIndex: Int { elements.startIndex }

  /// The position after the newest element.
  public var endIndex: Int { elements.endIndex }

  /// The element at a position, counted from the oldest.
  public subscript(index: Int) -> Element { elements[index] }

  /// Iterates from the oldest element to the newest.
  public func makeIterator() -> Iterator {
    Iterator(base: elements.makeIterator())
  }

  /// Iterates over a bag, from the oldest element to the newest.
  public struct Iterator: IteratorProtocol {
    fileprivate var base: ContiguousArray<Element>.Iterator

    /// The next element; nil after the last.
    public mutating func next() -> Element? {
      base.next()
    }
  }
}

extension Bag.Iterator: Sendable where Element: Sendable {}

extension ArraySlice {
  /// Removes and returns the first element. Unlike `popFirst`, which leaves it in the storage that
  /// slices share, this releases all removed elements once the slice is empty.
  package mutating func takeFirst() -> Element? {
    defer { if isEmpty { self = [] } }
    return popFirst()
  }
}

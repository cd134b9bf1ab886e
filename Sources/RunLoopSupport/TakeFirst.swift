extension ArraySlice {
  /// Takes the first element. Unlike `popFirst`, which leaves it in the memory that slices share, it
  /// lets go of everything that was taken once nothing is left.
  package mutating func takeFirst() -> Element? {
    defer { if isEmpty { self = [] } }
    return popFirst()
  }
}

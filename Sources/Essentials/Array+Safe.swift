extension Array {
  /// The element; nil where the index is out of bounds.
  package subscript(safe index: Int) -> Element? {
    indices.contains(index) ? self[index] : nil
  }
}

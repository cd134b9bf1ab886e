extension Array {
  /// Removes all elements, the first one first, and keeps the storage.
  ///
  /// The elements are moved: a loop over the array would copy each one, and emptying it afterwards
  /// destroy each one once more.
  @inlinable
  package mutating func takeEach(_ body: (consuming Element) -> Void) {
    // The buffer swaps by moving, the array by copying.
    if count > 1 { unsafe withUnsafeMutableBufferPointer { unsafe $0.reverse() } }
    while let element = popLast() { body(element) }
  }
}

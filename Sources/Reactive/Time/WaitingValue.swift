/// The latest of the values that came, which waits for its time.
///
/// An optional would do, but its type would have to be looked up for every value. Values are put in
/// one after the other; everything else is as for any struct. It must be destroyed in the end.
struct WaitingValue<Value> {
  private let cells = UnsafeMutablePointer<Value>.allocate(capacity: 2)
  private var index = 0

  /// Whether a value waits.
  private(set) var isThere = false

  /// Replaces the value that waits.
  ///
  /// - Returns: Where that still is, if there was one: to be deinitialised before the next is put
  ///   in, and not under a lock, since it may run anything.
  @inline(__always)
  mutating func put(_ value: Value) -> UnsafeMutablePointer<Value>? {
    let replaced = isThere ? cells + index : nil
    index ^= 1
    (cells + index).initialize(to: value)
    isThere = true
    return replaced
  }

  /// Takes the value out, which must be there.
  @inline(__always)
  mutating func take() -> Value {
    isThere = false
    return (cells + index).move()
  }

  func destroy() {
    if isThere { (cells + index).deinitialize(count: 1) }
    cells.deallocate()
  }
}

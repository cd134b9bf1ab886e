/// A first-in, first-out queue of values, in memory of its own.
///
/// An array, or an optional, of a type that is only known at run time costs several times as much,
/// because the type has to be looked up for every value. And this is a class, whose properties are
/// only loaded and stored: so nothing has to be checked for exclusive access at run time, as it
/// would be where a method of a struct changes an object's property.
///
/// It is guarded by what guards its owner's state.
final class FIFO<Value> {
  private var start: UnsafeMutablePointer<Value>
  private var capacity: Int
  private var head = 0
  private var end = 0

  private static var minimalCapacity: Int { 16 }
  /// More than this is given back when it has been used once.
  private static var keptCapacityMax: Int { 4096 }

  /// - Parameter capacity: How many values there is room for at first. Two will do where
  ///   ``replace(with:)`` is all that puts values in.
  init(capacity: Int = minimalCapacity) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit {
    (start + head).deinitialize(count: count)
    start.deallocate()
  }

  @inline(__always)
  var count: Int { end - head }
  @inline(__always)
  var isEmpty: Bool { head == end }

  /// Copies of the values.
  var values: [Value] { Array(UnsafeBufferPointer(start: first, count: count)) }

  @inline(__always)
  func append(_ value: Value) {
    if end == capacity { makeRoom() }
    (start + end).initialize(to: value)
    end += 1
  }

  /// The oldest value. There must be one.
  @inline(__always)
  var first: UnsafeMutablePointer<Value> { start + head }

  // Called, it would look up the type for every value.
  @inline(__always)
  func removeFirst() {
    (start + head).deinitialize(count: 1)
    head += 1
  }

  /// Takes the oldest value out. There must be one.
  @inline(__always)
  func takeFirst() -> Value {
    let value = (start + head).move()
    head += 1
    return value
  }

  /// Takes the oldest value out, if there is one.
  func popFirst() -> Value? {
    isEmpty ? nil : takeFirst()
  }

  /// Puts a value in the place of the only one, or of none.
  ///
  /// - Returns: Where the one before still is, if there was one: to be deinitialised before the next
  ///   is put in, and not under a lock, since it may run anything.
  @inline(__always)
  func replace(with value: Value) -> UnsafeMutablePointer<Value>? {
    let replaced = isEmpty ? nil : first
    head = (head & 1) ^ 1
    end = head + 1
    first.initialize(to: value)
    return replaced
  }

  /// Exchanges all values with those of `other`. A new one to be deinitialised when the lock is free
  /// is how to drop them.
  func exchange(with other: FIFO) {
    (start, other.start) = (other.start, start)
    (capacity, other.capacity) = (other.capacity, capacity)
    (head, other.head) = (other.head, head)
    (end, other.end) = (other.end, end)
  }

  /// To be called when empty, before the next value is put in.
  func reset() {
    head = 0
    end = 0
    guard capacity > Self.keptCapacityMax else { return }
    start.deallocate()
    capacity = Self.minimalCapacity
    start = .allocate(capacity: capacity)
  }

  /// Moves the values to the front; to more memory, if they fill half of this or more.
  @inline(never)
  private func makeRoom() {
    let count = count
    if count * 2 < capacity {
      start.moveInitialize(from: start + head, count: count)
    } else {
      let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity * 2)
      larger.moveInitialize(from: start + head, count: count)
      start.deallocate()
      start = larger
      capacity *= 2
    }
    head = 0
    end = count
  }
}

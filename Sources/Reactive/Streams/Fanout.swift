/// Delivers to several observers, in the order in which they subscribed.
///
/// Used only from inside the gate. An observer that is added while a value is delivered waits for
/// the next one; one that is removed gets nothing more.
final class Fanout<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private typealias Slot = Unmanaged<StreamObserver<Value, Error>>?

  private var slots: UnsafeMutablePointer<Slot>
  private var count = 0
  private var capacity = 4
  private var holes = 0
  private var depth = 0
  /// The slots by observer, so that removing many observers isn't quadratic. Nil while they are few.
  private var indices: [UnsafeMutableRawPointer: Int]?

  /// The count from which a removal looks its slot up, instead of passing over all slots.
  private static var indexedCountMin: Int { 64 }

  override init() {
    slots = .allocate(capacity: capacity)
  }

  deinit {
    for index in 0..<count { slots[index]?.release() }
    slots.deallocate()
  }

  var isEmpty: Bool { count == holes }

  func add(_ observer: StreamObserver<Value, Error>) {
    if count == capacity { grow() }
    let slot = Unmanaged.passRetained(observer)
    (slots + count).initialize(to: slot)
    indices?[slot.toOpaque()] = count
    count += 1
  }

  /// - Returns: The observer, if it was there.
  func remove(_ observer: AnyObject) -> StreamObserver<Value, Error>? {
    let pointer = Unmanaged.passUnretained(observer).toOpaque()
    guard let index = index(of: pointer) else { return nil }
    let removed = slots[index]?.takeRetainedValue()
    slots[index] = nil
    indices?[pointer] = nil
    holes += 1
    if depth == 0 && holes * 2 > count { closeHoles() }
    return removed
  }

  private func index(of pointer: UnsafeMutableRawPointer) -> Int? {
    guard count >= Self.indexedCountMin else {
      return (0..<count).first { slots[$0]?.toOpaque() == pointer }
    }
    if indices == nil { buildIndices() }
    return indices?[pointer]
  }

  private func buildIndices() {
    indices = Dictionary(minimumCapacity: count)
    for index in 0..<count {
      if let pointer = slots[index]?.toOpaque() { indices?[pointer] = index }
    }
  }

  override func receive(_ value: Value) {
    depth += 1
    // The slots may move meanwhile, never those before `end` among themselves.
    let end = count
    var index = 0
    while index < end {
      slots[index]?._withUnsafeGuaranteedRef { $0.receive(value) }
      index += 1
    }
    depth -= 1
    if depth == 0 && holes * 2 > count { closeHoles() }
  }

  override func terminate(_ termination: Termination<Error>) {
    depth += 1
    let end = count
    for index in 0..<end {
      slots[index]?._withUnsafeGuaranteedRef { $0.terminate(termination) }
    }
    depth -= 1
  }

  private func grow() {
    let larger = UnsafeMutablePointer<Slot>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: slots, count: count)
    slots.deallocate()
    slots = larger
    capacity *= 2
  }

  private func closeHoles() {
    var kept = 0
    for index in 0..<count {
      guard let observer = slots[index] else { continue }
      slots[kept] = observer
      kept += 1
    }
    count = kept
    holes = 0
    if indices != nil { if count < Self.indexedCountMin { indices = nil } else { buildIndices() } }
  }
}

extension Fanout: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body((0..<count).compactMap { slots[$0]?.takeUnretainedValue() })
    return true
  }
}

/// Memory at an address that stays, for numbers that the page reads.
@safe
struct Buffer<Element: BitwiseCopyable & ExpressibleByIntegerLiteral> {
  let count: Int
  private let memory: UnsafeMutablePointer<Element>

  init(count: Int) {
    self.count = count
    unsafe memory = .allocate(capacity: max(1, count))
    unsafe memory.initialize(repeating: 0, count: max(1, count))
  }

  subscript(index: Int) -> Element {
    get { unsafe memory[checked(index)] }
    nonmutating set { unsafe memory[checked(index)] = newValue }
  }

  /// Where it is, as a page counts: in bytes from the beginning of memory.
  var address: Int { Int(bitPattern: unsafe UnsafeRawPointer(memory)) }

  func deallocate() { unsafe memory.deallocate() }

  private func checked(_ index: Int) -> Int {
    precondition(index >= 0 && index < count, "outside of a buffer")
    return index
  }
}

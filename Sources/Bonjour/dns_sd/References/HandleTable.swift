import Synchronization

/// C callers hold numbers that look like pointers. They are looked up, never dereferenced: an
/// invalid pointer, or one that was freed, is a number that is not in the table.
final class HandleTable<Object: Sendable>: Sendable {
  private let objects = Mutex<[UInt: Object]>([:])
  private let lastNumber = Atomic<UInt>(0)

  /// A number that never came before; multiples of 16, as what malloc gives.
  func makeHandle() -> OpaquePointer {
    var handle: OpaquePointer?
    repeat {
      handle = OpaquePointer(bitPattern: lastNumber.wrappingAdd(16, ordering: .relaxed).newValue)
    } while handle == nil
    return handle.unsafelyUnwrapped
  }

  /// The object with a number; nil if the number is unknown.
  subscript(handle: OpaquePointer?) -> Object? {
    get { objects.withLock { $0[UInt(bitPattern: handle)] } }
    set { objects.withLock { $0[UInt(bitPattern: handle)] = newValue } }
  }

  /// Removes the object with a number.
  @discardableResult
  func remove(_ handle: OpaquePointer?) -> Object? {
    objects.withLock { $0.removeValue(forKey: UInt(bitPattern: handle)) }
  }

  /// How many objects there are.
  var count: Int { objects.withLock { $0.count } }
}

internal import EventLoop

/// A service, characteristic or descriptor: something with a UUID in an attribute database.
open class CBAttribute: NSObject, @unchecked Sendable {
  // Unchecked: `uuid` is constant; subclasses keep their state behind `lock`.

  private let uuidStorage: CBUUID
  /// Guards the stored properties: a peripheral's attributes share their manager's lock, the
  /// mutable ones have their own. Never held while another is taken.
  let lock: SharedLock

  init(uuid: CBUUID, lock: SharedLock) {
    uuidStorage = uuid
    self.lock = lock
    super.init()
  }

  /// The UUID of the attribute: its type.
  open var uuid: CBUUID { uuidStorage }
}

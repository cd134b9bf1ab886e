import Glibc

/// Marks threads that deal with a host's events, so that code which waits for those events, like
/// `VirtualRadio.advance`, can refuse to run there instead of waiting for ever.
package enum EventThread {
  /// Thread-specific data (pthread_key_create(3)), as this is set for every batch of events.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether this thread deals with events.
  package static var isCurrent: Bool {
    guard let key else { return false }
    return unsafe pthread_getspecific(key) != nil
  }

  /// Deals with events on this thread.
  package static func run(_ body: () -> Void) {
    guard let key else { return body() }
    let before = unsafe pthread_getspecific(key)
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    defer { unsafe pthread_setspecific(key, before) }
    body()
  }
}

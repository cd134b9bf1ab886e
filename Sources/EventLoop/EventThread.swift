import Glibc

/// Marks threads that handle a host's events. A function that waits for those events, such as
/// `VirtualRadio.advance`, refuses to run on such a thread, where it would deadlock.
package enum EventThread {
  /// Thread-specific data (pthread_key_create(3)), as this is set for every batch of events.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether the current thread is handling events.
  package static var isCurrent: Bool {
    guard let key else { return false }
    return unsafe pthread_getspecific(key) != nil
  }

  /// Runs a closure and marks this thread as handling events meanwhile.
  package static func run(_ body: () -> Void) {
    guard let key else { return body() }
    let before = unsafe pthread_getspecific(key)
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    defer { unsafe pthread_setspecific(key, before) }
    body()
  }
}

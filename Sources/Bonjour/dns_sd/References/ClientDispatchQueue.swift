import Glibc

/// A client's `dispatch_queue_t`, used through the client's own libdispatch: the queue is that
/// library's, and this one may have been built with another.
final class ClientDispatchQueue: @unchecked Sendable {
  // Sendable because libdispatch's functions may be called from any thread.

  typealias Work = @convention(c) (UnsafeMutableRawPointer?) -> Void
  private typealias Count = @convention(c) (OpaquePointer) -> Void
  private typealias Async = @convention(c) (OpaquePointer, UnsafeMutableRawPointer?, Work) -> Void

  private let queue: OpaquePointer
  private let release: Count
  private let asynchronously: Async

  /// Takes part in owning the queue; nil where the process has no libdispatch.
  init?(_ queue: OpaquePointer) {
    guard let retain = dlsym(nil, "dispatch_retain"), let release = dlsym(nil, "dispatch_release"),
      let asynchronously = dlsym(nil, "dispatch_async_f")
    else { return nil }
    self.queue = queue
    self.release = unsafeBitCast(release, to: Count.self)
    self.asynchronously = unsafeBitCast(asynchronously, to: Async.self)
    unsafeBitCast(retain, to: Count.self)(queue)
  }

  deinit { release(queue) }

  /// Has work done on the queue, soon.
  func async(_ context: UnsafeMutableRawPointer, _ work: Work) {
    asynchronously(queue, context, work)
  }
}

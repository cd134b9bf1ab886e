#if Messaging
  internal import NIOCore
  internal import Synchronization

  /// The stores that hosts of this process are closing, so that opening one of them again waits for that.
  enum ClosingStores {
    private static let closings = Mutex<[String: EventLoopFuture<Void>]>([:])

    /// The store at `path` is being closed until the future has a result.
    static func add(_ path: String, _ closed: EventLoopFuture<Void>) {
      closings.withLock { $0[path] = closed }
      closed.whenComplete { _ in
        closings.withLock { if $0[path] === closed { $0[path] = nil } }
      }
    }

    /// Blocks until the store at `path` is closed, if it is being closed. Not for event loops.
    static func wait(for path: String) {
      try? closings.withLock { $0[path] }?.wait()
    }
  }
#endif

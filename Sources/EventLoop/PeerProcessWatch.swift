/// Reports the end of the process that connected a UNIX socket. Used on its loop only; its owner must call
/// ``close()``, or wait for `onEnd`.
///
/// The end of the connection isn't enough: a child of the process that doesn't execute another program has the
/// socket, too, and keeps the connection open (fork(2)).
package final class PeerProcessWatch {
  private var watched: WatchedDescriptor?
  private let onEnd: () -> Void

  /// Watches the process at the other end of a connected socket.
  ///
  /// - Parameters:
  ///   - socket: The socket, which is not needed later.
  ///   - loop: The event loop on which the watch is used.
  ///   - onEnd: Called once when the process has ended.
  /// - Returns: Nil if the system gives no descriptor of the process: on a kernel before 6.5, or without a free
  ///   descriptor.
  package init?(of socket: Int32, on loop: EpollLoop, onEnd: @escaping () -> Void) {
    guard let descriptor = PinnedPeer.descriptor(of: socket) else { return nil }
    self.onEnd = onEnd
    let watched = try? WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.ended()
    }
    guard let watched else { return nil }
    self.watched = watched
  }

  /// Ends the watch; `onEnd` is not called.
  package func close() {
    watched?.close()
    watched = nil
  }

  private func ended() {
    close()
    onEnd()
  }
}

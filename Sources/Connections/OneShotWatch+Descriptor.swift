internal import EventLoop

extension OneShotWatch {
  enum Kind { case reading, writing }

  /// Creates a watch of a socket on the loop that the process shares.
  ///
  /// - Parameter onReady: Called on the loop; it must not wait.
  convenience init(
    _ kind: Kind, _ descriptor: Descriptor, onReady: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    // epoll knows each descriptor once.
    let descriptor = kind == .reading ? descriptor : try descriptor.duplicate()
    self.init(
      descriptor.number, ownedBy: descriptor, for: kind == .reading ? .readable : .writable,
      on: .shared, onReady: onReady)
  }
}

import Glibc
import NIOCore
import NIOPosix

extension Channel {
  /// Keeps the programs that this one starts from having the channel's descriptors too, as swift-nio
  /// lets them: a connection would not end, a port or a radio not be free, before they do. On the
  /// channel's event loop.
  func closeOnExec() {
    let operations = pipeline.syncOperations
    let socket = try? operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 }
    if let socket { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
  }

  /// Prepares a channel that accepts connections: where no descriptor is free it waits for a second,
  /// since swift-nio would try again and again without a pause; and see ``closeOnExec()``.
  func prepareToAccept() -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      closeOnExec()
      try pipeline.syncOperations.addHandler(
        AcceptBackoffHandler(shouldForwardIOErrorCaught: false))
    }
  }
}

extension NIOPipeBootstrap {
  /// Makes a channel of a descriptor that is read and written. It belongs to the channel from then on,
  /// and is closed if there can be none.
  ///
  /// swift-nio has a method for that which ends the program where no descriptor is free, and lets the
  /// programs that this one starts have the one that it makes.
  func owning(_ descriptor: Int32, on eventLoop: any EventLoop) -> EventLoopFuture<
    any Channel
  > {
    let second = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard second >= 0 else {
      let error = IOError(errnoCode: errno, reason: "fcntl")
      close(descriptor)
      return eventLoop.makeFailedFuture(error)
    }
    return takingOwnershipOfDescriptors(input: descriptor, output: second)
  }
}

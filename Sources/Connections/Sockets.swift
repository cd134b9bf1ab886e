internal import Dispatch
internal import Glibc
internal import EventLoop

/// A descriptor that is closed when it is released.
final class Descriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { Glibc.close(number) }

  /// A new TCP socket that doesn't wait.
  static func tcp(_ family: Int32) throws(SystemError) -> Descriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let number = socket(family, type, 0)
    guard number >= 0 else { throw .current }
    return Descriptor(number)
  }

  /// Another descriptor of the same socket.
  func duplicate() throws(SystemError) -> Descriptor {
    let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw .current }
    return Descriptor(copy)
  }

  func set(_ level: Int32, _ option: Int32, to value: Int32) {
    var value = value
    setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The error that a socket has in store; 0 for none.
  var pendingError: Int32 {
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let result = getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
    return result == 0 ? error : errno
  }

  /// Waits until the socket is ready for one of the events of poll(2).
  func wait(for events: Int32) {
    var entry = pollfd(fd: number, events: Int16(events), revents: 0)
    while poll(&entry, 1, -1) < 0, errno == EINTR {}
  }
}

/// Calls a closure once, after a delay, unless the timer was released before.
package final class OneShotTimer: @unchecked Sendable {
  // Unchecked: Dispatch's sources are thread-safe, but their type isn't marked so.

  private let source: any DispatchSourceTimer

  /// - Parameter call: Called on a system thread.
  package init(afterSeconds seconds: Double, _ call: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: .global())
    source.schedule(deadline: .now() + seconds)
    source.setEventHandler(handler: call)
    source.resume()
  }

  deinit { source.cancel() }
}

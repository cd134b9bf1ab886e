import CLinux
import Glibc

/// The operations of a descriptor that don't block. After an error, and at the end, both are set:
/// reading and writing then report the error.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let readable = Readiness(rawValue: 1)
  package static let writable = Readiness(rawValue: 2)

  init(events: UInt32) {
    let ended = EPOLLERR.rawValue | EPOLLHUP.rawValue
    self = []
    if events & (EPOLLIN.rawValue | ended) != 0 { insert(.readable) }
    if events & (EPOLLOUT.rawValue | ended) != 0 { insert(.writable) }
  }

  /// With no interest, edge-triggered: the end of a descriptor, which epoll always reports, is then
  /// reported once and not in every turn.
  var events: UInt32 {
    if isEmpty { return EPOLLET.rawValue }
    return (contains(.readable) ? EPOLLIN.rawValue : 0)
      | (contains(.writable) ? EPOLLOUT.rawValue : 0)
  }
}

/// A descriptor that a loop watches until it is closed. Used on that loop only.
///
/// The loop retains it until then, so its owner must call ``close()``: releasing it does not close
/// it.
package final class WatchedDescriptor {
  package let descriptor: Int32
  private let loop: EpollLoop
  private var number: UInt64?
  private(set) var onReady: (Readiness) -> Void

  /// Whether the next event is likely to follow within microseconds, as from a process on the same
  /// machine: then the loop polls for a moment before it sleeps.
  package var expectsPromptEvents = false

  /// The readiness to watch for; reported repeatedly while it lasts.
  package var interest = Readiness.readable {
    didSet { if let number, interest != oldValue { loop.change(self, number) } }
  }

  /// Takes ownership of a non-blocking descriptor, and starts watching it. Closes it if that fails.
  ///
  /// - Parameter onReady: Called on the loop; released when the descriptor is closed.
  package init(
    owning descriptor: Int32, on loop: EpollLoop, onReady: @escaping (Readiness) -> Void
  ) throws(SystemError) {
    self.descriptor = descriptor
    self.loop = loop
    self.onReady = onReady
    do throws(SystemError) { number = try loop.add(self) } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Whether it is open.
  package var isOpen: Bool { number != nil }

  /// Closes the descriptor. `onReady` is not called afterwards.
  package func close() {
    if isOpen { Glibc.close(release()) }
  }

  /// Stops watching and returns the open descriptor, which the caller must close. Only while it is
  /// open.
  package func release() -> Int32 {
    guard let number else { preconditionFailure("the descriptor is closed") }
    self.number = nil
    loop.remove(self, number)
    onReady = { _ in }
    return descriptor
  }
}

package import Essentials
import Glibc

/// The reason why a connection failed.
package enum ConnectError: Error, Hashable, Sendable {
  /// The host has no addresses.
  case unknownHost
  /// No address answered in time.
  case timedOut
  /// The error of the last address.
  case system(SystemError)
}

/// Connects a stream socket to the first address of a host that answers, or to a path. Used for one
/// connection, on its loop only.
///
/// The addresses are tried in order. The next one is tried when one fails or doesn't answer for a
/// quarter of a second (RFC 8305, §5); the first that answers is used.
package final class StreamConnector {
  package typealias Completion = (Result<Int32, ConnectError>) -> Void

  private let loop: EpollLoop
  private var completion: Completion?
  private var remaining: ArraySlice<SocketAddress> = []
  private var attempts: [WatchedDescriptor] = []
  private var lastError: SystemError?
  private var deadline: (any LoopTimer)?
  private var nextAttempt: (any LoopTimer)?

  /// RFC 8305, §8: "Connection Attempt Delay".
  private static let attemptDelay = TimeSpan.milliseconds(250)
  /// After so long a UNIX socket whose queue of connections is full is tried again.
  private static let fullQueueDelay = TimeSpan.milliseconds(10)

  /// - Parameters:
  ///   - loop: The event loop.
  ///   - timeout: The timeout, including the lookup.
  ///   - completion: Called once with a connected, non-blocking socket, which it owns, possibly
  ///     before the method that connects returns. Not called after ``cancel()``.
  package init(on loop: EpollLoop, timeout: TimeSpan, completion: @escaping Completion) {
    self.loop = loop
    self.completion = completion
    deadline = loop.makeTimer { [weak self] in self?.finish(.failure(.timedOut)) }
    deadline?.set(.now + timeout)
  }

  /// Connects by TCP.
  package func connect(toHost host: String, port: UInt16) {
    NameLookup.addresses(of: host, port: port, on: loop) { [weak self] addresses in
      guard let addresses else {
        // The error of a system call that is temporarily out of resources.
        self?.finish(.failure(.system(SystemError(number: EAGAIN))))
        return
      }
      self?.connect(to: addresses)
    }
  }

  /// Connects to the first of the addresses that answers.
  package func connect(to addresses: [SocketAddress]) {
    guard completion != nil else { return }
    remaining = addresses[...]
    nextAttempt = loop.makeTimer { [weak self] in self?.tryNext() }
    tryNext()
  }

  /// Cancels the attempt. The completion is not called.
  package func cancel() {
    completion = nil
    stop()
  }

  private func stop() {
    deadline?.cancel()
    nextAttempt?.cancel()
    for attempt in attempts { attempt.close() }
    attempts = []
    remaining = []
  }

  private func finish(_ result: Result<Int32, ConnectError>) {
    guard let completion else { return }
    self.completion = nil
    stop()
    completion(result)
  }

  private func tryNext() {
    while completion != nil, let address = remaining.popFirst() {
      do throws(SystemError) {
        return try attempt(address)
      } catch {
        lastError = error
      }
    }
    guard completion != nil, attempts.isEmpty else { return }
    finish(.failure(lastError.map(ConnectError.system) ?? .unknownHost))
  }

  private func attempt(_ address: SocketAddress) throws(SystemError) {
    let descriptor = try address.makeSocket()
    if address.with({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 {
      return finish(.success(descriptor))
    }
    let error = SystemError.current
    switch error.number {
    case EINPROGRESS: try watch(descriptor)
    // The queue of a UNIX socket is full: there is no notification when it has room (connect(2)).
    case EAGAIN where address.family == AF_UNIX:
      close(descriptor)
      remaining.insert(address, at: remaining.startIndex)
      nextAttempt?.set(.now + Self.fullQueueDelay)
    default:
      close(descriptor)
      throw error
    }
  }

  private func watch(_ descriptor: Int32) throws(SystemError) {
    let attempt = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.answered(descriptor)
    }
    attempt.interest = .writable
    attempts.append(attempt)
    if !remaining.isEmpty { nextAttempt?.set(.now + Self.attemptDelay) }
  }

  private func answered(_ descriptor: Int32) {
    guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
    let attempt = attempts.remove(at: index)
    var number: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let status = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
    if status != 0 { number = errno }
    guard number != 0 else { return finish(.success(attempt.release())) }
    attempt.close()
    lastError = SystemError(number: number)
    nextAttempt?.cancel()
    tryNext()
  }
}

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
/// The addresses are tried as ``AddressRace`` decides; the first that answers is used.
package final class StreamConnector {
  package typealias Completion = (Result<Int32, ConnectError>) -> Void

  private let loop: EpollLoop
  private var completion: Completion?
  private var race = AddressRace<SocketAddress>()
  private var attempts: [SocketAddress: WatchedDescriptor] = [:]
  private var lastError: SystemError?
  private var deadline: (any LoopTimer)?
  private var nextAttempt: (any LoopTimer)?

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
    race.offer(addresses) { $0.family == AF_INET6 }
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
    for attempt in attempts.values { attempt.close() }
    attempts = [:]
  }

  private func finish(_ result: Result<Int32, ConnectError>) {
    guard let completion else { return }
    self.completion = nil
    stop()
    completion(result)
  }

  /// Begins the attempts that are due.
  private func tryNext() {
    while completion != nil, let address = race.next(now: .now) { attempt(address) }
    guard completion != nil else { return }
    if race.isExhausted {
      finish(.failure(lastError.map(ConnectError.system) ?? .unknownHost))
    } else if let wake = race.nextWake {
      nextAttempt?.set(wake)
    } else {
      nextAttempt?.cancel()
    }
  }

  private func attempt(_ address: SocketAddress) {
    do throws(SystemError) { try connect(to: address) } catch { fail(address, error) }
  }

  private func fail(_ address: SocketAddress, _ error: SystemError) {
    lastError = error
    race.fail(address)
  }

  private func connect(to address: SocketAddress) throws(SystemError) {
    let descriptor = try address.makeSocket()
    if address.with({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 {
      return finish(.success(descriptor))
    }
    let error = SystemError.current
    switch error.number {
    case EINPROGRESS: try watch(descriptor, of: address)
    // The queue of a UNIX socket is full: there is no notification when it has room (connect(2)).
    case EAGAIN where address.family == AF_UNIX:
      close(descriptor)
      loop.schedule(in: Self.fullQueueDelay) { [weak self] in self?.tryAgain(address) }
    default:
      close(descriptor)
      throw error
    }
  }

  private func tryAgain(_ address: SocketAddress) {
    guard completion != nil else { return }
    attempt(address)
    tryNext()
  }

  private func watch(_ descriptor: Int32, of address: SocketAddress) throws(SystemError) {
    let attempt = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.answered(address)
    }
    attempt.interest = .writable
    attempts[address] = attempt
  }

  private func answered(_ address: SocketAddress) {
    guard let attempt = attempts.removeValue(forKey: address) else { return }
    var number: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let status = unsafe getsockopt(attempt.descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
    if status != 0 { number = errno }
    guard number != 0 else { return finish(.success(attempt.release())) }
    attempt.close()
    fail(address, SystemError(number: number))
    tryNext()
  }
}

internal import Dispatch
internal import Essentials
internal import Glibc
package import HostEssentials
internal import Synchronization

/// A TCP connection: accepted, or to be made. All of it may be used from any thread. Letting go of
/// it closes it.
package final class TCPConnection: Sendable {
  private let state: Mutex<State>
  /// Entered until it is known whether there is a connection.
  private let connecting = DispatchGroup()

  private struct State: Sendable {
    var phase = Phase.idle
    /// Whether the peer will send no more.
    var isInputEnded = false
    var onInput: (@Sendable () -> Void)?
    var onOutput: (@Sendable () -> Void)?
  }

  private enum Phase: Sendable {
    case idle
    case connecting(Attempt)
    case open(Open)
    case ended(SystemError?)
  }

  /// One address that is being tried.
  private struct Attempt: Sendable {
    var socket: Descriptor
    var watch: ReadinessWatch
    var timer: OneShotTimer
  }

  private struct Open: Sendable {
    var socket: Descriptor
    var reading: ReadinessWatch
    var writing: ReadinessWatch
  }

  /// For how long one address is tried before the next.
  private static let attemptSeconds = 5.0

  /// One that is yet to be made.
  package init() {
    state = Mutex(State())
    connecting.enter()
  }

  init(accepted socket: Descriptor) {
    state = Mutex(State())
    connecting.enter()
    do throws(SystemError) { try opened(socket) } catch { end(error) }
  }

  deinit { close() }

  // MARK: Connecting

  /// Tries these one after the other; at most once. Without any, it has failed.
  package func connect(to endpoints: [SocketEndpoint]) {
    tryNext(of: endpoints[...], after: SystemError(number: EADDRNOTAVAIL))
  }

  /// Gives up, for this reason, what is not connected yet.
  package func fail(_ error: SystemError) { end(error) }

  private func tryNext(of endpoints: ArraySlice<SocketEndpoint>, after error: SystemError) {
    guard !isEnded else { return }
    guard let endpoint = endpoints.first else { return end(error) }
    let rest = endpoints.dropFirst()
    do throws(SystemError) {
      try attempt(endpoint, then: rest)
    } catch {
      tryNext(of: rest, after: error)
    }
  }

  private func attempt(
    _ endpoint: SocketEndpoint, then rest: ArraySlice<SocketEndpoint>
  ) throws(SystemError) {
    let socket = try Descriptor.tcp(endpoint.address.version == .v4 ? AF_INET : AF_INET6)
    if endpoint.with({ Glibc.connect(socket.number, $0, $1) }) == 0 { return try opened(socket) }
    guard errno == EINPROGRESS else { throw .current }
    let watch = try ReadinessWatch(.writing, socket) { [weak self] in
      do throws(SystemError) {
        let error = socket.pendingError
        guard error == 0 else { throw SystemError(number: error) }
        try self?.opened(socket)
      } catch {
        self?.tryNext(of: rest, after: error)
      }
    }
    let timer = OneShotTimer(afterSeconds: Self.attemptSeconds) { [weak self] in
      guard let self, case .connecting(let attempt) = currentPhase, attempt.socket === socket
      else { return }
      tryNext(of: rest, after: SystemError(number: ETIMEDOUT))
    }
    let attempt = Attempt(socket: socket, watch: watch, timer: timer)
    let old = replacePhase { phase in
      switch phase {
      case .idle, .connecting: .connecting(attempt)
      case .open, .ended: nil
      }
    }
    if case .connecting(let old) = old { old.watch.cancel() }
    watch.arm()
  }

  private func opened(_ socket: Descriptor) throws(SystemError) {
    let open = Open(
      socket: socket,
      reading: try ReadinessWatch(.reading, socket) { [weak self] in self?.tellInput() },
      writing: try ReadinessWatch(.writing, socket) { [weak self] in self?.tellOutput() })
    var isNew = false
    replacePhase { phase in
      switch phase {
      case .idle, .connecting:
        isNew = true
        return .open(open)
      case .open, .ended: return nil
      }
    }
    guard isNew else { return }
    connecting.leave()
    open.reading.arm()
    open.writing.arm()
  }

  // MARK: State

  private var currentPhase: Phase { state.withLock { $0.phase } }

  /// Puts another phase in place and returns the old one, which must not be let go of under the lock.
  @discardableResult
  private func replacePhase(_ next: (Phase) -> Phase?) -> Phase {
    state.withLock { state in
      let old = state.phase
      if let next = next(old) { state.phase = next }
      return old
    }
  }

  private func tellInput() { state.withLock { $0.onInput }?() }
  private func tellOutput() { state.withLock { $0.onOutput }?() }

  private func end(_ error: SystemError?) {
    let old = replacePhase { phase in
      if case .ended = phase { nil } else { .ended(error) }
    }
    switch old {
    case .ended: return
    case .idle: connecting.leave()
    case .connecting(let attempt):
      attempt.watch.cancel()
      connecting.leave()
    case .open(let open):
      open.reading.cancel()
      open.writing.cancel()
      // Wakes who waits in another thread; the descriptor is closed when the last has left.
      shutdown(open.socket.number, Int32(SHUT_RDWR))
    }
    tellInput()
    tellOutput()
  }

  /// Whether there is a connection, or was one.
  package var isConnected: Bool {
    switch currentPhase {
    case .open: true
    case .idle, .connecting: false
    case .ended(let error): error == nil
    }
  }

  /// Whether it has ended for both sides.
  package var isEnded: Bool { if case .ended = currentPhase { true } else { false } }

  /// Whether there is nothing more to read.
  package var isInputEnded: Bool { isEnded || state.withLock { $0.isInputEnded } }

  /// Why it ended, where that was not in good order.
  package var error: SystemError? {
    if case .ended(let error) = currentPhase { error } else { nil }
  }

  /// The other side's address; nil without a connection.
  package var remoteEndpoint: SocketEndpoint? {
    openSocket.flatMap { SocketEndpoint(of: $0.number, getpeername) }
  }

  /// This side's address; nil without a connection.
  package var localEndpoint: SocketEndpoint? {
    openSocket.flatMap { SocketEndpoint(of: $0.number, getsockname) }
  }

  private var openSocket: Descriptor? {
    if case .open(let open) = currentPhase { open.socket } else { nil }
  }

  /// Has this called, on a thread of the system, whenever there may be something to read.
  package func observeInput(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onInput = call }
    if case .open(let open) = currentPhase { open.reading.arm() }
  }

  /// Has this called, on a thread of the system, whenever there may be room to write.
  package func observeOutput(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onOutput = call }
    if case .open(let open) = currentPhase { open.writing.arm() }
  }

  // MARK: Bytes

  /// Whether something can be read without waiting; if not, it is told when there is.
  package var hasBytes: Bool {
    guard case .open(let open) = currentPhase, !isInputEnded else { return false }
    var byte: UInt8 = 0
    let count = recv(open.socket.number, &byte, 1, Int32(MSG_PEEK))
    note(count)
    if count < 0 { open.reading.arm() }
    return count > 0
  }

  /// Whether something can be written without waiting; if not, it is told when there is room.
  package var hasSpace: Bool {
    guard case .open(let open) = currentPhase else { return false }
    var entry = pollfd(fd: open.socket.number, events: Int16(POLLOUT), revents: 0)
    let hasSpace = poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLOUT) != 0
    if !hasSpace { open.writing.arm() }
    return hasSpace
  }

  /// Takes up to so many bytes; empty where there are none now, or none any more.
  package func receive(_ byteCountMax: Int) -> [UInt8] {
    guard case .open(let open) = currentPhase, !isInputEnded, byteCountMax > 0 else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: byteCountMax) { buffer, count in
      let received = recv(open.socket.number, buffer.baseAddress, byteCountMax, 0)
      count = max(0, received)
      note(received)
    }
    if !isInputEnded { open.reading.arm() }
    return bytes
  }

  /// Sends as many of the bytes as there is room for now.
  package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard case .open(let open) = currentPhase, let start = bytes.baseAddress else { return 0 }
    let count = Glibc.send(open.socket.number, start, bytes.count, Int32(MSG_NOSIGNAL))
    if count < 0, errno != EAGAIN, errno != EINTR { end(.current) }
    open.writing.arm()
    return max(0, count)
  }

  /// Waits for bytes and takes up to so many; empty at the end.
  package func waitAndReceive(_ byteCountMax: Int) -> [UInt8] {
    connecting.wait()
    while let socket = openSocket, !isInputEnded {
      let bytes = receive(byteCountMax)
      if !bytes.isEmpty || isInputEnded { return bytes }
      socket.wait(for: POLLIN)
    }
    return []
  }

  /// Waits for room and sends as many of the bytes as fit; 0 at the end.
  package func waitAndSend(_ bytes: UnsafeRawBufferPointer) -> Int {
    connecting.wait()
    while let socket = openSocket {
      let count = send(bytes)
      if count > 0 || bytes.isEmpty { return count }
      socket.wait(for: POLLOUT)
    }
    return 0
  }

  /// Draws the conclusion from what `recv` said.
  private func note(_ count: Int) {
    if count == 0 {
      state.withLock { $0.isInputEnded = true }
    } else if count < 0, errno != EAGAIN, errno != EINTR {
      end(.current)
    }
  }

  /// Says that nothing more will be sent; what comes can still be read.
  package func closeOutput() {
    if let socket = openSocket { shutdown(socket.number, Int32(SHUT_WR)) }
  }

  /// Ends it.
  package func close() { end(nil) }
}

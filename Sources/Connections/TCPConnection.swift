internal import Dispatch
internal import Essentials
internal import Glibc
package import EventLoop
internal import Synchronization

/// A TCP connection that was accepted, or that will be established. It may be used from any thread.
/// Releasing it closes it.
package final class TCPConnection: Sendable {
  /// The progress of connecting.
  package enum Progress: Sendable {
    /// The connection is established.
    case connected
    /// All known addresses were tried without success; this is the last error. Others may be
    /// offered.
    case exhausted(SystemError)
    /// The connection has ended.
    case ended
  }

  private let state: Mutex<State>
  private let settings: TCPSettings
  /// Entered until it is known whether there is a connection.
  private let connecting = DispatchGroup()

  private struct State: Sendable {
    var phase = Phase.searching
    var race = AddressRace<SocketEndpoint>()
    /// The attempts that are running.
    var attempts: [SocketEndpoint: Attempt] = [:]
    /// Rings when the next attempt is to begin beside them.
    var raceTimer: OneShotTimer?
    /// Why the last attempt failed.
    var attemptError = TCPConnection.noAddress
    /// Whether the peer will send no more.
    var isInputEnded = false
    /// What had arrived when sending failed: the peer's reason, for example.
    var unread: ArraySlice<UInt8> = []
    var onProgress: (@Sendable (Progress) -> Void)?
    var onOpening: (@Sendable () -> Void)?
    var onInput: (@Sendable () -> Void)?
    var onOutput: (@Sendable () -> Void)?
  }

  private enum Phase: Sendable {
    /// Addresses are being tried, or waited for.
    case searching
    case open(Open)
    case ended(SystemError?)
  }

  /// One address that is being tried.
  private struct Attempt: Sendable {
    var socket: Descriptor
    var watch: OneShotWatch
    var timer: OneShotTimer
  }

  private struct Open: Sendable {
    var socket: Descriptor
    var reading: OneShotWatch
    var writing: OneShotWatch
  }

  /// How long an address is tried, unless the settings have another limit.
  private static let attemptSeconds = 5
  private static let noAddress = SystemError(number: EADDRNOTAVAIL)

  /// Creates a connection that is not established.
  package init(_ settings: TCPSettings = TCPSettings()) {
    state = Mutex(State())
    self.settings = settings
    connecting.enter()
  }

  init(accepted socket: Descriptor) {
    state = Mutex(State())
    settings = TCPSettings()
    connecting.enter()
    do throws(SystemError) { try opened(socket) } catch { end(error) }
  }

  deinit { close() }

  // MARK: Connecting

  /// Takes ownership of a connected socket instead of connecting. Ends the connection if that is impossible, and closes
  /// the socket if there is a connection already.
  package func adopt(_ number: Int32) {
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    do throws(SystemError) { try opened(Descriptor(number)) } catch { end(error) }
  }

  /// Sets the closure that is called once, on any thread, when the connection is established. It must not wait.
  package func observeOpening(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onOpening = call }
  }

  /// Gives access to the connected socket, which stays open meanwhile; nil without a connection.
  package func withDescriptor<Value>(_ body: (Int32) -> Value) -> Value? {
    openSocket.map { socket in withExtendedLifetime(socket) { body(socket.number) } }
  }

  /// Sets the closure that is called, on any thread, when the progress of connecting changes.
  package func observeProgress(_ call: @escaping @Sendable (Progress) -> Void) {
    state.withLock { $0.onProgress = call }
  }

  /// Sets the known addresses. Those that were not tried yet are tried (RFC 8305).
  package func offer(_ endpoints: [SocketEndpoint]) {
    let allowed = endpoints.filter(settings.allows)
    state.withLock { $0.race.offer(allowed) { $0.address.version == .v6 } }
    tryNext()
  }

  /// Allows addresses that did not answer to be tried again when they are offered again.
  package func forgetAttempts() {
    state.withLock { state in
      state.race.forget()
      state.attemptError = Self.noAddress
    }
  }

  /// Ends connecting with this error.
  package func fail(_ error: SystemError) { end(error) }

  /// Begins the attempts that are due.
  private func tryNext() {
    while let endpoint = nextEndpoint() {
      do throws(SystemError) { try attempt(endpoint) } catch { giveUp(endpoint, nil, error) }
    }
    let (error, oldTimer) = state.withLock { state -> (SystemError?, OneShotTimer?) in
      guard case .searching = state.phase else { return (nil, nil) }
      let old = state.raceTimer
      state.raceTimer = state.race.nextWake.map { wake in
        OneShotTimer(afterSeconds: max(0, (wake - .now).seconds)) { [weak self] in
          self?.tryNext()
        }
      }
      return (state.race.isExhausted ? state.attemptError : nil, old)
    }
    // Released outside the lock.
    withExtendedLifetime(oldTimer) {}
    if let error { notify(.exhausted(error)) }
  }

  private func nextEndpoint() -> SocketEndpoint? {
    state.withLock { state in
      if case .searching = state.phase { state.race.next(now: .now) } else { nil }
    }
  }

  private func attempt(_ endpoint: SocketEndpoint) throws(SystemError) {
    let version = endpoint.address.version
    let socket = try Descriptor.tcp(version == .v4 ? AF_INET : AF_INET6)
    try settings.apply(to: socket, version)
    if let local = try settings.localEndpoint(version) {
      socket.set(SOL_SOCKET, SO_REUSEADDR, to: 1)
      guard local.systemAddress.with({ bind(socket.number, $0, $1) }) == 0 else { throw .current }
    }
    let status = endpoint.systemAddress.with { Glibc.connect(socket.number, $0, $1) }
    if status == 0 { return try opened(socket) }
    guard errno == EINPROGRESS else { throw .current }
    let watch = try OneShotWatch(.writing, socket) { [weak self] in
      do throws(SystemError) {
        let error = socket.pendingError
        guard error == 0 else { throw SystemError(number: error) }
        try self?.opened(socket)
      } catch {
        self?.tryNext(after: endpoint, socket, error)
      }
    }
    let seconds = settings.connectingSecondsMax
    let limit = Double(seconds > 0 ? seconds : Self.attemptSeconds)
    let timer = OneShotTimer(afterSeconds: limit) { [weak self] in
      self?.tryNext(after: endpoint, socket, SystemError(number: ETIMEDOUT))
    }
    let attempt = Attempt(socket: socket, watch: watch, timer: timer)
    let isCurrent = state.withLock { state in
      guard case .searching = state.phase else { return false }
      state.attempts[endpoint] = attempt
      return true
    }
    if isCurrent { watch.arm() } else { watch.cancel() }
  }

  /// The address that was being tried on a socket did not answer.
  private func tryNext(after endpoint: SocketEndpoint, _ socket: Descriptor, _ error: SystemError) {
    if giveUp(endpoint, socket, error) { tryNext() }
  }

  /// Ends an attempt: that on a socket, or one that did not come so far. False if it is over
  /// already.
  @discardableResult
  private func giveUp(
    _ endpoint: SocketEndpoint, _ socket: Descriptor?, _ error: SystemError
  ) -> Bool {
    let (isOver, old) = state.withLock { state -> (Bool, Attempt?) in
      guard case .searching = state.phase, state.attempts[endpoint]?.socket === socket else {
        return (true, nil)
      }
      state.race.fail(endpoint)
      state.attemptError = error
      return (false, state.attempts.removeValue(forKey: endpoint))
    }
    old?.watch.cancel()
    return !isOver
  }

  private func opened(_ socket: Descriptor) throws(SystemError) {
    let open = Open(
      socket: socket,
      reading: try OneShotWatch(.reading, socket) { [weak self] in self?.notifyInput() },
      writing: try OneShotWatch(.writing, socket) { [weak self] in self?.notifyOutput() })
    guard leaveSearch(for: .open(open)) else { return }
    connecting.leave()
    state.withLock { $0.onOpening }?()
    notify(.connected)
    open.reading.arm()
    open.writing.arm()
  }

  /// Ends all attempts; false if that was done already.
  private func leaveSearch(for next: Phase) -> Bool {
    let old = state.withLock { state -> (attempts: [Attempt], timer: OneShotTimer?)? in
      guard case .searching = state.phase else { return nil }
      defer {
        state.phase = next
        (state.attempts, state.raceTimer) = ([:], nil)
      }
      return (Array(state.attempts.values), state.raceTimer)
    }
    for attempt in old?.attempts ?? [] { attempt.watch.cancel() }
    return old != nil
  }

  // MARK: State

  private var currentPhase: Phase { state.withLock { $0.phase } }

  private func notify(_ progress: Progress) { state.withLock { $0.onProgress }?(progress) }
  private func notifyInput() { state.withLock { $0.onInput }?() }
  private func notifyOutput() { state.withLock { $0.onOutput }?() }

  private func end(_ error: SystemError?) {
    if leaveSearch(for: .ended(error)) {
      connecting.leave()
    } else {
      let open = state.withLock { state -> Open? in
        guard case .open(let open) = state.phase else { return nil }
        state.phase = .ended(error)
        return open
      }
      guard let open else { return }
      open.reading.cancel()
      open.writing.cancel()
      // Wakes threads that are blocked on it; the descriptor is closed when the last has left.
      shutdown(open.socket.number, Int32(SHUT_RDWR))
    }
    notify(.ended)
    notifyInput()
    notifyOutput()
  }

  /// Whether the connection is, or was, established.
  package var isConnected: Bool {
    switch currentPhase {
    case .open: true
    case .searching: false
    case .ended(let error): error == nil
    }
  }

  /// Whether all known addresses were tried without success.
  package var isExhausted: Bool {
    state.withLock { state in
      if case .searching = state.phase { state.race.isExhausted } else { false }
    }
  }

  /// Whether the connection has ended in both directions.
  package var isEnded: Bool { if case .ended = currentPhase { true } else { false } }

  /// Whether the end of input was reached. What had arrived when sending failed comes before it.
  package var isInputEnded: Bool {
    state.withLock { state in
      guard state.unread.isEmpty else { return false }
      if case .ended = state.phase { return true }
      return state.isInputEnded
    }
  }

  /// The error with which the connection ended; nil if it was closed without one.
  package var error: SystemError? {
    if case .ended(let error) = currentPhase { error } else { nil }
  }

  /// The remote address; nil without a connection.
  package var remoteEndpoint: SocketEndpoint? {
    openSocket.flatMap { SocketAddress(connectedTo: $0.number) }.flatMap { SocketEndpoint($0) }
  }

  /// The local address; nil without a connection.
  package var localEndpoint: SocketEndpoint? {
    openSocket.flatMap { SocketAddress(boundTo: $0.number) }.flatMap { SocketEndpoint($0) }
  }

  private var openSocket: Descriptor? {
    if case .open(let open) = currentPhase { open.socket } else { nil }
  }

  /// Sets the closure that is called when bytes may be available: on the shared event loop, where it must not wait.
  package func observeInput(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onInput = call }
    if case .open(let open) = currentPhase { open.reading.arm() }
  }

  /// Sets the closure that is called when there may be space to write: on the shared event loop, as above.
  package func observeOutput(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onOutput = call }
    if case .open(let open) = currentPhase { open.writing.arm() }
  }

  // MARK: Bytes

  /// Whether bytes can be read without blocking. If not, `observeInput` reports when they can.
  package var hasBytes: Bool {
    if state.withLock({ !$0.unread.isEmpty }) { return true }
    guard case .open(let open) = currentPhase, !isInputEnded else { return false }
    var byte: UInt8 = 0
    let count = recv(open.socket.number, &byte, 1, Int32(MSG_PEEK))
    record(count)
    if count < 0 { open.reading.arm() }
    return count > 0
  }

  /// Whether bytes can be written without blocking. If not, `observeOutput` reports when they can.
  package var hasSpace: Bool {
    guard case .open(let open) = currentPhase else { return false }
    var entry = pollfd(fd: open.socket.number, events: Int16(POLLOUT), revents: 0)
    let hasSpace = poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLOUT) != 0
    if !hasSpace { open.writing.arm() }
    return hasSpace
  }

  /// Reads up to `byteCountMax` bytes; empty if none are available, or at the end.
  package func receive(_ byteCountMax: Int) -> [UInt8] {
    let kept = takeUnread(byteCountMax)
    guard kept.isEmpty else { return kept }
    guard case .open(let open) = currentPhase, !isInputEnded, byteCountMax > 0 else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: byteCountMax) { buffer, count in
      let received = recv(open.socket.number, buffer.baseAddress, byteCountMax, 0)
      count = max(0, received)
      record(received)
    }
    if !isInputEnded { open.reading.arm() }
    return bytes
  }

  /// Sends as many of the bytes as possible without blocking.
  package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard case .open(let open) = currentPhase, let start = bytes.baseAddress else { return 0 }
    let count = Glibc.send(open.socket.number, start, bytes.count, Int32(MSG_NOSIGNAL))
    if count < 0, errno != EAGAIN, errno != EINTR {
      let error = SystemError.current
      keepUnread(open.socket)
      end(error)
    }
    open.writing.arm()
    return max(0, count)
  }

  /// A peer that refuses sends its reason and closes: the next bytes to it fail, and would hide the reason.
  private func keepUnread(_ socket: Descriptor) {
    state.withLock { state in
      guard !state.isInputEnded else { return }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while state.unread.count < Self.unreadByteCountMax {
        let count = recv(socket.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        state.unread += buffer.prefix(count)
      }
    }
  }

  /// More than the buffer of a socket holds.
  private static let unreadByteCountMax = 8 << 20

  private func takeUnread(_ byteCountMax: Int) -> [UInt8] {
    state.withLock { state in
      let bytes = Array(state.unread.prefix(max(0, byteCountMax)))
      state.unread.removeFirst(bytes.count)
      return bytes
    }
  }

  /// Blocks until bytes are available, and reads up to `byteCountMax`; empty at the end.
  package func waitAndReceive(_ byteCountMax: Int) -> [UInt8] {
    connecting.wait()
    let kept = takeUnread(byteCountMax)
    guard kept.isEmpty else { return kept }
    while let socket = openSocket, !isInputEnded {
      let bytes = receive(byteCountMax)
      if !bytes.isEmpty || isInputEnded { return bytes }
      socket.wait(for: POLLIN)
    }
    // Another thread may have failed to send meanwhile.
    return takeUnread(byteCountMax)
  }

  /// Blocks until there is space, and sends as many of the bytes as fit; 0 at the end.
  package func waitAndSend(_ bytes: UnsafeRawBufferPointer) -> Int {
    connecting.wait()
    while let socket = openSocket {
      let count = send(bytes)
      if count > 0 || bytes.isEmpty { return count }
      socket.wait(for: POLLOUT)
    }
    return 0
  }

  /// Processes the result of `recv`.
  private func record(_ count: Int) {
    if count == 0 {
      state.withLock { $0.isInputEnded = true }
    } else if count < 0, errno != EAGAIN, errno != EINTR {
      end(.current)
    }
  }

  /// Closes output. Input can still be read.
  package func closeOutput() {
    if let socket = openSocket { shutdown(socket.number, Int32(SHUT_WR)) }
  }

  /// Closes the connection.
  package func close() {
    end(nil)
    state.withLock { $0.unread = [] }
  }
}

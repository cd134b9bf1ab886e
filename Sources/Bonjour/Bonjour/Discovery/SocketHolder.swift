internal import AppSessions
internal import Connections
internal import EventLoop
internal import Synchronization

/// Has the system that runs the app hold the socket of a connection, so that its bytes wake the app.
final class SocketHolder: Sendable {
  private struct State {
    var holding = NWConnection.Holding.notRequested
    var socket: HeldSocket?
    var isClosed = false
    /// Keeps the app awake until it has learned what became of its connection.
    var task: LibraryTask?
  }

  private let identifier: String
  private let isPlain: Bool
  private let onWake: AppSession.WakeHandler
  private let state = Mutex(State())

  /// - Parameters:
  ///   - identifier: The app's name for the connection.
  ///   - isPlain: Whether a later process can go on with it.
  ///   - onWake: Called when something came while the app was suspended, with a closure that it calls when the app has
  ///     handled it.
  init(_ identifier: String, isPlain: Bool, onWake: @escaping AppSession.WakeHandler) {
    (self.identifier, self.isPlain, self.onWake) = (identifier, isPlain, onWake)
  }

  var holding: NWConnection.Holding { state.withLock { $0.holding } }

  /// Gives a connection that isn't established the socket of an earlier process, if there is one, and keeps the app
  /// awake until ``endConnecting()``. Waits for the system.
  func restore(_ connection: TCPConnection) {
    guard let session = AppSession.current else { return }
    beginConnecting(session)
    switch session.takeSocket(identifier, onWake: onWake) {
    case .descriptor(let descriptor, let socket):
      connection.adopt(descriptor)
      keep(socket, as: .restored)
    case .lost(let peer): state.withLock { $0.holding = .replaces(peer: peer) }
    case nil: break
    }
  }

  /// Hands over the socket of a connection that is established, unless that was done. Waits for the system.
  func hold(_ connection: TCPConnection) {
    guard state.withLock({ $0.socket == nil && !$0.isClosed }) else { return }
    guard let session = AppSession.current else {
      return refused("no manager of apps runs this program")
    }
    let result = connection.withDescriptor { descriptor -> Result<HeldSocket, HeldSocketError> in
      do throws(HeldSocketError) {
        return .success(
          try session.holdSocket(descriptor, as: identifier, isPlain: isPlain, onWake: onWake))
      } catch { return .failure(error) }
    }
    switch result {
    case .success(let socket): keep(socket, as: .held)
    case .failure(let error): refused(error.sentence)
    // It has ended meanwhile, which its owner learns.
    case nil: break
    }
  }

  private func keep(_ socket: HeldSocket, as holding: NWConnection.Holding) {
    let isClosed = state.withLock { state in
      if !state.isClosed { state.socket = socket }
      if case .replaces = state.holding {} else { state.holding = holding }
      return state.isClosed
    }
    if isClosed { socket.close() }
  }

  private func refused(_ reason: String) {
    state.withLock { $0.holding = .refused(reason) }
  }

  /// The connection is closed: the system closes its duplicate.
  func close() {
    let socket = state.withLock { state in
      state.isClosed = true
      defer { state.socket = nil }
      return state.socket
    }
    socket?.close()
    endConnecting()
  }

  // MARK: The background task

  private func beginConnecting(_ session: AppSession) {
    guard session.mayHoldSockets else { return }
    let task = LibraryTask(session)
    let isOver = state.withLock { state in
      if !state.isClosed { state.task = task }
      return state.isClosed
    }
    if isOver { task.end() }
  }

  /// The app has learned that the connection is ready, has failed or waits for the network.
  func endConnecting() {
    let task = state.withLock { state in
      defer { state.task = nil }
      return state.task
    }
    task?.end()
  }
}

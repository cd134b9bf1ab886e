package import AppMachines
internal import Glibc
internal import Synchronization

/// A TCP socket of this process of which the system has a duplicate, so that its bytes wake the app.
///
/// Releasing it changes nothing: the system holds the socket until ``close()``, or until it ends the holding. One of
/// ``AppSession/requestReconnection(as:onWake:)`` has no socket: the system wakes the app to connect.
package final class HeldSocket: Sendable {
  private struct State {
    /// Nil where the system holds it no longer.
    var number: UInt64?
    /// For the next system; -1 without one.
    var descriptor: Int32
    var isClosed = false
  }

  private let session: AppSession
  private let identifier: String
  private let isPlain: Bool
  private let isReconnection: Bool
  private let onWake: AppSession.WakeHandler
  private let state: Mutex<State>

  /// - Parameter descriptor: A duplicate that this owns.
  fileprivate init(
    _ session: AppSession, _ number: UInt64, as identifier: String, isPlain: Bool,
    isReconnection: Bool, owning descriptor: Int32, onWake: @escaping AppSession.WakeHandler
  ) {
    self.session = session
    self.identifier = identifier
    self.isPlain = isPlain
    self.isReconnection = isReconnection
    self.onWake = onWake
    state = Mutex(State(number: number, descriptor: descriptor))
  }

  deinit { closeDescriptor() }

  /// The socket is closed: the system shuts it down, and closes its duplicate.
  package func close() {
    session.state.withLock { $0.heldSockets.removeAll { $0 === self } }
    closeDescriptor()
    if let number = state.withLock({ $0.number.take() }) { end(number) }
  }

  /// The system holds the socket no longer. One that is being started again learns of it with the other reports.
  private func end(_ number: UInt64) {
    session.state.withLock { $0.closedSockets?.append(number) }
    session.close(.heldSocket(number))
  }

  private func closeDescriptor() {
    let descriptor = state.withLock { state in
      defer { state.descriptor = -1 }
      state.isClosed = true
      return state.descriptor
    }
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Has the next system hold it: the duplicate that was kept for it, or else another one. The session reports the
  /// receiver.
  func holdAgain() {
    // It may be closed meanwhile, and the descriptor's number another file's.
    let descriptor = state.withLock { state in
      state.descriptor < 0 ? -1 : fcntl(state.descriptor, F_DUPFD_CLOEXEC, 0)
    }
    guard descriptor >= 0 || isReconnection else { return }
    defer { if descriptor >= 0 { Glibc.close(descriptor) } }
    let number =
      isReconnection ? session.reconnectionNumber(identifier) : numberOfNextSystem(descriptor)
    let isOpen = state.withLock { state in
      guard !state.isClosed else { return false }
      state.number = number
      return true
    }
    guard let number else { return }
    guard isOpen else { return end(number) }
    let handler = AppSession.socketHandler(onWake)
    session.state.withLock { $0.receivers[.heldSocket(number)] = handler }
  }

  /// The system that gave it its number is gone.
  func forgetNumber() { state.withLock { $0.number = nil } }

  private func numberOfNextSystem(_ descriptor: Int32) -> UInt64? {
    let kept = session.exchange(
      .take(version: HeldSocketRequest.version, identifier: identifier), with: nil)
    if let duplicate = kept.descriptor { Glibc.close(duplicate) }
    if case .given(let number, _, _) = kept.reply { return number }
    let request = HeldSocketRequest.hold(
      version: HeldSocketRequest.version, identifier: identifier, isPlain: isPlain)
    if case .held(let number) = session.exchange(request, with: descriptor).reply { return number }
    return nil
  }
}

/// The answer to the opening of a held socket by its identifier.
package enum TakenSocket: Sendable {
  /// The connection of an earlier process: its descriptor, which the caller owns.
  case descriptor(Int32, HeldSocket)
  /// An earlier process had a connection with this peer, which could not be carried over.
  case lost(peer: String)
}

extension AppSession {
  /// Calls `done` when the app has handled the bytes, and is suspended again then. Called on the session's queue.
  package typealias WakeHandler = @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

  /// Whether the app has the background mode for held sockets.
  package var mayHoldSockets: Bool { infoPlist.description.modes.contains(.voip) }

  /// Hands the system a duplicate of a TCP socket.
  ///
  /// - Parameters:
  ///   - descriptor: The socket, which stays the caller's. A process must read nothing ahead of its app.
  ///   - identifier: The app's name for it. A socket that was held by the same name is held no longer.
  ///   - isPlain: Whether another process of the app can go on with its bytes.
  ///   - onWake: Called when bytes or the end have come while the app was suspended.
  package func holdSocket(
    _ descriptor: Int32, as identifier: String, isPlain: Bool, onWake: @escaping WakeHandler
  ) throws(HeldSocketError) -> HeldSocket {
    let request = HeldSocketRequest.hold(
      version: HeldSocketRequest.version, identifier: identifier, isPlain: isPlain)
    switch exchange(request, with: descriptor).reply {
    case .held(let number):
      return openSocket(number, descriptor, as: identifier, isPlain: isPlain, onWake)
    case .refused(let refusal): throw HeldSocketError(refusal: refusal)
    case .given, .none: throw HeldSocketError(refusal: .unavailable)
    }
  }

  /// Takes a socket back that an earlier process of the app had; nil without one.
  package func takeSocket(
    _ identifier: String, onWake: @escaping WakeHandler
  ) -> TakenSocket? {
    let answer = exchange(
      .take(version: HeldSocketRequest.version, identifier: identifier), with: nil)
    guard case .given(let number, let isPlain, let peer) = answer.reply else { return nil }
    guard isPlain, let descriptor = answer.descriptor else {
      // The app was launched for it: its events are of no use any more.
      openSocket(number, -1, as: identifier, isPlain: false) { $0() }.close()
      return .lost(peer: peer)
    }
    return .descriptor(
      descriptor, openSocket(number, descriptor, as: identifier, isPlain: true, onWake))
  }

  /// Has the system wake the app from time to time, or launch it, until it hands over a socket by this name. Nil where
  /// the system doesn't.
  ///
  /// - Parameters:
  ///   - identifier: The app's name for the connection. A socket that was held by the same name is held no longer.
  ///   - onWake: Called when the app was woken to connect.
  package func requestReconnection(
    as identifier: String, onWake: @escaping WakeHandler
  ) -> HeldSocket? {
    reconnectionNumber(identifier).map {
      openSocket($0, -1, as: identifier, isPlain: false, isReconnection: true, onWake)
    }
  }

  fileprivate func reconnectionNumber(_ identifier: String) -> UInt64? {
    let request = HeldSocketRequest.reconnect(
      version: HeldSocketRequest.version, identifier: identifier)
    guard case .held(let number) = exchange(request, with: nil).reply else { return nil }
    return number
  }

  private func openSocket(
    _ number: UInt64, _ descriptor: Int32, as identifier: String, isPlain: Bool,
    isReconnection: Bool = false, _ onWake: @escaping WakeHandler
  ) -> HeldSocket {
    let socket = HeldSocket(
      self, number, as: identifier, isPlain: isPlain, isReconnection: isReconnection,
      owning: descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0), onWake: onWake)
    open(.heldSocket(number), Self.socketHandler(onWake))
    state.withLock { $0.heldSockets.append(socket) }
    return socket
  }

  static func socketHandler(_ onWake: @escaping WakeHandler) -> Handler<AppDelivery> {
    { delivery, done in if case .event = delivery { onWake(done) } else { done() } }
  }
}

/// Why a socket isn't held.
package struct HeldSocketError: Error, Hashable, Sendable {
  package var refusal: HeldSocketRefusal

  /// A sentence without a full stop.
  package var sentence: String {
    switch refusal {
    case .unavailable: "no manager of apps runs this program"
    case .noMode: "the Info.plist has not the background mode voip"
    case .limit: "the app has too many held sockets"
    case .notConnected: "it is no connected TCP socket"
    case .badIdentifier: "its identifier is empty or too long"
    }
  }
}

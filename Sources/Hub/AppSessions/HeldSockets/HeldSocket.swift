package import AppMachines

/// A TCP socket of this process of which the system has a duplicate, so that its bytes wake the app.
///
/// Releasing it changes nothing: the system holds the socket until ``close()``, or until it ends the holding.
package final class HeldSocket: Sendable {
  private let session: AppSession
  private let receiver: AppReceiver

  fileprivate init(_ session: AppSession, _ number: UInt64) {
    self.session = session
    receiver = .heldSocket(number)
  }

  /// The socket is closed: the system shuts it down, and closes its duplicate.
  package func close() { session.close(receiver) }
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
    switch exchange(
      .hold(version: HeldSocketRequest.version, identifier: identifier, isPlain: isPlain),
      with: descriptor
    ).reply {
    case .held(let number): return openSocket(number, onWake)
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
      openSocket(number) { $0() }.close()
      return .lost(peer: peer)
    }
    return .descriptor(descriptor, openSocket(number, onWake))
  }

  private func openSocket(_ number: UInt64, _ onWake: @escaping WakeHandler) -> HeldSocket {
    open(.heldSocket(number)) { delivery, done in
      if case .event = delivery { onWake(done) } else { done() }
    }
    return HeldSocket(self, number)
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

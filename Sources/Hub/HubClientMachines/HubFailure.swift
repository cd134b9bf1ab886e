package import BluetoothInterface
package import HubWire

/// The reason why an app has no connection with the hub.
package enum HubFailure: Error, Equatable, Sendable {
  /// The setting that names the hub is invalid, so that no connection is tried.
  case unusable(HostError)
  /// The hub could not be connected to; the error explains why.
  case notReached(HostError)
  /// A process of another user than this one and root listens at the hub's path.
  case notBelieved(userID: UInt32)
  /// The hub refused the app.
  case refused(HubRefusal)
  /// The hub chose a version of the protocol that this app doesn't speak.
  case otherVersion(UInt16)
  /// The hub has no sessions with a Bluetooth host.
  case noBluetooth
  /// The hub can't report its state.
  case noStatus
  /// The hub can't forget what it keeps.
  case noForgetting
  /// The hub sent bytes that are not a message.
  case invalidMessage(HubWireError)
  /// The hub sent a message that has no place in the conversation; the text names it.
  case unexpected(String)
  /// The hub reported more than a radio can have; the text names what.
  case tooMany(String)
  /// The hub did not answer in time.
  case silent
  /// The hub did not read what the app sent.
  case notRead
  /// The connection ended.
  case ended

  /// The error of requests that the end of the connection fails.
  package var hostError: HostError {
    switch self {
    case .unusable(let error), .notReached(let error): error
    case .notBelieved(let userID):
      .unauthorized("The hub is not used because another user runs it, with the ID \(userID).")
    case .refused(let refusal): Self.hostError(of: refusal)
    case .otherVersion(let version):
      .unsupported("The hub speaks version \(version) of the protocol, which this app does not.")
    case .noBluetooth: .unsupported("The hub has no Bluetooth.")
    case .noStatus: .unsupported("The hub is of an earlier version, which reports no state.")
    case .noForgetting:
      .unsupported("The hub is of an earlier version, which forgets nothing before its time.")
    case .invalidMessage(let error): .transport("The hub sent an invalid message: \(error).")
    case .unexpected(let message): .transport("The hub sent an unexpected message: \(message).")
    case .tooMany(let things): .transport("The hub reported too many \(things).")
    case .silent: .transport("The hub did not answer in time.")
    case .notRead: .transport("The hub did not read what this app sent.")
    case .ended: .transport("The hub closed the connection.")
    }
  }

  private static func hostError(of refusal: HubRefusal) -> HostError {
    let text = "The hub refused this app: \(refusal.text)"
    return switch refusal.reason {
    case .denied: .unauthorized(text)
    case .otherVersion, .notUnderstood: .unsupported(text)
    case .other, .limitReached, .invalidMessage, .ending: .transport(text)
    }
  }

  /// The reason as a sentence, for people.
  package var sentence: String {
    switch hostError {
    case .transport(let text), .unauthorized(let text), .unsupported(let text): text
    case let error: "The hub can't be used: \(error)."
    }
  }

  /// The state of a radio that can't be used for this reason, as a host in the process reports it.
  package var radioState: RadioState {
    switch hostError {
    case .unauthorized: .unauthorized
    case .unsupported: .unsupported
    default: .poweredOff
    }
  }

  /// Whether the hub answered that it won't serve the app, so that it is asked again less often.
  var isRefusal: Bool {
    switch self {
    case .refused(let refusal): refusal.reason != .ending
    case .notBelieved, .otherVersion, .noBluetooth, .noStatus, .noForgetting, .invalidMessage,
      .unexpected, .tooMany:
      true
    // The socket isn't open to this user.
    case .notReached(.unauthorized): true
    case .unusable, .notReached, .silent, .notRead, .ended: false
    }
  }
}

#if Messaging
  internal import Essentials
  internal import XMPPWire

  extension StreamMachine {
    /// What contradicts itself in the machine's state; empty if all is well. Checked in debug builds.
    package func violations() -> [String] {
      var found = session?.violations() ?? []
      if let session, session.number > lastSession {
        found.append("session \(session.number) after \(lastSession)")
      }
      switch phase {
      case .stopped, .connecting: break
      case .pausing:
        if let session, session.id == nil {
          found.append("a session is kept that can't be resumed")
        }
      case .connected(let connection):
        let stage = connection.stage
        if stage.hasSession != (connection.onlineSince != nil) {
          found.append("online since never")
        }
        if stage.hasSession, session == nil { found.append("online without a session") }
        if !stage.hasSession, connection.request != nil {
          found.append("a request without a session")
        }
        if !connection.isEncrypted {
          switch stage {
          case .opening(isAuthenticated: false), .startingTLS, .establishingTLS: break
          default: found.append("\(stage) without TLS")
          }
        }
      }
      return found
    }
  }
#endif

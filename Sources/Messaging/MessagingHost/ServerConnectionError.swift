#if Messaging
  internal import EventLoop
  internal import NIOCore
  internal import NIOPosix
  internal import NIOSSL
  internal import XMPPMachines

  /// Why a connection with a server failed or ended.
  package enum ServerConnectionError: Error, Hashable, Sendable {
    /// The account's domain denies the service in its SRV records.
    case serviceDenied
    /// No server could be reached; the reason of the last attempt.
    case unreachable(String)
    /// The connection was not established, or TLS not begun, in time.
    case timedOut
    /// The certificate isn't valid for the account's domain, or its authority isn't trusted.
    case certificateRefused(String)
    /// The certificate's public key isn't the pinned one.
    case pinMismatch
    /// TLS failed for another reason.
    case tlsFailed(String)
    /// The file of trusted authorities can't be used.
    case badAuthorityFile(String)
    /// The server has closed the connection.
    case closed
    /// The connection broke.
    case broken(String)

    /// The same for the stream's machine.
    var streamFailure: StreamFailure {
      switch self {
      case .certificateRefused, .pinMismatch, .tlsFailed, .badAuthorityFile: .tls(description)
      case .serviceDenied, .unreachable, .timedOut, .closed, .broken: .transport(description)
      }
    }

    /// The error of a connection attempt, or of an established connection.
    init(_ error: any Error, isConnecting: Bool) {
      switch error {
      case let error as ServerConnectionError: self = error
      case let error as NIOSSLExtraError where error == .failedToValidateHostname:
        self = .certificateRefused("it is for another name")
      case NIOSSLError.handshakeFailed(let reason): self = Self.handshakeError(reason)
      case NIOSSLError.uncleanShutdown: self = .closed
      case let error as NIOSSLError: self = .tlsFailed("\(error)")
      case let error as NIOSSLExtraError: self = .tlsFailed("\(error)")
      case let error as BoringSSLError: self = Self.handshakeError(error)
      case let error as NIOConnectionError: self = .unreachable(Self.reason(error))
      case is ChannelError where isConnecting: self = .timedOut
      case let error as IOError:
        self = isConnecting ? .unreachable(Self.text(error)) : .broken(Self.text(error))
      default: self = isConnecting ? .unreachable("\(error)") : .broken("\(error)")
      }
    }

    private static func handshakeError(_ error: BoringSSLError) -> ServerConnectionError {
      // A server that ends during the handshake is no server without TLS: it is tried again soon.
      switch error {
      case .sslError(let errors) where errors.contains(.eofDuringHandshake): return .closed
      case .zeroReturn, .syscallError: return .closed
      default: break
      }
      let text = "\(error)"
      return text.contains("CERTIFICATE_VERIFY_FAILED")
        ? .certificateRefused("its authority is not trusted, or it is not valid at this time")
        : .tlsFailed(text)
    }

    private static func reason(_ error: NIOConnectionError) -> String {
      guard let last = error.connectionErrors.last else { return "\(error.host) has no address" }
      if case let failure as IOError = last.error { return text(failure) }
      if case ChannelError.connectTimeout = last.error { return "no answer in time" }
      return "\(last.error)"
    }

    private static func text(_ error: IOError) -> String {
      SystemError(number: error.errnoCode).text
    }
  }

  extension ServerConnectionError: CustomStringConvertible {
    /// One sentence without a full stop.
    package var description: String {
      switch self {
      case .serviceDenied: "the domain has no XMPP service"
      case .unreachable(let reason): "the server can't be reached: \(reason)"
      case .timedOut: "the server did not answer in time"
      case .certificateRefused(let reason): "the server's certificate was refused: \(reason)"
      case .pinMismatch: "the server's public key is not the pinned one"
      case .tlsFailed(let reason): "TLS failed: \(reason)"
      case .badAuthorityFile(let reason): "the file of authorities can't be used: \(reason)"
      case .closed: "the server closed the connection"
      case .broken(let reason): "the connection broke: \(reason)"
      }
    }
  }
#endif

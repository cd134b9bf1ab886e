#if Messaging
  package import XMPPMachines
  internal import XMPPWire

  extension StreamFailure {
    /// The reason for people: one sentence without a full stop. What a server wrote may be in it.
    package var sentence: String {
      switch self {
      case .transport(let reason), .tls(let reason): reason
      case .noTLS: "the server offers no encryption"
      case .silent: "the server did not answer in time"
      case .ended: "the server ended the stream"
      case .stream(let error), .overrun(let error):
        "the server ended the stream: \(error.condition.rawValue)"
          + (error.text.map { " (\($0))" } ?? "")
      case .invalidXML(let error): "the server sent invalid XML: \(error)"
      case .unexpected(let name): "the server sent <\(name)> where it has no place"
      case .noMechanism(let offered):
        "the server offers no allowed way to authenticate"
          + (offered.isEmpty ? "" : ", but \(offered.joined(separator: ", "))")
      case .downgrade(let offered, let proven):
        "the server offers only \(offered.joined(separator: ", ")), which are weaker than "
          + "\(proven.rawValue), which it had before"
      case .offerChanged:
        "the server's list of ways to authenticate was changed on its way to this computer"
      case .invalidExchange(let error): "the server's authentication is invalid: \(error)"
      case .serverNotAuthenticated: "the server does not know the password"
      case .refused(let failure): "the server refused the password: \(failure.condition.rawValue)"
      case .noCredentials: "there is no password"
      case .bindingRefused(let error): "the server refused the session: \(error.condition.rawValue)"
      case .tooManyRedirects: "the server named other hosts too often"
      case .wrongAcknowledgement: "the server acknowledged what was not sent"
      case .stopped: "the connection was ended here"
      }
    }
  }
#endif

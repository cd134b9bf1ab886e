import BluetoothInterface
import BluetoothMachines
import Essentials
import EventLoop
import Glibc

extension H4Transport.Connector {
  /// H4 over TCP.
  static func tcp(host: String, port: UInt16) -> Self {
    socket(name: RadioChoice.tcp(host: host, port: port).description, host: host) { connector in
      connector.connect(toHost: host, port: port)
    }
  }

  /// H4 over a UNIX socket.
  static func unix(path: String) -> Self {
    socket(name: RadioChoice.unix(path: path).description, host: path) { connector in
      connector.connect(to: SocketAddress(path: path).map { [$0] } ?? [])
    }
  }

  private static func socket(
    name: String, host: String, connect: @escaping @Sendable (StreamConnector) -> Void
  ) -> Self {
    Self(
      name: name, expectsPromptEvents: true,
      open: { loop, completion in
        let connector = StreamConnector(on: loop, timeout: Limits.connectTimeout) { result in
          completion(result.mapError { explain($0, name: name, host: host) })
        }
        connect(connector)
        return { connector.cancel() }
      },
      explain: { explain(.system($0), name: name, host: host) },
      endOfStream: .transport("The radio \(name) closed the connection."))
  }

  /// Puts the failure of a socket into one sentence.
  static func explain(_ error: ConnectError, name: String, host: String) -> HostError {
    let timeout = "The radio \(name) did not answer within \(Int(Limits.connectTimeout.seconds)) s."
    switch error {
    case .unknownHost:
      return .transport("The host \"\(host)\" of the radio \(name) is not known.")
    case .timedOut: return .transport(timeout)
    case .system(let error):
      switch error.number {
      case ECONNREFUSED: return .transport("Nothing listens at \(name).")
      case ENOENT: return .transport("There is no socket at \(name).")
      case ETIMEDOUT: return .transport(timeout)
      case EACCES, EPERM:
        return .unauthorized("This user may not connect to \(name).")
      default: return .transport("The connection to \(name) failed: \(error.text).")
      }
    }
  }
}

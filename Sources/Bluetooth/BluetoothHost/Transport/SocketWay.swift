import BluetoothMachines
import Essentials
import Glibc
import EventLoop
import NIOCore
import NIOPosix

extension ChannelTransport.Way {
  /// H4 over TCP.
  static func tcp(host: String, port: UInt16) -> Self {
    let name = RadioChoice.tcp(host: host, port: port).description
    return Self(
      name: name,
      connect: { eventLoop, initialize in
        ClientBootstrap.forRadio(on: eventLoop, initialize)
          .channelOption(.tcpOption(.tcp_nodelay), value: 1)
          .connect(host: host, port: Int(port))
      },
      explain: { explain($0, name: name, host: host) },
      endOfStream: .transport("The radio \(name) closed the connection."))
  }

  /// H4 over a UNIX socket.
  static func unix(path: String) -> Self {
    let name = RadioChoice.unix(path: path).description
    return Self(
      name: name,
      connect: { eventLoop, initialize in
        ClientBootstrap.forRadio(on: eventLoop, initialize).connect(unixDomainSocketPath: path)
      },
      explain: { explain($0, name: name, host: path) },
      endOfStream: .transport("The radio \(name) closed the connection."))
  }

  /// Puts the failure of a socket into one sentence.
  static func explain(_ error: any Error, name: String, host: String) -> HostError {
    let timeout = "The radio \(name) did not answer within \(Int(Limits.connectTimeout.seconds)) s."
    switch error {
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty {
        return .transport("The host \"\(host)\" of the radio \(name) is not known.")
      }
      // Of several addresses the last is as good as any.
      let last = error.connectionErrors.last?.error ?? error
      return explain(last, name: name, host: host)
    case ChannelError.connectTimeout:
      return .transport(timeout)
    case let error as IOError:
      switch error.errnoCode {
      case ECONNREFUSED: return .transport("Nobody listens at \(name).")
      case ENOENT: return .transport("There is no socket at \(name).")
      case ETIMEDOUT: return .transport(timeout)
      case EACCES, EPERM:
        return .unauthorized("This user may not connect to \(name).")
      default:
        let reason = SystemError(number: error.errnoCode).text
        return .transport("The connection to \(name) failed: \(reason).")
      }
    default:
      return .transport("The connection to \(name) failed: \(error).")
    }
  }
}

extension ClientBootstrap {
  fileprivate static func forRadio(
    on eventLoop: any EventLoop,
    _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
  ) -> ClientBootstrap {
    ClientBootstrap(group: eventLoop)
      .channelInitializer(initialize)
      .channelOption(.recvAllocator, value: ChannelOptions.largeReads)
      .connectTimeout(.nanoseconds(Limits.connectTimeout.nanoseconds))
  }
}

package import AppSessions
package import EventLoop
import Glibc

/// A command's connection with the manager of apps.
package enum AppCommandClient {
  /// Sends a command, and returns the replies, up to the last one. Ending the iteration ends the connection.
  ///
  /// - Parameters:
  ///   - command: The command.
  ///   - path: The manager's socket.
  /// - Throws: `AppCommandError` in the sequence, if the manager can't be reached or ends before the last reply.
  package static func replies(
    to command: AppManagerCommand, at path: String, on loop: EpollLoop = .shared
  ) -> AsyncThrowingStream<AppCommandReply, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: AppCommandReply.self)
    loop.execute {
      let connection = Connection(path: path) { result in
        switch result {
        case .success(let reply):
          continuation.yield(reply)
          if reply.isLast { continuation.finish() }
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      connection.begin(command, on: loop)
      let confined = LoopConfined(connection, to: loop)
      continuation.onTermination = { _ in loop.execute { confined.value.close() } }
    }
    return stream
  }

  /// Used on its loop only.
  private final class Connection {
    private let path: String
    private let onReply: (Result<AppCommandReply, AppCommandError>) -> Void
    private var channel: ByteChannel?
    private var reader = AppFrame.Reader(byteCountMax: AppFrame.byteCountMax)

    init(
      path: String, onReply: @escaping (Result<AppCommandReply, AppCommandError>) -> Void
    ) {
      self.path = path
      self.onReply = onReply
    }

    func begin(_ command: AppManagerCommand, on loop: EpollLoop) {
      do throws(AppCommandError) {
        guard let address = SocketAddress(path: path) else {
          throw .unreachable(SystemError(number: ENAMETOOLONG))
        }
        let descriptor: Int32
        do throws(SystemError) { descriptor = try address.makeSocket() } catch {
          throw .unreachable(error)
        }
        // A UNIX socket is connected at once, or not at all.
        guard address.with({ connect(descriptor, $0, $1) }) == 0 else {
          let error = SystemError.current
          Glibc.close(descriptor)
          throw AppCommandError(connecting: error)
        }
        do throws(SystemError) {
          channel = try ByteChannel(
            owning: descriptor, on: loop, onRead: { [weak self] in self?.received($0) },
            onEnd: { [weak self] _ in self?.onReply(.failure(.ended)) })
        } catch { throw .unreachable(error) }
        channel?.write(
          AppFrame.bytes(
            of: AppManagerGreeting.command(version: AppManagerGreeting.version, command)))
      } catch { onReply(.failure(error)) }
    }

    private func received(_ bytes: [UInt8]) {
      reader.append(bytes)
      do throws(AppFrameError) {
        while let reply = try reader.next(AppCommandReply.self) { onReply(.success(reply)) }
      } catch {
        onReply(.failure(.violatesProtocol))
        close()
      }
    }

    func close() {
      channel?.close()
      channel = nil
    }
  }
}

/// Why a command has no reply of the manager of apps.
package enum AppCommandError: Error, Hashable, Sendable {
  /// No manager listens at the path.
  case notRunning
  /// This user may not connect to the socket.
  case notPermitted
  /// The manager takes no connections: it is stopped, or hangs.
  case busy
  case unreachable(SystemError)
  /// The manager has ended, or has closed the connection, before the last reply.
  case ended
  /// The program at the path is no manager of apps, or one of another version.
  case violatesProtocol

  init(connecting error: SystemError) {
    switch error.number {
    case ENOENT, ENOTDIR, ECONNREFUSED: self = .notRunning
    case EACCES, EPERM: self = .notPermitted
    case EAGAIN: self = .busy
    default: self = .unreachable(error)
    }
  }
}

extension AppCommandReply {
  /// Whether no other reply follows. After `opened`, the output of an app follows where the command attaches.
  fileprivate var isLast: Bool {
    switch self {
    case .opened, .output: false
    case .done, .failed, .installed, .status, .ended, .log, .pushed: true
    }
  }
}

import Essentials
import EventLoop
import Glibc
import HubClientMachines
import HubWire

/// A connection for questions about the state of a hub. Used on its loop only.
///
/// Its timer and its socket keep it alive until it is closed, or has ended.
final class HubStatusConnection {
  private let app: String
  private let path: String
  private let limit: TimeSpan
  private let isKept: Bool
  private let loop: EpollLoop
  private let onResult: (Result<HubStatus, HubFailure>) -> Void
  private var socket: HubSocket?
  private var deadline: (any LoopTimer)?
  private var reader = HubFrameReader()
  private var isWelcome = false
  private var isLastLook = false
  private var isClosed = false
  private var isAsking = false
  private var number: UInt64 = 0

  /// - Parameters:
  ///   - app: The name of this program among those of the hub. The user's ID is added.
  ///   - path: Where the hub listens.
  ///   - limit: How long an answer may take, with the time to connect.
  ///   - isKept: Whether more questions may follow an answer.
  ///   - loop: The event loop.
  ///   - onResult: Called with each answer, or once with the reason why the connection has ended.
  init(
    _ app: String, path: String, within limit: TimeSpan, isKept: Bool = false, on loop: EpollLoop,
    onResult: @escaping (Result<HubStatus, HubFailure>) -> Void
  ) {
    self.app = "\(app) of user \(geteuid())"
    self.path = path
    self.limit = limit
    self.isKept = isKept
    self.loop = loop
    self.onResult = onResult
  }

  /// Sends a question, unless one has no answer yet. Connects before the first one.
  func ask() {
    guard !isClosed, !isAsking else { return }
    isAsking = true
    isLastLook = false
    number += 1
    // The time is set first: of two that are over at once, this is the one that counts.
    let deadline = self.deadline ?? loop.makeTimer { self.timeIsOver() }
    self.deadline = deadline
    deadline.set(.now + limit)
    guard socket == nil else { return write(.status(number)) }
    let socket = HubSocket(
      path: path, on: loop, onOpen: { self.opened() }, onBytes: { self.received($0) },
      onEnd: { self.end(.failure($0)) })
    self.socket = socket
    socket.open()
  }

  /// Ends the connection without a result.
  func close() {
    isClosed = true
    deadline?.cancel()
    deadline = nil
    socket?.close()
    socket = nil
  }

  /// Lets the loop read once more: this process itself may have been stopped while the answer came.
  private func timeIsOver() {
    guard isLastLook else {
      isLastLook = true
      deadline?.set(.now + HubClientLimits.lastLook)
      return
    }
    end(.failure(.silent))
  }

  private func opened() {
    write(.greeting(HubGreeting(app: app, abilities: [])))
  }

  private func write(_ message: AppMessage) {
    var writer = HubFrameWriter()
    do throws(HubWireError) { try writer.append(message) } catch {
      preconditionFailure("a short message can't be written: \(error)")
    }
    socket?.send(writer.takeBytes())
  }

  private func received(_ bytes: [UInt8]) {
    reader.append(bytes)
    do throws(HubWireError) {
      while !isClosed, let message = try reader.next(HubMessage.self) { take(message) }
    } catch {
      end(.failure(.invalidMessage(error)))
    }
  }

  private func take(_ message: HubMessage) {
    switch message {
    case .refusal(let refusal): end(.failure(.refused(refusal)))
    case .welcome(let welcome) where !isWelcome:
      isWelcome = true
      guard HubProtocol.versions.contains(welcome.version) else {
        return end(.failure(.otherVersion(welcome.version)))
      }
      guard welcome.abilities.contains(.status) else { return end(.failure(.noStatus)) }
      write(.status(number))
    case .status(number, let status) where isWelcome && isAsking: answered(status)
    case .welcome: end(.failure(.unexpected("a second welcome")))
    case .status: end(.failure(.unexpected("an answer to no question about the hub")))
    case .pong: end(.failure(.unexpected("an answer to no ping")))
    case .attached: end(.failure(.unexpected("an answer to no opening")))
    case .events: end(.failure(.unexpected("events of an unknown session")))
    }
  }

  private func answered(_ status: HubStatus) {
    isAsking = false
    guard isKept else { return end(.success(status)) }
    deadline?.cancel()
    onResult(.success(status))
  }

  private func end(_ result: Result<HubStatus, HubFailure>) {
    guard !isClosed else { return }
    close()
    onResult(result)
  }
}

package import Essentials
package import EventLoop
import Glibc
package import HubClientMachines
package import HubWire

/// Asks a hub for its state, once, on a connection of its own.
package enum HubStatusReader {
  /// Asks the hub that listens at a path. The hub is believed if root or this user runs it.
  ///
  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - limit: How long the answer may take.
  ///   - loop: The event loop.
  package static func read(
    at path: String, within limit: TimeSpan = HubClientLimits.greetingMax,
    on loop: EpollLoop = .shared
  ) async throws(HubFailure) -> HubStatus {
    let result: Result<HubStatus, HubFailure> = await withCheckedContinuation { continuation in
      loop.execute {
        let question = HubQuestion(path: path, on: loop) { continuation.resume(returning: $0) }
        question.ask(within: limit)
      }
    }
    return try result.get()
  }
}

/// A question for the state of a hub. Used on its loop only; lives until it is answered, or has failed.
private final class HubQuestion {
  private static let number: UInt64 = 1

  private let path: String
  private let loop: EpollLoop
  private let completion: (Result<HubStatus, HubFailure>) -> Void
  private var socket: HubSocket?
  private var deadline: (any LoopTimer)?
  private var reader = HubFrameReader()
  private var isWelcome = false
  private var isLastLook = false
  private var isDone = false

  init(
    path: String, on loop: EpollLoop, completion: @escaping (Result<HubStatus, HubFailure>) -> Void
  ) {
    self.path = path
    self.loop = loop
    self.completion = completion
  }

  func ask(within limit: TimeSpan) {
    // The timer and the socket keep this alive. The time is set first: of two that are over at once, this is
    // the one that counts.
    deadline = loop.makeTimer { self.timeIsOver() }
    deadline?.set(.now + limit)
    let socket = HubSocket(
      path: path, on: loop, onOpen: { self.opened() }, onBytes: { self.received($0) },
      onEnd: { self.finish(.failure($0)) })
    self.socket = socket
    socket.open()
  }

  /// Lets the loop read once more: this process itself may have been stopped while the answer came.
  private func timeIsOver() {
    guard isLastLook else {
      isLastLook = true
      deadline?.set(.now + HubClientLimits.lastLook)
      return
    }
    finish(.failure(.silent))
  }

  private func opened() {
    let app = "ambit hub status of user \(geteuid())"
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
      while !isDone, let message = try reader.next(HubMessage.self) { take(message) }
    } catch {
      finish(.failure(.invalidMessage(error)))
    }
  }

  private func take(_ message: HubMessage) {
    switch message {
    case .refusal(let refusal): finish(.failure(.refused(refusal)))
    case .welcome(let welcome) where !isWelcome:
      isWelcome = true
      guard HubProtocol.versions.contains(welcome.version) else {
        return finish(.failure(.otherVersion(welcome.version)))
      }
      guard welcome.abilities.contains(.status) else { return finish(.failure(.noStatus)) }
      write(.status(Self.number))
    case .status(Self.number, let status) where isWelcome: finish(.success(status))
    case .welcome: finish(.failure(.unexpected("a second welcome")))
    case .status: finish(.failure(.unexpected("an answer to no question about the hub")))
    case .pong: finish(.failure(.unexpected("an answer to no ping")))
    case .attached: finish(.failure(.unexpected("an answer to no opening")))
    case .events: finish(.failure(.unexpected("events of an unknown session")))
    }
  }

  private func finish(_ result: Result<HubStatus, HubFailure>) {
    guard !isDone else { return }
    isDone = true
    deadline?.cancel()
    deadline = nil
    socket?.close()
    socket = nil
    completion(result)
  }
}

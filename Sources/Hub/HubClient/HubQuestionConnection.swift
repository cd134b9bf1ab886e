import Essentials
import EventLoop
import Glibc
import HubClientMachines
import HubWire

/// A question that a hub answers outside of sessions.
struct HubQuestion<Answer: Sendable>: Sendable {
  /// The ability of the hubs that understand it.
  let ability: HubAbilities
  /// The failure where the hub lacks it.
  let lack: HubFailure
  /// The message with the question, by its number.
  let message: @Sendable (UInt64) -> AppMessage
  /// The answer to the question with this number; nil for any other message.
  let answer: @Sendable (HubMessage, UInt64) -> Answer?
}

extension HubQuestion<HubStatus> {
  /// The question for the state of the hub.
  static let status = HubQuestion(
    ability: .status, lack: .noStatus, message: { .status($0) },
    answer: { if case .status($1, let status) = $0 { status } else { nil } })
}

extension HubQuestion<ForgottenSessions> {
  /// The request to forget kept sessions.
  static func forgetting(_ filter: KeptSessionFilter) -> HubQuestion {
    HubQuestion(
      ability: .forgetting, lack: .noForgetting, message: { .forget($0, filter) },
      answer: {
        guard case .forgotten($1, let count) = $0 else { return nil }
        return count.map { .count($0) } ?? .notPermitted
      })
  }
}

/// A connection for questions to a hub outside of sessions. Used on its loop only.
///
/// Its timer and its socket keep it alive until it is closed, or has ended.
final class HubQuestionConnection<Answer: Sendable> {
  private let question: HubQuestion<Answer>
  private let app: String
  private let path: String
  private let limit: TimeSpan
  private let isKept: Bool
  private let loop: EpollLoop
  private let onSender: ((UInt32?) -> Void)?
  private let onResult: (Result<Answer, HubFailure>) -> Void
  private var socket: HubSocket?
  private var deadline: (any LoopTimer)?
  private var reader = HubFrameReader()
  private var isWelcome = false
  private var isLastLook = false
  private var isClosed = false
  private var isAsking = false
  private var number: UInt64 = 0

  /// - Parameters:
  ///   - question: The question.
  ///   - app: The name of this program among those of the hub. The user's ID is added.
  ///   - path: Where the hub listens.
  ///   - limit: How long an answer may take, with the time to connect.
  ///   - isKept: Whether more questions may follow an answer.
  ///   - loop: The event loop.
  ///   - onSender: Called before the first answer with the user whose process the hub is, nil if the system doesn't know
  ///     it. Without this closure, nobody looks.
  ///   - onResult: Called with each answer, or once with the reason why the connection has ended.
  init(
    _ question: HubQuestion<Answer>, _ app: String, path: String, within limit: TimeSpan,
    isKept: Bool = false, on loop: EpollLoop, onSender: ((UInt32?) -> Void)? = nil,
    onResult: @escaping (Result<Answer, HubFailure>) -> Void
  ) {
    self.question = question
    self.app = "\(app) of user \(geteuid())"
    self.path = path
    self.limit = limit
    self.isKept = isKept
    self.loop = loop
    self.onSender = onSender
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
    guard socket == nil else { return write(question.message(number)) }
    let socket = HubSocket(
      path: path, on: loop, onOpen: { self.opened() }, onBytes: { self.received($0) },
      onEnd: { self.end(.failure($0)) })
    self.socket = socket
    socket.onSender = onSender
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
    if isWelcome, isAsking, let answer = question.answer(message, number) {
      return answered(answer)
    }
    switch message {
    case .refusal(let refusal): end(.failure(.refused(refusal)))
    case .welcome(let welcome) where !isWelcome:
      isWelcome = true
      guard HubProtocol.versions.contains(welcome.version) else {
        return end(.failure(.otherVersion(welcome.version)))
      }
      guard welcome.abilities.contains(question.ability) else {
        return end(.failure(question.lack))
      }
      write(question.message(number))
    case .welcome: end(.failure(.unexpected("a second welcome")))
    case .status: end(.failure(.unexpected("an answer to no question about the hub")))
    case .forgotten: end(.failure(.unexpected("an answer to no request to forget sessions")))
    case .pong: end(.failure(.unexpected("an answer to no ping")))
    case .attached: end(.failure(.unexpected("an answer to no opening")))
    case .time, .settle: end(.failure(.unexpected("virtual time without a session")))
    case .events: end(.failure(.unexpected("events of an unknown session")))
    }
  }

  private func answered(_ answer: Answer) {
    isAsking = false
    guard isKept else { return end(.success(answer)) }
    deadline?.cancel()
    onResult(.success(answer))
  }

  private func end(_ result: Result<Answer, HubFailure>) {
    guard !isClosed else { return }
    close()
    onResult(result)
  }
}

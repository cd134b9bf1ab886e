import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Dispatch
import Foundation
import Glibc

/// Shows the questions of pairings to the user at the terminal, and displays passkeys.
///
/// Prompts are written to standard error and answered on standard input or, if that is used
/// otherwise, on the controlling terminal. The answer to a prompt whose pairing has ended is
/// ignored.
final class PairingPrompter: Sendable {
  private let session: any HostSession
  private let dialogue: Dialogue

  /// Makes this object the host's pairing agent, as long as it exists; nil without a terminal, or
  /// if the command is the agent itself.
  ///
  /// - Parameter onAttendance: Called when a hub lets this object answer the pairings of all its programs, or
  ///   refuses; nil to answer those that this program causes.
  init?(
    _ host: any HostSessionProvider, _ output: Output, _ source: PairingInput,
    _ decisions: PairingDecisions,
    onAttendance: (@Sendable (Result<HostReply, HostError>) -> Void)? = nil
  ) {
    guard Terminal.isTerminal(STDERR_FILENO) else { return nil }
    let input: Int32
    switch source {
    case .command: return nil
    case .standardInput:
      guard Terminal.isTerminal(STDIN_FILENO) else { return nil }
      input = STDIN_FILENO
    case .terminal:
      input = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
      guard input >= 0 else { return nil }
    }
    let dialogue = Dialogue(output, input: input, decisions, ofOthers: onAttendance != nil)
    self.dialogue = dialogue
    session = host.openSession { event in
      if case .completed(_, let result) = event { onAttendance?(result) }
      dialogue.take(event)
    }
    dialogue.start { [weak session] in session?.send(.answerPairing($0, $1)) }
    session.send(.setPairingAgent(.keyboardDisplay))
    if onAttendance != nil { session.send(.attendAllPairings(RequestToken(rawValue: 1))) }
  }

  deinit {
    session.close()
    dialogue.end()
  }
}

/// The conversation: the questions of several peers are open side by side.
private final class Dialogue: Sendable {
  typealias Answer = @Sendable (PairingPromptID, PairingAnswer) -> Void

  private struct State {
    var answer: Answer?
    var questions = PairingQuestions()
    /// The open links, which have the peers' names.
    var links: [DeviceAddress: LinkInfo] = [:]
    /// The latest prompts of the pairings that go on.
    var prompts: [DeviceAddress: PairingPromptID] = [:]
    var isReading = false
    var isOver = false
  }

  private let output: Output
  /// Where answers are typed. Closed with the dialogue where it isn't standard input.
  private let input: Int32
  private let queue = DispatchQueue(label: "ambit.pairing")
  private let decisions: PairingDecisions
  /// Whether the pairings are those of other programs.
  private let isOfOthers: Bool
  private let state = Guarded(State())

  init(
    _ output: Output, input: Int32, _ decisions: PairingDecisions, ofOthers isOfOthers: Bool
  ) {
    self.output = output
    self.input = input
    self.decisions = decisions
    self.isOfOthers = isOfOthers
  }

  deinit { if input != STDIN_FILENO { close(input) } }

  func start(answer: @escaping Answer) { state.update { $0.answer = answer } }

  func end() {
    state.update { state in
      state.isOver = true
      state.answer = nil
    }
  }

  func take(_ event: HostEvent) {
    switch event {
    case .pairingPrompt(let peer, let prompt, let id):
      let question = PairingQuestion(peer: peer, prompt: prompt, id: id)
      decisions.asked(peer, id)
      let link = state.update { state in
        state.prompts[peer] = id
        return state.links[peer]
      }
      // Not on the host's loop, which a slow terminal would hold up.
      Task { [self] in
        ask(
          question, of: PairingText.peer(peer, named: link?.name),
          for: PairingText.purpose(link?.role, ofOthers: isOfOthers))
      }
    case .linkOpened(let link), .linkUpdated(let link):
      state.update { $0.links[link.peer] = link }
    case .linkClosed(let peer, _): state.update { $0.links[peer] = nil }
    case .pairingEnded(let peer, let failure):
      let wasAsked = state.update { state in
        state.questions.end(peer)
        return state.prompts.removeValue(forKey: peer) != nil
      }
      // Failures are reported whether they were asked for or not.
      if wasAsked, failure == nil { output.note("Paired with \(peer).") }
    default: break
    }
  }

  private func ask(_ question: PairingQuestion, of name: String, for purpose: String) {
    let sentence = question.text(of: name)
    let text = sentence.prefix(1).lowercased() + sentence.dropFirst()
    if case .displayPasskey = question.prompt { return output.note("Pairing: \(text)\(purpose)") }
    // Under the lock, so that its number is shown before an answer is taken.
    let startsReading = state.update { state -> Bool in
      guard !state.isOver, state.prompts[question.peer] == question.id else { return false }
      // Discards input from before the first question.
      if state.questions.isEmpty { tcflush(input, TCIFLUSH) }
      output.note(state.questions.ask(question, text + purpose))
      defer { state.isReading = true }
      return !state.isReading
    }
    if startsReading { queue.async { [self] in readAnswers() } }
  }

  /// Reads lines as long as a question is open.
  private func readAnswers() {
    var bytes: [UInt8] = []
    while true {
      let goesOn = state.update { state in
        state.isReading = !state.isOver && !state.questions.isEmpty
        return state.isReading
      }
      guard goesOn else { return }
      var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      let count = poll(&descriptor, 1, 100)
      guard count > 0 else { continue }
      var byte: UInt8 = 0
      guard read(input, &byte, 1) == 1 else { return endOfInput() }
      if byte != UInt8(ascii: "\n") {
        if bytes.count < 256 { bytes.append(byte) }
        continue
      }
      take(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespaces))
      bytes = []
    }
  }

  private func take(_ line: String) {
    let (outcome, answer) = state.update { ($0.questions.take(line), $0.answer) }
    switch outcome {
    case .answered(let id, let reply):
      decisions.answered(id, reply)
      answer?(id, reply)
    case .refused(let sentence): output.note(sentence)
    case .unneeded: break
    }
  }

  /// No answer can be typed any more: all questions are refused.
  private func endOfInput() {
    let (ids, answer) = state.update { state in
      state.isReading = false
      return (state.questions.takeAll(), state.answer)
    }
    for id in ids {
      decisions.unanswered(id)
      answer?(id, .reject)
    }
  }
}

/// What a question of a pairing tells of the peer.
enum PairingText {
  /// A peer's name and its address, since several peers can have the same name.
  static func peer(_ peer: DeviceAddress, named name: String?) -> String {
    name.map { "\(Fit.safe($0)) (\(peer))" } ?? "\(peer)"
  }

  /// What the pairing is for.
  static func purpose(_ role: LinkInfo.Role?, ofOthers isOfOthers: Bool = false) -> String {
    switch role {
    case .central where isOfOthers: " A program needs a protected value of it."
    case .central: " This command needs a protected value of it."
    case .peripheral: " It has connected to this host."
    case nil: ""
    }
  }
}

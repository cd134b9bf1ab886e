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
  init?(_ host: any HostSessionProvider, _ output: Output, _ source: PairingInput) {
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
    let dialogue = Dialogue(output, input: input)
    self.dialogue = dialogue
    session = host.openSession { dialogue.take($0) }
    dialogue.start { [weak session] in session?.send(.answerPairing($0, $1)) }
    session.send(.setPairingAgent(.keyboardDisplay))
  }

  deinit {
    session.close()
    dialogue.end()
  }
}

/// The conversation, one prompt after the other.
private final class Dialogue: Sendable {
  typealias Answer = @Sendable (PairingPromptID, PairingAnswer) -> Void

  private struct State {
    var answer: Answer?
    /// The latest prompts of the pairings that go on.
    var prompts: [DeviceAddress: PairingPromptID] = [:]
    var isOver = false
  }

  private let output: Output
  /// Where answers are typed. Closed with the dialogue where it isn't standard input.
  private let input: Int32
  private let queue = DispatchQueue(label: "ambit.pairing")
  private let state = Guarded(State())

  init(_ output: Output, input: Int32) {
    self.output = output
    self.input = input
  }

  deinit { if input != STDIN_FILENO { close(input) } }

  func start(_ answer: @escaping Answer) { state.update { $0.answer = answer } }

  func end() {
    state.update { state in
      state.isOver = true
      state.answer = nil
    }
  }

  func take(_ event: HostEvent) {
    switch event {
    case .pairingPrompt(let peer, let prompt, let id):
      let isFirst = state.update { $0.prompts.updateValue(id, forKey: peer) == nil }
      if case .displayPasskey(let number) = prompt {
        // Needs no answer, so it doesn't wait for those of others.
        return output.note("Pairing: enter \(PairingPrompt.digits(number)) at \(peer).")
      }
      // Several questions of a pairing are asked one after the other.
      queue.async { [self] in ask(peer, prompt, id) }
      if !isFirst { output.note("Pairing: \(peer) has another question.") }
    case .pairingEnded(let peer, let failure):
      let wasAsked = state.update { $0.prompts.removeValue(forKey: peer) != nil }
      guard wasAsked else { return }
      output.note(
        failure.map { "Pairing with \(peer) failed: \($0.sentence)" } ?? "Paired with \(peer).")
    default: break
    }
  }

  private func ask(_ peer: DeviceAddress, _ prompt: PairingPrompt, _ id: PairingPromptID) {
    guard isCurrent(peer, id) else { return }
    // Discards input from before the question.
    tcflush(input, TCIFLUSH)
    let answer: PairingAnswer
    switch prompt {
    case .displayPasskey: return
    case .enterPasskey:
      output.note("Pairing: which passkey does \(peer) show?")
      answer = line(peer, id).flatMap { UInt32($0) }.map { .passkey($0) } ?? .reject
    case .compareNumber(let number):
      output.note("Pairing: does \(peer) show \(PairingPrompt.digits(number))? (yes or no)")
      answer = isYes(line(peer, id)) ? .accept : .reject
    case .replaceBond(let bonded):
      output.note("Pairing: may \(peer) replace the bond with \(bonded)? (yes or no)")
      answer = isYes(line(peer, id)) ? .accept : .reject
    case .consent:
      output.note("Pairing: pair with \(peer)? (yes or no)")
      answer = isYes(line(peer, id)) ? .accept : .reject
    }
    state.update { $0.answer }?(id, answer)
  }

  private func isYes(_ line: String?) -> Bool {
    ["y", "yes"].contains(line?.lowercased() ?? "")
  }

  private func isCurrent(_ peer: DeviceAddress, _ id: PairingPromptID) -> Bool {
    state.update { !$0.isOver && $0.prompts[peer] == id }
  }

  /// The next line that is typed; nil at the end of the input, and when the question is void.
  private func line(_ peer: DeviceAddress, _ id: PairingPromptID) -> String? {
    var bytes: [UInt8] = []
    while isCurrent(peer, id) {
      var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      let count = poll(&descriptor, 1, 100)
      if count < 0 && errno != EINTR { return nil }
      guard count > 0 else { continue }
      var byte: UInt8 = 0
      guard read(input, &byte, 1) == 1, bytes.count < 256 else { return nil }
      if byte == UInt8(ascii: "\n") {
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespaces)
      }
      bytes.append(byte)
    }
    return nil
  }
}

extension SecurityFailure {
  /// Why, in a sentence for people.
  package var sentence: String {
    switch self {
    case .pairingFailed(let reason): "\(reason.text)."
    case .peerFailed(let reason): "the peer refused: \(reason.text)."
    case .timeout: "no answer within 30 s."
    case .keyMissing:
      "the peer has removed the pairing; \"ambit bonds forget\" removes it here."
    case .encryptionFailed(let status): "the link could not be encrypted (\(status))."
    case .disconnected: "the connection ended."
    }
  }
}

extension SMPFailureReason {
  /// What it means (Core 5.4, Vol 3, Part H, §3.5.5).
  fileprivate var text: String {
    switch self {
    case .passkeyEntryFailed: "no passkey was entered"
    case .outOfBandNotAvailable: "no out-of-band data is available"
    case .authenticationRequirements: "the devices cannot meet the authentication requirements"
    case .confirmValueFailed: "the passkey or another value was wrong"
    case .pairingNotSupported: "it does not support pairing"
    case .encryptionKeySize: "the key would be too short"
    case .commandNotSupported: "the command is unknown"
    case .repeatedAttempts: "too many attempts; wait a while"
    case .invalidParameters: "a value was not allowed"
    case .dhKeyCheckFailed: "the keys differ"
    case .numericComparisonFailed: "the numbers differ"
    case .crossTransportKeyNotAllowed: "the key for the other transport is not allowed"
    case .keyRejected: "a bond is there, and may not be replaced"
    case .busy: "it is busy"
    case .unspecifiedReason: "unspecified reason"
    default: "reason \(rawValue)"
    }
  }
}

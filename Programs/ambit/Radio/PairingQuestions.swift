import BluetoothInterface
import BluetoothWire

/// The open questions of pairings in a dialogue of lines, one for each peer: a value, without a
/// terminal.
///
/// A line answers the question that it was typed for. Where that isn't certain — several questions
/// are open, or one took the place of another that ended — the answer begins with the question's
/// number.
struct PairingQuestions: Sendable {
  /// What a line is.
  enum Outcome: Hashable, Sendable {
    case answered(PairingPromptID, PairingAnswer)
    /// It can't be used, with the sentence that explains it.
    case refused(String)
    /// No question is open.
    case unneeded
  }

  private struct Open: Sendable {
    var question: PairingQuestion
    var number: Int
    var needsNumber: Bool
  }

  /// In the order in which they were asked.
  private var open: [Open] = []
  private var lastNumber = 0
  /// A question ended without an answer, so that the next line may have been typed for it.
  private var isLineDoubtful = false

  /// Whether a line is waited for.
  var isEmpty: Bool { open.isEmpty }

  /// Adds a question; it replaces an earlier one of the same peer.
  ///
  /// - Parameter text: The question.
  /// - Returns: The question as it is shown, with what can be answered.
  mutating func ask(_ question: PairingQuestion, _ text: String) -> String {
    remove { $0.peer == question.peer }
    for index in open.indices { open[index].needsNumber = true }
    lastNumber += 1
    let new = Open(
      question: question, number: lastNumber, needsNumber: !open.isEmpty || isLineDoubtful)
    open.append(new)
    let choice = question.takesYes ? "yes or no" : "its six digits"
    let hint = new.needsNumber ? "\(new.number) and \(choice)" : choice
    return "Pairing \(new.number): \(text) (\(hint))"
  }

  /// A pairing has ended. Returns whether its question was open.
  @discardableResult
  mutating func end(_ peer: DeviceAddress) -> Bool { remove { $0.peer == peer } }

  /// Closes all questions.
  mutating func takeAll() -> [PairingPromptID] {
    defer { open = [] }
    return open.map(\.question.id)
  }

  @discardableResult
  private mutating func remove(_ isEnded: (PairingQuestion) -> Bool) -> Bool {
    let count = open.count
    open.removeAll { isEnded($0.question) }
    guard open.count < count else { return false }
    isLineDoubtful = true
    for index in open.indices { open[index].needsNumber = true }
    return true
  }

  /// Takes a line.
  mutating func take(_ line: String) -> Outcome {
    guard let first = open.first else {
      isLineDoubtful = false
      return .unneeded
    }
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    // As text, since a passkey may be typed as "001 234".
    if words.count == 2, let index = open.firstIndex(where: { "\($0.number)" == words[0] }) {
      return answer(index, words[1])
    }
    guard !first.needsNumber else {
      let numbers = open.map { "\($0.number)" }.joined(separator: " or ")
      return .refused("Pairing: begin the answer with the number of the question, \(numbers).")
    }
    return answer(0, line)
  }

  private mutating func answer(_ index: Int, _ line: String) -> Outcome {
    isLineDoubtful = false
    let question = open.remove(at: index).question
    return .answered(question.id, question.answer(line))
  }
}

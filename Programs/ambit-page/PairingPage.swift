import AmbitCLI
import Binding
import BluetoothInterface
import Reactive

/// The open questions of pairings, as the page shows them: side by side, one for each peer.
final class PairingPage: ViewModel {
  /// The number of questions that are shown, the oldest first: as many as people could answer in the 30 s after
  /// which a pairing fails.
  nonisolated static let shownMax = 16

  let isAsking: Property<Bool>
  let questions: Property<[PairingRow]>
  /// How many questions are not shown; nil where all are.
  let moreText: Property<String?>
  /// A note beside the questions, such as the display of a simulated device.
  let note: Property<String?>

  static let bindings: Bindings<PairingPage> = [
    "isAsking": .oneWay(\.isAsking), "questions": .list(\.questions),
    "moreText": .oneWay(\.moreText), "note": .oneWay(\.note),
  ]

  init(_ nearby: Nearby) {
    isAsking = nearby.questions.map { !$0.isEmpty }.skipRepeats()
    // An open question keeps its row, and with it the typed passkey.
    questions = Property(
      initial: [],
      then: nearby.questions.producer.scan([PairingRow]()) { rows, asked in
        MainActor.assumeIsolated { Self.rows(for: asked, keeping: rows, nearby) }
      })
    moreText = nearby.questions.map { max(0, $0.count - Self.shownMax) }.skipRepeats().map {
      $0 > 0 ? "\($0) more after these" : nil
    }
    note = Property(capturing: nearby.note)
  }

  private static func rows(
    for asked: [AskedQuestion], keeping rows: [PairingRow], _ nearby: Nearby
  ) -> [PairingRow] {
    asked.prefix(shownMax).map { asked in
      rows.first { $0.id == PairingRow.name(asked.question) } ?? PairingRow(asked, nearby)
    }
  }
}

/// The question of one pairing, with its answer. It is removed with the question, so that a late answer isn't
/// used for another one.
final class PairingRow: ViewModel, Identifiable {
  let id: String
  let text: String
  /// Whether there is more to do than to read.
  let takesAnswer: Bool
  let acceptText: String
  let rejectText: String
  let needsPasskey: Bool
  /// The passkey, as it is typed: six digits (Core 5.4, Vol 3, Part H, §2.3.5.2).
  let passkey = MutableProperty("")
  let accept: Action<Void, Never, Never>
  let reject: Action<Void, Never, Never>

  static let bindings: Bindings<PairingRow> = [
    "text": .value(\.text), "takesAnswer": .value(\.takesAnswer),
    "acceptText": .value(\.acceptText), "rejectText": .value(\.rejectText),
    "needsPasskey": .value(\.needsPasskey), "passkey": .twoWay(\.passkey),
    "accept": .action(\.accept), "reject": .action(\.reject),
  ]

  init(_ asked: AskedQuestion, _ nearby: Nearby) {
    let question = asked.question
    id = Self.name(question)
    text = question.text(of: asked.peerName)
    acceptText = question.takesYes ? "Yes" : "Pair"
    switch question.prompt {
    case .consent, .compareNumber, .replaceBond:
      (takesAnswer, needsPasskey, rejectText) = (true, false, "No")
    case .enterPasskey: (takesAnswer, needsPasskey, rejectText) = (true, true, "Give up")
    case .displayPasskey: (takesAnswer, needsPasskey, rejectText) = (false, false, "Hide")
    }
    accept = Action(
      state: passkey.map { Self.number($0) },
      enabledIf: { number in
        switch question.prompt {
        case .consent, .compareNumber, .replaceBond: true
        case .enterPasskey: number != nil
        case .displayPasskey: false
        }
      }
    ) { number, _ in
      .onMainActor {
        let reply: PairingAnswer? = question.takesYes ? .accept : number.map { .passkey($0) }
        nearby.answerQuestion(question.id, reply)
      }
    }
    reject = Action(onMainActor: {
      // A number that was only shown wants no answer.
      if case .displayPasskey = question.prompt {
        nearby.answerQuestion(question.id, nil)
      } else {
        nearby.answerQuestion(question.id, .reject)
      }
    })
  }

  nonisolated static func name(_ question: PairingQuestion) -> String {
    "\(question.id.rawValue)"
  }

  /// All six digits are typed here.
  private nonisolated static func number(_ text: String) -> UInt32? {
    text.count(where: \.isNumber) == 6 ? PairingQuestion.passkey(text) : nil
  }
}

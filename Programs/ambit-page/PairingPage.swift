import AmbitCLI
import Binding
import BluetoothInterface
import Reactive

/// The question of a pairing, as the page shows it.
final class PairingPage: ViewModel {
  let isAsking: Property<Bool>
  let text: Property<String>
  /// A note beside the question, such as the display of a simulated device.
  let note: Property<String?>
  /// Whether there is more to do than to read.
  let takesAnswer: Property<Bool>
  let acceptText: Property<String>
  let rejectText: Property<String>
  let needsPasskey: Property<Bool>
  /// The passkey, as it is typed: six digits (Core 5.4, Vol 3, Part H, §2.3.5.2).
  let passkey = MutableProperty("")
  /// Identifies the question, so that a late answer isn't used for the next one.
  let id: Property<String>
  let accept: Action<String, Never, Never>
  let reject: Action<String, Never, Never>

  static let bindings: Bindings<PairingPage> = [
    "id": .oneWay(\.id), "isAsking": .oneWay(\.isAsking), "text": .oneWay(\.text),
    "note": .oneWay(\.note), "takesAnswer": .oneWay(\.takesAnswer),
    "acceptText": .oneWay(\.acceptText), "rejectText": .oneWay(\.rejectText),
    "needsPasskey": .oneWay(\.needsPasskey), "passkey": .twoWay(\.passkey),
    "accept": .action(\.accept), "reject": .action(\.reject),
  ]

  init(_ nearby: Nearby) {
    let question = nearby.questions.map { $0.first?.question }
    let passkey = passkey
    isAsking = question.map { $0 != nil }
    text = nearby.questions.map { $0.first.map { $0.question.text(of: $0.peerName) } ?? "" }
    note = Property(capturing: nearby.note)
    takesAnswer = question.map {
      if case .displayPasskey = $0?.prompt { false } else { $0 != nil }
    }
    acceptText = question.map { $0?.takesYes == true ? "Yes" : "Pair" }
    needsPasskey = question.map { if case .enterPasskey = $0?.prompt { true } else { false } }
    rejectText = question.map {
      if case .displayPasskey = $0?.prompt {
        "Hide"
      } else {
        $0?.takesYes == true ? "No" : "Give up"
      }
    }
    let typed = passkey.map { Self.number($0) }
    id = question.map { $0.map(Self.name) ?? "" }.skipRepeats()
    // The input for one question is cleared for the next.
    id.signal.observeValues(on: UIScheduler()) { _ in passkey.value = "" }
    accept = Action(
      state: question.combineLatest(with: typed),
      enabledIf: { question, number in
        switch question?.prompt {
        case .consent, .compareNumber, .replaceBond: true
        case .enterPasskey: number != nil
        case .displayPasskey, nil: false
        }
      }
    ) { state, id in
      .onMainActor {
        guard let question = state.0, Self.name(question) == id else { return }
        let reply: PairingAnswer? = question.takesYes ? .accept : state.1.map { .passkey($0) }
        nearby.answerQuestion(question.id, reply)
      }
    }
    reject = Action(state: question) { question, id in
      .onMainActor {
        guard let question, Self.name(question) == id else { return }
        // A number that was only shown wants no answer.
        if case .displayPasskey = question.prompt {
          nearby.answerQuestion(question.id, nil)
        } else {
          nearby.answerQuestion(question.id, .reject)
        }
      }
    }
  }

  private nonisolated static func name(_ question: PairingQuestion) -> String {
    "\(question.id.rawValue)"
  }

  /// All six digits are typed here.
  private nonisolated static func number(_ text: String) -> UInt32? {
    text.count(where: \.isNumber) == 6 ? PairingQuestion.passkey(text) : nil
  }
}

extension SignalProducer where Value == Never, Error == Never {
  /// Does something on the main actor, where pages start actions, and completes.
  static func onMainActor(_ body: @escaping @MainActor @Sendable () -> Void) -> Self {
    Self { observer, _ in
      MainActor.assumeIsolated { body() }
      observer.sendCompleted()
    }
  }
}

package import BluetoothInterface
package import BluetoothWire
import Foundation

/// The question or passkey of a pairing for the user, with the answer typed so far.
package struct PairingQuestion: Hashable, Sendable {
  /// What a key does to a question.
  enum Outcome: Hashable, Sendable {
    /// The question stays.
    case open
    case answered(PairingAnswer)
    /// A number was seen that needs no answer.
    case dismissed
  }

  private static let digitCountMax = 6

  package let peer: DeviceAddress
  package let prompt: PairingPrompt
  package let id: PairingPromptID
  private(set) var typed = ""

  package init(peer: DeviceAddress, prompt: PairingPrompt, id: PairingPromptID) {
    self.peer = peer
    self.prompt = prompt
    self.id = id
  }

  /// The question, with the typed answer.
  var text: String { [text(of: "\(peer)"), typed].filter { !$0.isEmpty }.joined(separator: " ") }

  /// The question about a peer with this name.
  package func text(of name: String) -> String {
    switch prompt {
    case .consent: "Pair with \(name)?"
    case .displayPasskey(let number): "Enter \(PairingPrompt.digits(number)) at \(name)."
    case .enterPasskey: "Which passkey does \(name) show?"
    case .replaceBond(let bonded): "May \(name) replace the bond with \(bonded)?"
    case .compareNumber(let number): "Does \(name) show \(PairingPrompt.digits(number))?"
    }
  }

  /// What can be pressed.
  var keys: String {
    switch prompt {
    case .consent, .compareNumber, .replaceBond: "y yes · n no"
    case .displayPasskey: "Esc hide"
    case .enterPasskey: "Enter pair · Esc give up"
    }
  }

  /// Whether yes or no is the answer.
  package var takesYes: Bool {
    switch prompt {
    case .consent, .compareNumber, .replaceBond: true
    case .displayPasskey, .enterPasskey: false
    }
  }

  /// The answer that a line is.
  func answer(_ line: String) -> PairingAnswer {
    let word = line.trimmingCharacters(in: .whitespaces).lowercased()
    if takesYes { return ["y", "yes"].contains(word) ? .accept : .reject }
    return Self.passkey(word).map { .passkey($0) } ?? .reject
  }

  /// The passkey that a text is: up to six digits, which may be written in groups, as in 123 456 or
  /// 123-456.
  package static func passkey(_ text: String) -> UInt32? {
    let digits = text.filter { !$0.isWhitespace && !"-‐‑–".contains($0) }
    guard (1...digitCountMax).contains(digits.count),
      digits.allSatisfy({ $0.isASCII && $0.isNumber })
    else { return nil }
    return UInt32(digits)
  }

  /// Takes a key.
  mutating func press(_ key: Key) -> Outcome {
    switch (prompt, key) {
    case (.displayPasskey, .escape), (.displayPasskey, .enter): return .dismissed
    case (.displayPasskey, _): return .open
    case (_, .escape): return .answered(.reject)
    case (_, .character("y")) where takesYes: return .answered(.accept)
    case (_, .character("n")) where takesYes: return .answered(.reject)
    case (.enterPasskey, .backspace): typed = String(typed.dropLast())
    case (.enterPasskey, .enter):
      if let number = UInt32(typed) { return .answered(.passkey(number)) }
    case (.enterPasskey, .character(let digit)):
      if digit.isASCII, digit.isNumber, typed.count < Self.digitCountMax { typed.append(digit) }
    case (.consent, _), (.compareNumber, _), (.replaceBond, _), (.enterPasskey, _): break
    }
    return .open
  }
}

extension NearbyScreen {
  /// The last line during a question.
  func line(_ question: PairingQuestion) -> String {
    let others = view.pairingCount > 1 ? " · Tab next of \(view.pairingCount)" : ""
    let keys = "  " + (view.isPairingNew ? "Enter answer" : question.keys) + others
    let room = max(0, size.columns - keys.count)
    return style.bold(Fit.truncated("  " + Fit.safe(question.text), room))
      + style.dim(Fit.truncated(keys, size.columns))
  }
}

/// A key of the terminal.
enum Key: Hashable, Sendable {
  case up, down, left, right, wordLeft, wordRight, pageUp, pageDown, home, end
  case enter, escape, backspace, delete
  case character(Character)
  /// A letter with Ctrl, in lower case, which no other case is.
  case control(Character)
  /// A character with Alt.
  case alt(Character)
}

/// Makes keys of the bytes that a terminal sends (ECMA-48 and xterm's control sequences).
///
/// The escape key alone sends the byte that sequences begin with: it is a key if no byte follows
/// soon; then the caller calls `flush`.
struct KeyDecoder: Sendable {
  /// Longer sequences are none that terminals send.
  private static let sequenceByteCountMax = 16

  /// Whether an escape and a character, which come together, are one key with Alt; otherwise they are two keys.
  var hasAlt = false

  private var pending: [UInt8] = []

  /// Whether bytes wait for more; call `flush` when none came for a moment.
  var isPending: Bool { !pending.isEmpty }

  /// Takes bytes; returns the keys that are complete.
  mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
    pending += bytes
    var keys: [Key] = []
    while let (key, count) = next() {
      if let key { keys.append(key) }
      pending.removeFirst(count)
    }
    return keys
  }

  /// Nothing follows: what waits is an escape key, or nothing that is known.
  mutating func flush() -> [Key] {
    defer { pending = [] }
    return pending == [0x1B] ? [.escape] : []
  }

  /// The next key, nil for one without meaning here, and how many bytes it takes; nil where bytes
  /// are missing.
  private func next() -> (Key?, Int)? {
    guard let first = pending.first else { return nil }
    switch first {
    case 0x1B: return sequence()
    case 0x0A, 0x0D: return (.enter, 1)
    case 0x08, 0x7F: return (.backspace, 1)
    case 0x10: return (.up, 1)  // Ctrl-P and Ctrl-N, as in many programs
    case 0x0E: return (.down, 1)
    case ..<0x1B: return (.control(Character(Unicode.Scalar(first | 0x60))), 1)
    case ..<0x20: return (nil, 1)
    default: return character()
    }
  }

  private func character() -> (Key?, Int)? {
    let count =
      switch pending[0] {
      case ..<0x80: 1
      case 0xC2..<0xE0: 2
      case 0xE0..<0xF0: 3
      case 0xF0..<0xF5: 4
      default: 0
      }
    guard count > 0 else { return (nil, 1) }
    guard pending.count >= count else { return nil }
    guard let text = String(validating: pending.prefix(count), as: UTF8.self),
      let character = text.first
    else { return (nil, 1) }
    return (.character(character), count)
  }

  /// `ESC character`.
  private func alt() -> (Key?, Int)? {
    var rest = self
    rest.pending.removeFirst()
    guard let (key, count) = rest.next() else { return nil }
    switch key {
    case .character(let character): return (.alt(character), count + 1)
    case .backspace: return (.control("w"), count + 1)
    // Ctrl-C and its like are no less with Alt.
    case .control: return (key, count + 1)
    default: return (nil, count + 1)
    }
  }

  /// `ESC [ parameters final` and `ESC O final`.
  private func sequence() -> (Key?, Int)? {
    guard pending.count >= 2 else { return nil }
    guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else {
      return hasAlt && pending[1] != 0x1B ? alt() : (.escape, 1)
    }
    guard let end = pending.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else {
      return pending.count > Self.sequenceByteCountMax ? (nil, pending.count) : nil
    }
    let text = String(decoding: pending[2..<end], as: UTF8.self)
    let parameters = text.prefix { $0 != ";" }
    // With Alt or Ctrl (xterm's modifiers 3 and 5).
    let isModified = text.hasSuffix(";3") || text.hasSuffix(";5")
    let key: Key? =
      switch (pending[end], parameters) {
      case (UInt8(ascii: "A"), _): .up
      case (UInt8(ascii: "B"), _): .down
      case (UInt8(ascii: "C"), _): isModified ? .wordRight : .right
      case (UInt8(ascii: "D"), _): isModified ? .wordLeft : .left
      case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
      case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
      case (UInt8(ascii: "~"), "3"): .delete
      case (UInt8(ascii: "~"), "5"): .pageUp
      case (UInt8(ascii: "~"), "6"): .pageDown
      default: nil
      }
    return (key, end + 1)
  }
}

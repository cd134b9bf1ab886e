/// What one finger, pen, mouse, wheel or keyboard does, step by step.
///
///     let flick = InputSequence.touch().move(x: 600, y: 300).down()
///       .move(x: 200, y: 300, over: .milliseconds(120)).up()
///     try await browser.perform(flick)
///
/// Several sequences that are performed together take their steps in pairs: the first of each, then
/// the second of each, each pair as long as its longest.
public struct InputSequence: Encodable, Sendable {
  private var type: String
  private var id: String
  private var parameters: [String: String]?
  private var actions: [Step] = []

  private struct Step: Encodable {
    var type: String
    /// In milliseconds.
    var duration: Int?
    var x: Int?
    var y: Int?
    var deltaX: Int?
    var deltaY: Int?
    var button: Int?
    var value: String?
    var origin: Element?
  }

  private init(_ type: String, id: String, pointer: String? = nil) {
    self.type = type
    self.id = id
    parameters = pointer.map { ["pointerType": $0] }
  }

  /// A finger. Fingers of one gesture have different names.
  public static func touch(_ name: String = "finger") -> Self {
    Self("pointer", id: name, pointer: "touch")
  }

  /// A mouse.
  public static func mouse() -> Self { Self("pointer", id: "mouse", pointer: "mouse") }

  /// A pen.
  public static func pen() -> Self { Self("pointer", id: "pen", pointer: "pen") }

  /// The wheel of a mouse, or two fingers on a trackpad.
  public static func wheel() -> Self { Self("wheel", id: "wheel") }

  /// A keyboard, which types where the focus is.
  public static func keyboard() -> Self { Self("key", id: "keyboard") }

  private func adding(_ steps: Step...) -> Self {
    var copy = self
    copy.actions += steps
    return copy
  }

  /// Moves a pointer, in a straight line with many events if it takes time.
  ///
  /// - Parameters:
  ///   - x: CSS pixels from the left of the viewport, or from the middle of `element`.
  ///   - y: CSS pixels from its top, or from the middle of `element`.
  public func move(
    x: Int, y: Int, from element: Element? = nil, over duration: Duration = .zero
  ) -> Self {
    adding(
      Step(
        type: "pointerMove", duration: duration.inMilliseconds, x: x, y: y, origin: element))
  }

  /// Presses a button, or touches.
  ///
  /// - Parameter button: 0 is the left one, 1 the middle one, 2 the right one.
  public func down(button: Int = 0) -> Self { adding(Step(type: "pointerDown", button: button)) }

  /// Lets the button go, or ends the touch.
  public func up(button: Int = 0) -> Self { adding(Step(type: "pointerUp", button: button)) }

  /// Does nothing for a while.
  public func pause(_ duration: Duration) -> Self {
    adding(Step(type: "pause", duration: duration.inMilliseconds))
  }

  /// Turns the wheel at a point of the page.
  public func scroll(
    x: Int, y: Int, deltaX: Int = 0, deltaY: Int = 0, over duration: Duration = .zero
  ) -> Self {
    adding(
      Step(
        type: "scroll", duration: duration.inMilliseconds, x: x, y: y, deltaX: deltaX,
        deltaY: deltaY))
  }

  /// Presses a key and holds it.
  public func down(_ key: Key) -> Self { adding(Step(type: "keyDown", value: key.text)) }

  /// Lets a key go.
  public func up(_ key: Key) -> Self { adding(Step(type: "keyUp", value: key.text)) }

  /// Presses a key and lets it go.
  public func press(_ key: Key) -> Self { down(key).up(key) }

  /// Types a text.
  ///
  /// - Parameter interval: The time from one key to the next.
  public func type(_ text: String, every interval: Duration = .zero) -> Self {
    text.reduce(self) { sequence, character in
      let pressed = sequence.press(Key(character))
      return interval > .zero ? pressed.pause(interval) : pressed
    }
  }
}

/// A key of the keyboard.
public struct Key: Hashable, Sendable {
  /// What WebDriver has for it: the character, or one of Unicode's private area.
  public var text: String

  /// The key that types a character.
  public init(_ character: Character) { text = String(character) }

  private init(code: UInt32) { text = String(Unicode.Scalar(code).map(Character.init) ?? " ") }

  /// Escape.
  public static let escape = Key(code: 0xE00C)
  /// Enter.
  public static let enter = Key(code: 0xE007)
  /// Tab.
  public static let tab = Key(code: 0xE004)
  /// Backspace.
  public static let backspace = Key(code: 0xE003)
  /// Delete.
  public static let delete = Key(code: 0xE017)
  /// Shift.
  public static let shift = Key(code: 0xE008)
  /// Control.
  public static let control = Key(code: 0xE009)
  /// Alt.
  public static let alt = Key(code: 0xE00A)
  /// Page up.
  public static let pageUp = Key(code: 0xE00E)
  /// Page down.
  public static let pageDown = Key(code: 0xE00F)
  /// End.
  public static let end = Key(code: 0xE010)
  /// Home.
  public static let home = Key(code: 0xE011)
  /// The arrow to the left.
  public static let left = Key(code: 0xE012)
  /// The arrow upwards.
  public static let up = Key(code: 0xE013)
  /// The arrow to the right.
  public static let right = Key(code: 0xE014)
  /// The arrow downwards.
  public static let down = Key(code: 0xE015)
  /// The space bar.
  public static let space = Key(" ")
}

extension Browser {
  /// Performs sequences of input, at the same time, and returns when they are done.
  public func perform(_ sequences: InputSequence...) async throws {
    try await send("POST", "actions", ["actions": sequences])
  }

  /// Lets go what ``perform(_:)`` left pressed.
  public func releaseInput() async throws { try await send("DELETE", "actions") }
}

extension Duration {
  var inMilliseconds: Int {
    Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}

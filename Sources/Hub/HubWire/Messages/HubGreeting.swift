/// The first message of an app: which versions it speaks, its name, and what it opens.
package struct HubGreeting: Hashable, Sendable {
  /// The versions of the protocol that the app speaks.
  package var versions: ClosedRange<UInt16>
  /// The abilities of the app's library.
  package var abilities: HubAbilities
  /// The name of the app, which stays the same when it is started again. Refused if it is too long for a text.
  package var app: String
  /// The sessions to open, so that no second message is needed.
  package var openings: [SessionOpening]

  /// Creates a greeting of this version.
  package init(app: String, abilities: HubAbilities, openings: [SessionOpening] = []) {
    versions = HubProtocol.versions
    self.abilities = abilities
    self.app = app
    self.openings = openings
  }
}

/// The hub's answer to a greeting that it accepts.
package struct HubWelcome: Hashable, Sendable {
  /// The version that both speak: the highest one.
  package var version: UInt16
  /// The abilities of the hub.
  package var abilities: HubAbilities
  /// Whether the hub's radio is simulated.
  package var isSimulated: Bool

  /// Creates an answer.
  package init(version: UInt16, abilities: HubAbilities, isSimulated: Bool) {
    self.version = version
    self.abilities = abilities
    self.isSimulated = isSimulated
  }
}

/// The reason why the hub doesn't serve an app, or serves it no longer. The hub closes the connection.
package struct HubRefusal: Error, Hashable, Sendable {
  /// The kind of reason, for what the app does next.
  package enum Reason: Hashable, Sendable, CaseIterable {
    /// A reason of a later version, which the text explains.
    case other
    /// There is no common version of the protocol.
    case otherVersion
    /// The rules of the hub deny it.
    case denied
    /// A limit is reached: of apps, sessions, or bytes.
    case limitReached
    /// A message is invalid, or came in an order that is not allowed.
    case invalidMessage
    /// The hub doesn't know a message that it must understand. The text has its number.
    case notUnderstood
    /// The hub ends, or restarts.
    case ending
  }

  /// The kind of reason.
  package var reason: Reason
  /// The reason as a sentence, for people.
  package var text: String

  /// Creates a refusal.
  package init(_ reason: Reason, _ text: String) {
    self.reason = reason
    self.text = text
  }

  /// The answer to bytes that are not a message, with the reason.
  package init(_ error: HubWireError) {
    if case .notUnderstood(_, let number) = error {
      let text =
        "This version of the hub doesn't know a message that it has to understand (number \(number))."
      self.init(.notUnderstood, text)
    } else {
      self.init(.invalidMessage, "A message is invalid: \(error).")
    }
  }
}

/// Parts of the protocol that one side has and another may lack. Bits that this version doesn't know are kept.
package struct HubAbilities: OptionSet, Hashable, Sendable {
  /// The bits.
  package let rawValue: UInt64

  /// Creates abilities from their bits.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Sessions with a Bluetooth host.
  package static let bluetooth = HubAbilities(rawValue: 1 << 0)
  /// Messages about the hub's state, added to version 1. Of a hub only.
  package static let status = HubAbilities(rawValue: 1 << 1)
  /// Sessions that are known by their names, added to version 1. A hub with it answers the openings of sessions
  /// with names, if the app has it, too.
  package static let identity = HubAbilities(rawValue: 1 << 4)
  /// Messages to forget kept sessions, added to version 1. Of a hub only.
  package static let forgetting = HubAbilities(rawValue: 1 << 5)
  /// Messages about virtual time, added to version 1. Of a hub whose radio has virtual time: it sends its time to the
  /// programs that have the ability, too, and waits for them before it advances. Of an app: its library answers.
  package static let virtualTime = HubAbilities(rawValue: 1 << 6)
}

// MARK: Coding

extension HubGreeting: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let versions: ClosedRange<UInt16> = try coder.field(value) { $0.versions }
    var greeting = try HubGreeting(
      app: coder.identity(value) { $0.app }, abilities: coder.field(value) { $0.abilities },
      openings: coder.field(value) { $0.openings })
    greeting.versions = versions
    return greeting
  }
}

extension HubWelcome: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try HubWelcome(
      version: coder.field(value) { $0.version }, abilities: coder.field(value) { $0.abilities },
      isSimulated: coder.field(value) { $0.isSimulated })
  }
}

extension HubRefusal: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try HubRefusal(coder.field(value) { $0.reason }, coder.field(value) { $0.text })
  }
}

extension HubRefusal.Reason: HubNumbered {
  var number: UInt8 {
    switch self {
    case .other: 0
    case .otherVersion: 1
    case .denied: 2
    case .limitReached: 3
    case .invalidMessage: 4
    case .notUnderstood: 5
    case .ending: 6
    }
  }

  static var substitute: HubRefusal.Reason? { .other }
}

extension HubAbilities: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    HubAbilities(rawValue: try coder.compact(value?.rawValue))
  }
}

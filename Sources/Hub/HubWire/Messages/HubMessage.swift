package import BluetoothInterface
package import Essentials

/// A message from the hub to an app.
package enum HubMessage: Hashable, Sendable {
  /// The hub serves the app.
  case welcome(HubWelcome)
  /// The hub doesn't serve the app, or serves it no longer, and closes the connection.
  case refusal(HubRefusal)
  /// The answer to a ping, with its number.
  case pong(UInt64)
  /// Events of a session.
  case events(HubSessionID, HubEvents)
  /// The answer to a question for the hub's state, with its number.
  case status(UInt64, HubStatus)
  /// The answer to the opening of a session that has a name.
  case attached(HubSessionID, SessionAttachment)
  /// The answer to the request to forget sessions, with its number: how many were kept, and aren't any more; nil for a
  /// request about another user's sessions that the program may not make.
  case forgotten(UInt64, count: Int?)
  /// The time of the hub's radio, before the events of that time. Only with ``HubAbilities/virtualTime`` of both.
  case time(Instant)
  /// The time waits until the app has handled the events before this message; it answers with the same number. Only with
  /// ``HubAbilities/virtualTime`` of both.
  case settle(UInt64)
}

extension HubMessage: HubChoice {
  enum Number: UInt8, CaseIterable {
    case pong = 0x03
    case status = 0x04
    case attached = 0x08
    case forgotten = 0x09
    case welcome = 0x81
    case refusal = 0x82
    case events = 0x90
    case time = 0x91
    case settle = 0x92
  }

  var number: Number {
    switch self {
    case .welcome: .welcome
    case .refusal: .refusal
    case .pong: .pong
    case .events: .events
    case .status: .status
    case .attached: .attached
    case .forgotten: .forgotten
    case .time: .time
    case .settle: .settle
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .welcome:
      return try coder.fields(value, Self.welcome) {
        if case .welcome(let welcome) = $0 { welcome } else { nil }
      }
    case .refusal:
      return try coder.fields(value, Self.refusal) {
        if case .refusal(let refusal) = $0 { refusal } else { nil }
      }
    case .pong:
      return try coder.fields(value, Self.pong) {
        if case .pong(let number) = $0 { number } else { nil }
      }
    case .events:
      return try coder.fields(value, Self.events) {
        if case .events(let session, let events) = $0 { (session, events) } else { nil }
      }
    case .status:
      return try coder.fields(value, Self.status) {
        if case .status(let number, let status) = $0 { (number, status) } else { nil }
      }
    case .attached:
      return try coder.fields(value, Self.attached) {
        if case .attached(let session, let attachment) = $0 { (session, attachment) } else { nil }
      }
    case .forgotten:
      return try coder.fields(value, Self.forgotten) {
        if case .forgotten(let number, let count) = $0 { (number, count) } else { nil }
      }
    case .time:
      return try coder.fields(value, Self.time) {
        if case .time(let time) = $0 { time } else { nil }
      }
    case .settle:
      return try coder.fields(value, Self.settle) {
        if case .settle(let number) = $0 { number } else { nil }
      }
    }
  }
}

extension HubMessage: HubWireMessage {
  /// Reads a message from its bytes; nil for a kind that may be skipped.
  package static func decode(_ bytes: ArraySlice<UInt8>) throws(HubWireError) -> HubMessage? {
    try decodeChoice(bytes)
  }

  /// Appends the message with its head.
  package func write(into writer: inout HubFrameWriter) throws(HubWireError) {
    try writeChoice(into: &writer)
  }
}

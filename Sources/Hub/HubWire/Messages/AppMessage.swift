package import Essentials

/// A message from an app to the hub.
package enum AppMessage: Hashable, Sendable {
  /// The first message.
  case greeting(HubGreeting)
  /// Checks that the hub is alive; it answers with the same number. A hub that doesn't answer within 5 s
  /// is left.
  case ping(UInt64)
  /// Opens a session.
  case openSession(SessionOpening)
  /// A request of a session.
  case request(HubSessionID, HubRequest)
  /// The app has handled this number of events of a session, in the order of delivery.
  case eventsHandled(HubSessionID, count: Int)
  /// Ends a session and all its requests.
  case closeSession(HubSessionID)
  /// Asks for the state of the hub, which answers with the same number. Of several that are not answered yet,
  /// only the last one is. Only for hubs with ``HubAbilities/status``.
  case status(UInt64)
  /// Has the hub forget sessions that it keeps of programs that have ended; it answers with the same number. Only
  /// for hubs with ``HubAbilities/forgetting``.
  case forget(UInt64, KeptSessionFilter)
  /// The answer to ``HubMessage/settle(_:)``, behind the requests that follow from the events, with the time at which the
  /// app is to be asked again: that of its first timer. Only for hubs with ``HubAbilities/virtualTime``.
  case settled(UInt64, wake: Instant?)
  /// A session has work that no event caused, so that the time shall wait for it. Only for hubs with
  /// ``HubAbilities/virtualTime``.
  case hasWork(HubSessionID)
}

extension AppMessage: HubChoice {
  enum Number: UInt8, CaseIterable {
    case ping = 0x02
    case greeting = 0x81
    case openSession = 0x90
    case request = 0x91
    case eventsHandled = 0x92
    case closeSession = 0x93
    case status = 0x94
    case forget = 0x95
    case settled = 0x96
    case hasWork = 0x97
  }

  var number: Number {
    switch self {
    case .greeting: .greeting
    case .ping: .ping
    case .openSession: .openSession
    case .request: .request
    case .eventsHandled: .eventsHandled
    case .closeSession: .closeSession
    case .status: .status
    case .forget: .forget
    case .settled: .settled
    case .hasWork: .hasWork
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .greeting:
      return try coder.fields(value, Self.greeting) {
        if case .greeting(let greeting) = $0 { greeting } else { nil }
      }
    case .ping:
      return try coder.fields(value, Self.ping) {
        if case .ping(let number) = $0 { number } else { nil }
      }
    case .openSession:
      return try coder.fields(value, Self.openSession) {
        if case .openSession(let opening) = $0 { opening } else { nil }
      }
    case .request:
      return try coder.fields(value, Self.request) {
        if case .request(let session, let request) = $0 { (session, request) } else { nil }
      }
    case .eventsHandled:
      return try coder.fields(value, Self.eventsHandled) {
        if case .eventsHandled(let session, let count) = $0 { (session, count) } else { nil }
      }
    case .closeSession:
      return try coder.fields(value, Self.closeSession) {
        if case .closeSession(let session) = $0 { session } else { nil }
      }
    case .status:
      return try coder.fields(value, Self.status) {
        if case .status(let number) = $0 { number } else { nil }
      }
    case .forget:
      return try coder.fields(value, Self.forget) {
        if case .forget(let number, let filter) = $0 { (number, filter) } else { nil }
      }
    case .settled:
      return try coder.fields(value, Self.settled) {
        if case .settled(let number, let wake) = $0 { (number, wake) } else { nil }
      }
    case .hasWork:
      return try coder.fields(value, Self.hasWork) {
        if case .hasWork(let session) = $0 { session } else { nil }
      }
    }
  }
}

extension AppMessage: HubWireMessage {
  /// Reads a message from its bytes; nil for a kind that may be skipped.
  package static func decode(_ bytes: ArraySlice<UInt8>) throws(HubWireError) -> AppMessage? {
    try decodeChoice(bytes)
  }

  /// Appends the message with its head.
  package func write(into writer: inout HubFrameWriter) throws(HubWireError) {
    try writeChoice(into: &writer)
  }
}

/// Identifies a session within a connection. The app assigns it.
package struct HubSessionID: Hashable, Sendable {
  /// The number, unique among the sessions that the connection ever had.
  package let rawValue: UInt64

  /// Creates an identifier from its number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A session to open. Its first events are the links that are open, and then the radio's state.
package struct SessionOpening: Hashable, Sendable {
  /// The identifier of the session in messages.
  package var id: HubSessionID
  /// Whether the app acknowledges the events that it has handled.
  package var acknowledgesEvents: Bool
  /// The name of the manager that the session is for, which stays the same when the app is started again;
  /// empty for a session that ends with its connection. Refused if it is too long for a text.
  package var manager: String

  /// Creates an opening.
  package init(id: HubSessionID, acknowledgesEvents: Bool, manager: String = "") {
    self.id = id
    self.acknowledgesEvents = acknowledgesEvents
    self.manager = manager
  }
}

extension HubSessionID: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    HubSessionID(rawValue: try coder.compact(value?.rawValue))
  }
}

extension SessionOpening: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try SessionOpening(
        id: coder.field(value) { $0.id },
        acknowledgesEvents: coder.field(value) { $0.acknowledgesEvents },
        manager: coder.identity(value) { $0.manager })
    }
  }

  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubProtocol.openingCountMax, by: &coder)
  }
}

package import BluetoothInterface
package import Essentials

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
  /// How long the hub shall keep what the session wants, with its links and services, once the connection has
  /// ended. Zero for not at all. Only for hubs with ``HubAbilities/identity``, whose ``SessionAttachment`` has
  /// the time that they grant.
  package var keptFor: TimeSpan
  /// Whether the hub gives up the session that it keeps under the name: this process had a session of the name before, has heard its
  /// end, and requests all of it again. Otherwise the answer has the holdings of the kept session, if this one
  /// is to be kept, too.
  package var beginsAnew: Bool

  /// Creates an opening.
  package init(
    id: HubSessionID, acknowledgesEvents: Bool, manager: String = "", keptFor: TimeSpan = .zero,
    beginsAnew: Bool = false
  ) {
    self.id = id
    self.acknowledgesEvents = acknowledgesEvents
    self.manager = manager
    self.keptFor = keptFor
    self.beginsAnew = beginsAnew
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
      var opening = try SessionOpening(
        id: coder.field(value) { $0.id },
        acknowledgesEvents: coder.field(value) { $0.acknowledgesEvents },
        manager: coder.identity(value) { $0.manager })
      // As before, neither is written if both are their defaults.
      if value?.beginsAnew == true {
        opening.keptFor = try coder.addedField(value, default: .zero) { $0.keptFor }
      } else {
        opening.keptFor = try coder.lastAddedField(value, default: .zero) { $0.keptFor }
      }
      opening.beginsAnew = try coder.lastAddedField(value, default: false) { $0.beginsAnew }
      return opening
    }
  }

  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubProtocol.openingCountMax, by: &coder)
  }
}

extension SessionAttachment: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try SessionAttachment(
        holdsName: coder.field(value) { $0.holdsName }, keptFor: coder.field(value) { $0.keptFor },
        holdings: coder.lastAddedField(value, default: nil) { $0.holdings })
    }
  }
}

package import Essentials

/// Why and when a program last made the hub's radio work.
package struct RadioUse: Hashable, Sendable {
  /// What the radio was to do.
  package enum Reason: String, Hashable, Sendable, CaseIterable {
    /// A reason that this version doesn't know.
    case other
    /// A scan was started, or changed.
    case scan
    /// A link was requested.
    case connection
    /// Advertising was started, or changed.
    case advertisement
    /// An attribute of a peer was read, written, searched for or subscribed to.
    case attributes
    /// A value of an own characteristic was sent to peers.
    case notification
    /// A peer's request was answered.
    case response
    /// A pairing was begun.
    case pairing
    /// A channel was opened, or sent on.
    case channel
    /// A property of a link was read or changed.
    case link
  }

  package var reason: Reason
  /// How long ago that was.
  package var age: TimeSpan

  package init(_ reason: Reason, age: TimeSpan) {
    self.reason = reason
    self.age = age
  }
}

extension RadioUse: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try RadioUse(coder.field(value) { $0.reason }, age: coder.field(value) { $0.age })
    }
  }
}

extension RadioUse.Reason: HubNumbered {
  var number: UInt8 {
    switch self {
    case .other: 0
    case .scan: 1
    case .connection: 2
    case .advertisement: 3
    case .attributes: 4
    case .notification: 5
    case .response: 6
    case .pairing: 7
    case .channel: 8
    case .link: 9
    }
  }

  static var substitute: RadioUse.Reason? { .other }
}

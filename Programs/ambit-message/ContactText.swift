#if Messaging
  import AmbitCLI
  import JSONWire
  import Messaging

  /// Presences and chat states as objects and lines.
  enum ContactText {
    static func object(_ presence: Presence) -> JSON {
      let first = presence.resources.first?.availability
      return .object([
        "event": .string("presence"), "address": .string(presence.address),
        "available": .bool(presence.isAvailable),
        "show": first.map { .string($0.show.rawValue) },
        "status": first.flatMap { $0.status.isEmpty ? nil : .string($0.status) },
        "resources": .integer(Int64(presence.resources.count)),
      ])
    }

    static func object(_ update: ChatStateUpdate) -> JSON {
      .object([
        "event": .string("typing"), "peer": .string(update.address),
        "state": .string(update.state.rawValue),
      ])
    }

    static func line(_ presence: Presence) -> String {
      guard let first = presence.resources.first?.availability else {
        return Fit.safe("\(presence.address) isn't available.")
      }
      let show =
        switch first.show {
        case .available, .chat: "available"
        case .away: "away"
        case .extendedAway: "away for long"
        case .doNotDisturb: "not to be disturbed"
        }
      let status = first.status.isEmpty ? "" : ": \(first.status)"
      return Fit.safe("\(presence.address) is \(show)\(status).")
    }

    /// Nil for states that need no line.
    static func line(_ update: ChatStateUpdate) -> String? {
      switch update.state {
      case .composing: Fit.safe("\(update.address) is typing.")
      case .paused: Fit.safe("\(update.address) has paused.")
      case .active, .inactive, .gone: nil
      }
    }
  }
#endif

import DiscoveryMachines

// What an owner does for its clients, and what it has refused, for the state of a hub.

extension OwnerMachine {
  /// What an owner has refused since it began. The numbers only grow.
  package struct Refusals: Hashable, Sendable {
    /// The reason why a connection was refused, or ended.
    package enum Reason: Hashable, Sendable {
      /// With a message that has the reason.
      case rejected(OwnerMessage.RejectionReason)
      /// No greeting came in time.
      case silent
      /// Too many bytes of incomplete messages waited.
      case unread
      /// Too many bytes waited for the client.
      case backlog

      /// All reasons.
      package static var allCases: [Reason] {
        OwnerMessage.RejectionReason.allCases.map { .rejected($0) } + [.silent, .unread, .backlog]
      }
    }

    /// How many connections were refused, or ended, by the reason.
    package private(set) var connectionCounts: [Reason: Int] = [:]
    /// How many requests were refused because of a limit, and reconfirmations ignored.
    package internal(set) var requestCount = 0

    /// Counts a connection.
    mutating func count(_ reason: Reason) { connectionCounts[reason, default: 0] += 1 }
  }

  /// What a client has.
  package struct ClientStatus: Hashable, Sendable {
    package var userID: UInt32
    package var serviceCount: Int
    /// Records besides those of services.
    package var recordCount: Int
    /// Queries for services of a type.
    package var browserCount: Int
    /// All other queries.
    package var queryCount: Int
  }

  /// What each client has that was greeted, in the order in which they connected.
  package var clientStatuses: [(id: ConnectionID, status: ClientStatus)] {
    clients.sorted { $0.key < $1.key }.filter(\.value.isGreeted).map { id, client in
      let serviceCount = client.registrations.values.count { $0.isService }
      let addedCount = client.registrations.values.reduce(0) { $0 + $1.addedRecords.count }
      return (
        id,
        ClientStatus(
          userID: client.userID, serviceCount: serviceCount,
          recordCount: client.registrations.count - serviceCount + addedCount,
          browserCount: client.browsers.count,
          queryCount: client.queries.count - client.browsers.count)
      )
    }
  }

  /// The host has refused a connection before it was a client, or dropped one.
  package mutating func refused(_ reason: Refusals.Reason) { refusals.count(reason) }
}

extension OwnerMachine.Refusals.Reason {
  /// The reason as a label of metrics.
  package var label: String {
    switch self {
    case .rejected(.otherVersion): "other_version"
    case .rejected(.otherConfiguration): "other_configuration"
    case .rejected(.tooManyClients): "too_many_programs"
    case .rejected(.tooManyRequests): "too_many_requests"
    case .rejected(.invalidMessage): "invalid_message"
    case .rejected(.otherUser): "denied"
    case .silent: "silent"
    case .unread: "incomplete_messages"
    case .backlog: "unread_messages"
    }
  }
}

package import BluetoothInterface
import BluetoothWire

/// What a host over bluetoothd does at one moment, for the report of a hub's state.
package struct BlueZSnapshot: Sendable, Hashable {
  /// A device with a link, or one for which clients wait.
  package struct Link: Sendable, Hashable {
    package var peer: String
    package var name: String?
    /// The role of this host; nil without a link.
    package var role: LinkInfo.Role?
    /// `pending`, `open` or `closing`.
    package var stage: String
    package var clients: [BlueZSessionID]
    /// The subscribed clients, once for each characteristic.
    package var subscribers: [BlueZSessionID] = []
    /// Operations that have not ended.
    package var operationCount = 0
  }

  package var state: RadioState
  /// The address of the adapter, as text; nil without one.
  package var address: String?
  /// The sentences about what bluetoothd refuses, and this host tries again.
  package var refusals: [String] = []
  package var scans: [BlueZSessionID] = []
  package var advertisements: [BlueZSessionID] = []
  /// Clients that have not handled their events in time.
  package var lateClients: [BlueZSessionID] = []
  /// The client of each channel.
  package var channels: [BlueZSessionID] = []
  package var links: [Link] = []
  package var droppedValueCount = 0
  package var droppedReportCount = 0
  package var expiredRequestCount = 0
}

extension BlueZMachine {
  /// The numbers of what clients have missed.
  struct Counters: Sendable {
    var droppedValues = 0
    var droppedReports = 0
    var expiredRequests = 0
  }

  /// The state of this host. Tables are in the order of their keys.
  package var snapshot: BlueZSnapshot {
    let ids = clients.keys.sorted()
    var snapshot = BlueZSnapshot(state: state)
    snapshot.address = adapter.flatMap { adapters[$0]?.address }.map {
      DeviceAddress(bits: $0, kind: .public).description
    }
    snapshot.refusals = refusals
    snapshot.scans = ids.filter { clients[$0]?.scan != nil }
    snapshot.advertisements = ids.filter { advertisements[$0]?.phase == .registered }
    snapshot.lateClients = ids.filter { isBehind($0) }
    snapshot.channels = channels.values.map(\.client).sorted()
    for (peer, link) in links.sorted(by: { $0.key.bits < $1.key.bits }) {
      let stage =
        switch link.phase {
        case .waiting, .unheard, .connecting: "pending"
        case .open: "open"
        case .closing: "closing"
        }
      snapshot.links.append(
        BlueZSnapshot.Link(
          peer: peer.description, name: link.info.name, role: link.isUp ? link.info.role : nil,
          stage: stage, clients: link.users.keys.sorted(),
          subscribers: link.subscribers.values.flatMap(\.self).sorted(),
          operationCount: link.operations.count))
    }
    snapshot.droppedValueCount = counters.droppedValues
    snapshot.droppedReportCount = counters.droppedReports
    snapshot.expiredRequestCount = counters.expiredRequests
    return snapshot
  }
}

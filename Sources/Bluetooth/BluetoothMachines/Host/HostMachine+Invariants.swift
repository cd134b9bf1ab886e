import BluetoothInterface
import BluetoothWire
import GATTMachines
import L2CAPMachines

// What must hold between the machines whenever none of them is at work.

extension HostMachine {
  /// Stops a debug build whose machines contradict each other. Release builds check nothing.
  mutating func assertInvariants() {
    assert(violations().isEmpty, violations().joined(separator: "; "))
    // One table for each event: all of them cost more than the events of seeded runs.
    checkedTable = (checkedTable + 1) % Self.tableCount
    let table = checkedTable
    assert(violations(ofTable: table).isEmpty, violations(ofTable: table).joined(separator: "; "))
  }

  /// How the machines contradict each other or themselves; a sentence for each contradiction.
  func violations() -> [String] {
    var found = links.violations() + backlog.violations()
    found += controllerViolations() + requestViolations()
    for index in links.indices { found += linkViolations(index) }
    for channel in channels.channels where links.index(handle: channel.link) == nil {
      found.append("channel \(channel.id.rawValue) is on no link")
    }
    if server.sessions.count != links.count { found.append("server sessions and links differ") }
    return found
  }

  /// The number of tables that `violations(ofTable:)` checks.
  static let tableCount = 14

  /// How a table contradicts itself; a sentence for each contradiction. Of a long table, a few rows
  /// are checked.
  func violations(ofTable index: Int) -> [String] {
    let limit = 8
    return switch index {
    case 0: session.violations()
    case 1: scheduler.violations()
    case 2: resolvingList.violations()
    case 3: links.orphans.violations()
    case 4: heldLinks.violations()
    case 5: connector.violations(perTable: limit)
    case 6: scanner.violations(perTable: limit)
    case 7: linkRequests.violations(perTable: limit)
    case 8: channels.violations(perTable: limit)
    case 9: server.updates.violations(perTable: limit)
    case 10: peerCache.violations(perTable: limit)
    case 11: security.bonds.violations(perTable: limit)
    case 12: security.attempts.violations()
    default: security.outOfBand.violations()
    }
  }

  private func controllerViolations() -> [String] {
    var found: [String] = []
    if (state == .poweredOn) != session.isReady {
      found.append("the state is \(state), the controller is \(session.isReady ? "" : "not ")up")
    }
    if !session.isReady, !links.isEmpty { found.append("links without a controller") }
    if !session.isReady, !links.orphans.isEmpty { found.append("orphans without a controller") }
    if !session.isReady, !heldLinks.isEmpty { found.append("held links without a controller") }
    for held in heldLinks.links {
      if links.index(peer: held.peer) == nil { found.append("a link is held for no other") }
      if links.index(handle: held.handle) != nil || links.orphans.contains(held.handle) {
        found.append("a held link is also another")
      }
    }
    return found
  }

  /// A request for a link is in one state, and the link in one that goes with it.
  private func requestViolations() -> [String] {
    var found: [String] = []
    for request in linkRequests.requests {
      if !clients.contains(request.client) { found.append("a request of a removed client") }
      let link = links.index(peer: request.peer)
      switch request.state {
      case .pending:
        if let link, links.entries[link].stage == .open {
          found.append("a client waits for a link that is open")
        }
        if link == nil, !connector.isPending(request.peer) {
          found.append("a client waits for a link that is not being made")
        }
      case .connected:
        if link.map({ !links.entries[$0].isAnnounced }) ?? true {
          found.append("a client has a link that is not open")
        }
      case .cancelling:
        if link.map({ !links.entries[$0].isClosing }) ?? true {
          found.append("a client waits for the end of a link that is not ending")
        }
      }
    }
    for peer in connector.peers where linkRequests.firstPending(peer) == nil {
      found.append("a link is being made that no client waits for")
    }
    return found
  }

  private func linkViolations(_ index: Int) -> [String] {
    var found: [String] = []
    let peer = links.peers[index]
    if server.sessionIndex(peer) == nil { found.append("a link without a server session") }
    if !scheduler.serves(handle: links.handles[index]) {
      found.append("a link that the scheduler doesn't serve")
    }
    guard !links.entries[index].gatt.subscriptions.isEmpty else { return found }
    let connected = linkRequests.connectedClients(peer)
    for client in links.entries[index].gatt.subscriptions.subscriptions.flatMap(\.clients)
    where !connected.contains(client) {
      found.append("client \(client.rawValue) gets values over a link that it doesn't have")
    }
    return found
  }
}

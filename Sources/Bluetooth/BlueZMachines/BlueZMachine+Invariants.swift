import BluetoothInterface
import BluetoothWire

extension BlueZMachine {
  /// The sentences about tables of the machine that disagree. None, or there is a mistake in it.
  package func violations() -> [String] {
    var found: [String] = []
    for (path, peer) in linkPeers where links[peer]?.path != path {
      found.append("\(path) leads to \(peer), whose link has another path")
    }
    for (peer, link) in links {
      if let path = link.path, linkPeers[path] != peer {
        found.append("nothing leads from \(path) to \(peer)")
      }
      if link.isUp, link.path.map({ devices[$0] == nil }) ?? true, state == .poweredOn {
        found.append("the link to \(peer) has no device")
      }
      if link.users.isEmpty, !link.isUp, link.phase != .connecting {
        found.append("no client wants the link to \(peer)")
      }
      if link.operations.isEmpty, link.running != .nothing {
        found.append("an operation on \(peer) runs that is not there")
      }
      if link.rssiRequests.isEmpty != (link.rssiDeadline == nil), link.rssiDeadline == nil {
        found.append("a request for the RSSI of \(peer) waits for ever")
      }
      if !link.isUp, !link.operations.isEmpty || !link.subscribers.isEmpty {
        found.append("\(peer) is not connected and has operations or subscriptions")
      }
      for id in link.users.keys where clients[id] == nil {
        found.append("\(peer) has a closed session")
      }
    }
    for (id, channel) in channels where clients[channel.client] == nil {
      found.append("the channel \(id) has a closed session")
    }
    for (id, channel) in channels
    where channel.sends.reduce(0, { $0 + $1.byteCount }) != channel.unsentByteCount {
      found.append("the channel \(id) counts other bytes than its sends have")
    }
    for (id, listener) in listeners where clients[listener.client] == nil {
      found.append("a closed session listens on \(id)")
    }
    for (peer, link) in links where link.running == .pairing {
      if !pairings.values.contains(where: { $0.peer == peer }) {
        found.append("an operation on \(peer) waits for a pairing that is not there")
      }
    }
    for (address, path) in paths where devices[path] == nil {
      found.append("\(address) has no device at \(path)")
    }
    if state != .poweredOn, links.values.contains(where: \.isUp) {
      found.append("a link is up, and the radio is not")
    }
    if state == .poweredOn, adapter == nil { found.append("the radio is on without an adapter") }
    if calls.count - waitingCalls.count > BlueZLimits.pendingCallCountMax {
      found.append("\(calls.count) calls have no reply")
    }
    return found + monitorViolations()
  }

  private func monitorViolations() -> [String] {
    guard let monitors else { return [] }
    var found: [String] = []
    if state != .poweredOn || monitors.adapter != adapter {
      found.append("\(monitors.root) has monitors of an adapter that is not in use")
    }
    if !monitors.found.allSatisfy({ devices[$0] != nil }) {
      found.append("a monitor has found a device that is not there")
    }
    return found
  }
}

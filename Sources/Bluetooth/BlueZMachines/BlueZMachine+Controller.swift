import BluetoothInterface
import BluetoothWire
import Essentials

// What D-Bus doesn't give: an unprivileged HCI socket has the handles and roles of links, their RSSI and the reasons of
// disconnections.

extension BlueZMachine {
  mutating func connectionsRead(
    _ connections: [ControllerConnection], into actions: inout [Action]
  ) {
    for peer in links.keys.sorted(by: { $0.bits < $1.bits }) {
      guard let link = links[peer], link.phase == .open, let path = link.path,
        let device = devices[path]
      else { continue }
      let addresses = [peer.bits, device.identity?.bits]
      guard let found = connections.first(where: { addresses.contains($0.addressBits) }) else {
        continue
      }
      // A link that has ended, as bluetoothd is about to report, had the same handle.
      if let old = self.peer(withHandle: found.handle) { links[old]?.connectionHandle = nil }
      links[peer]?.connectionHandle = found.handle
      links[peer]?.disconnectionReason = nil
      let role: LinkInfo.Role = found.isCentral ? .central : .peripheral
      guard link.info.role != role else { continue }
      links[peer]?.info.role = role
      deliverToAll(.linkUpdated(links[existing: peer].info), into: &actions)
    }
  }

  mutating func controllerReported(_ report: ControllerReport, into actions: inout [Action]) {
    switch report {
    case .disconnected(let handle, let reason):
      // The link ends with bluetoothd's signal, a moment later.
      if let peer = peer(withHandle: handle) { links[peer]?.disconnectionReason = reason }
    case .rssi(let handle, let rssi):
      guard let peer = peer(withHandle: handle) else { return }
      endRSSIRequests(peer, .success(.rssi(rssi ?? 127)), into: &actions)
    }
  }

  private func peer(withHandle handle: UInt16) -> DeviceAddress? {
    links.first { $0.value.isUp && $0.value.connectionHandle == handle }?.key
  }

  mutating func readRSSI(
    _ peer: DeviceAddress, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard let link = links[peer], link.isConnected(for: id) else {
      return complete(id, token, .failure(.notConnected), into: &actions)
    }
    guard let handle = link.connectionHandle else {
      let sentence = "bluetoothd doesn't report the RSSI of a link, and the kernel gave no handle."
      return complete(id, token, .failure(.unsupported(sentence)), into: &actions)
    }
    links[peer]?.rssiRequests.append(BlueZLink.RSSIRequest(client: id, token: token))
    guard link.rssiDeadline == nil else { return }
    links[peer]?.rssiDeadline = now + BlueZLimits.rssiMax
    actions.append(.readRSSI(handle: handle))
  }

  mutating func endRSSIRequests(
    _ peer: DeviceAddress, _ result: Result<HostReply, HostError>, into actions: inout [Action]
  ) {
    let requests = links[peer]?.rssiRequests ?? []
    links[peer]?.rssiRequests = []
    links[peer]?.rssiDeadline = nil
    for request in requests { complete(request.client, request.token, result, into: &actions) }
  }

  mutating func wakeRSSI(_ peer: DeviceAddress, now: Instant, into actions: inout [Action]) {
    guard let deadline = links[peer]?.rssiDeadline, deadline <= now else { return }
    let error = HostError.transport("The controller did not report the RSSI of the link.")
    endRSSIRequests(peer, .failure(error), into: &actions)
  }

  /// Ends the requests of a client that leaves a link.
  mutating func dropRSSIRequests(
    of id: BlueZSessionID, on peer: DeviceAddress, into actions: inout [Action]
  ) {
    for request in links[peer]?.rssiRequests ?? [] where request.client == id {
      complete(id, request.token, .failure(.cancelled), into: &actions)
    }
    links[peer]?.rssiRequests.removeAll { $0.client == id }
  }
}

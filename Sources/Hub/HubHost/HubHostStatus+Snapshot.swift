import BluetoothInterface
import BluetoothMachines
import HubMachines
import HubWire

extension HubHostStatus {
  /// Adds what a host reports of its links and clients.
  ///
  /// - Parameters:
  ///   - snapshot: The state of the host.
  ///   - sessions: The sessions of programs, by the host's numbers of its clients.
  mutating func add(_ snapshot: HostSnapshot, _ sessions: [UInt32: HubSessionKey]) {
    func keys(_ clients: [UInt32]) -> [HubSessionKey] { clients.compactMap { sessions[$0] } }
    for key in keys(snapshot.scans) { self.sessions[key, default: Session()].isScanning = true }
    for key in keys(snapshot.advertisements) {
      self.sessions[key, default: Session()].isAdvertising = true
    }
    for key in keys(snapshot.lateClients) { self.sessions[key, default: Session()].isLate = true }
    for key in keys(snapshot.channels.map(\.client)) {
      self.sessions[key, default: Session()].channelCount += 1
    }
    for link in snapshot.links {
      for key in keys(link.subscriptions.flatMap(\.clients)) {
        self.sessions[key, default: Session()].subscriptionCount += 1
      }
      links.append(Link(HubStatus.Link(link), users: keys(link.clients)))
    }
    addRequests(snapshot.linkRequests, sessions)
    bondFile?.bondCount = snapshot.bondCount
    droppedValueCount = snapshot.counters.droppedValues
    droppedReportCount = snapshot.counters.droppedReports
    expiredRequestCount = snapshot.counters.expiredRequests
  }

  /// Adds the peers that sessions wait for, each with all of them.
  private mutating func addRequests(
    _ requests: [HostSnapshot.LinkRequest], _ sessions: [UInt32: HubSessionKey]
  ) {
    var places: [[String]: Int] = [:]
    for request in requests {
      let place = [request.peer, request.state.rawValue]
      let index = places[place] ?? links.count
      if index == links.count {
        places[place] = index
        links.append(
          Link(HubStatus.Link(peer: request.peer, stage: request.state.rawValue), users: []))
      }
      if let key = sessions[request.client] { links[index].users.append(key) }
    }
  }
}

extension HubStatus.Link {
  fileprivate init(_ link: HostSnapshot.Link) {
    self.init(peer: link.peer, name: link.name, role: link.role, stage: link.stage.rawValue)
    isEncrypted = link.isEncrypted
    isHeldBack = link.isHeldBack
    queuedByteCount = link.queuedByteCount
    operationCount = link.pendingOperationCount
  }
}

extension HubStatus.Radio {
  init(_ snapshot: any HubRadioSnapshot, name: String, problem: String?, isSimulated: Bool) {
    self.init(
      name: name, state: snapshot.radioState, address: snapshot.radioAddress,
      problem: problem, isSimulated: isSimulated)
  }
}

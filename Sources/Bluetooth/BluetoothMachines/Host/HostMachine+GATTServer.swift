import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines

// This host's own attributes.

extension HostMachine {
  /// Lets the GATT server put out something and acts on it.
  mutating func withServer(
    now: Instant, into actions: inout [Action],
    _ body: (inout GATTServer, inout [GATTServer.Output]) -> Void
  ) {
    var produced: [GATTServer.Output] = []
    swap(&produced, &outputs.server)
    body(&server, &produced)
    due(server.nextWake)
    produced.takeEach { take($0, now: now, into: &actions) }
    swap(&produced, &outputs.server)
  }

  // Not inlined: the optimizer copies `withServer` for each closure that is passed to it.
  @inline(never)
  private mutating func take(
    _ output: GATTServer.Output, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .send(let peer, let pdu, let tag, let bearer):
      if let index = links.index(peer: peer) {
        sendAttributePDU(pdu, tag: tag, over: bearer, link: index, now: now, into: &actions)
      }
    case .request(let client, let request):
      guard admits(request, for: client, now: now, into: &actions) else { return }
      notify(client, .serverRequest(request), into: &actions)
    case .protectionNeeded(let client, let peer): needsProtection(client, of: peer)
    case .requestExpired(let client, let peer, let handle):
      requestExpired(client, peer, handle, now: now, into: &actions)
    case .subscribed(let client, let peer, let handle):
      notify(client, .subscribed(peer, handle: handle), into: &actions)
    case .unsubscribed(let client, let peer, let handle):
      notify(client, .unsubscribed(peer, handle: handle), into: &actions)
    case .updateCompleted(let client, let token, let result):
      complete(PendingRequest(client: client, token: token), result, into: &actions)
    case .clientChanged(let peer): keepClientConfiguration(of: peer, now: now, into: &actions)
    case .mtuChanged(let peer, let mtu):
      if let index = links.index(peer: peer) {
        links.entries[index].gatt.mtu = mtu
        mtuChanged(mtu, index, into: &actions)
      }
    case .bearerFailed(let peer, let error):
      if let index = links.index(peer: peer) {
        disconnectLink(index, because: error, now: now, into: &actions)
      }
    }
  }

  mutating func receiveForServer(
    _ pdu: ArraySlice<UInt8>, over bearer: ATTBearer, from index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    let peer = links.peers[index]
    // Signatures are for links without encryption, which have the fixed channel only.
    if pdu.first == ATTOpcode.signedWriteCommand.rawValue, bearer == .fixed {
      return receiveSignedWrite(pdu, from: index, now: now, into: &actions)
    }
    withServer(now: now, into: &actions) { server, outputs in
      server.receive(pdu, from: peer, over: bearer, now: now, into: &outputs)
    }
  }

  mutating func serveServer(
    _ client: ClientID, _ request: HostRequest, now: Instant, into actions: inout [Action]
  ) {
    var reply: (PendingRequest, Result<HostReply, HostError>)?
    withServer(now: now, into: &actions) { server, outputs in
      switch request {
      case .addService(let definition, let token):
        let result = server.addService(definition, owner: client, now: now, into: &outputs)
        reply = (PendingRequest(client: client, token: token), result.map { .published($0) })
      case .removeService(let handle):
        server.removeService(handle, owner: client, now: now, into: &outputs)
      case .removeAllServices:
        server.removeAllServices(owner: client, now: now, into: &outputs)
      case .respond(let id, let result):
        server.respond(id, result, from: client, now: now, into: &outputs)
      case .updateValue(let handle, let value, let peers, let token):
        server.updateValue(
          handle: handle, value: value, peers: peers, token: token, owner: client, now: now,
          into: &outputs)
      default: preconditionFailure("\(request) is not about services")
      }
    }
    if let (request, result) = reply { complete(request, result, into: &actions) }
  }

  mutating func removeServerClient(
    _ client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    withServer(now: now, into: &actions) { server, outputs in
      server.clientClosed(client, now: now, into: &outputs)
    }
  }

  mutating func closeServerLink(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    withServer(now: now, into: &actions) { server, outputs in
      server.linkClosed(peer, now: now, into: &outputs)
    }
  }

  mutating func wakeServer(now: Instant, into actions: inout [Action]) {
    withServer(now: now, into: &actions) { server, outputs in
      server.wake(now: now, into: &outputs)
    }
  }
}

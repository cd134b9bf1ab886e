import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Security of links: what it takes from peers, controller and clients, and what it puts out.

extension HostMachine {
  /// Lets a link's security put out something and acts on it. The link may be gone after this.
  mutating func withSecurity(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout LinkSecurity, inout HostSecurity, inout [LinkSecurity.Output]) -> Void
  ) {
    let causes = prepareSecurity(of: index)
    var produced: [LinkSecurity.Output] = []
    body(&links.entries[index].security, &security, &produced)
    act(on: produced, of: index, causedBy: causes, now: now, into: &actions)
  }

  // This and the next are not inlined: the optimizer copies `withSecurity` for each closure that is passed to it.
  @inline(never)
  private mutating func prepareSecurity(of index: Int) -> Set<ProgramID> {
    if security.bonds.isFull(forUnasked: true) { security.connectedPeers = Set(links.peers) }
    let causes = pairingCauses.isEmpty ? [] : causes(of: links.entries[index])
    security.causes = causes
    return causes
  }

  /// Acts on outputs of the security of the link with an index.
  @inline(never)
  private mutating func act(
    on produced: [LinkSecurity.Output], of index: Int, causedBy causes: Set<ProgramID>,
    now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    let peer = links.peers[index]
    due(links.entries[index].security.nextWake)
    let agentIsBehind = produced.contains {
      guard case .prompt(_, _, let agent) = $0 else { return false }
      return hiddenLinks.contains(peer, from: agent)
    }
    for output in produced {
      if !take(output, about: peer, causedBy: causes, into: &actions) {
        take(output, from: handle, now: now, into: &actions)
      }
      // It may have configured something before.
      if case .bonded = output {
        keepClientConfiguration(of: peer, now: now, into: &actions)
      }
    }
    guard !produced.isEmpty, let index = links.index(handle: handle) else { return }
    disconnectIfFlushed(index, now: now, into: &actions)
    // The agent is too far behind to be asked. Another attempt may find it with less to do.
    guard agentIsBehind, let index = links.index(handle: handle) else { return }
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      link.agentGone(host: &host, now: now, into: &outputs)
    }
  }

  /// Acts on an output that needs no link; false if it does need one.
  private mutating func take(
    _ output: LinkSecurity.Output, about peer: DeviceAddress, causedBy causes: Set<ProgramID>,
    into actions: inout [Action]
  ) -> Bool {
    switch output {
    case .prompt(let prompt, let id, let agent):
      // It hears of the pairing's end, whatever happens to its use of the link.
      needsProtection(agent, of: peer)
      notify(agent, .pairingPrompt(peer, prompt, id), into: &actions)
    case .bonded(let bond):
      // One that was configured needs no keeping.
      let isKept = configuration.address == nil
      actions.append(.storeBond(bond, isKept ? security.identity : nil))
    case .bondNotKept(let reason):
      actions.append(.bondNotKept(peer, reason))
      notifyOfPairing(.bondNotKept(peer, reason), causedBy: causes, into: &actions)
    case .displaced(let bond):
      bondRemoved(bond)
      bondsReplaced()
    case .evicted(let bond):
      actions.append(.removeBond(bond))
      actions.append(.bondEvicted(bond.knownAddress))
      bondRemoved(bond)
      bondsReplaced()
    case .bondRejected(let bond):
      // Unless another one has its place.
      guard security.bonds.bond(of: bond.knownAddress)?.hasKeys(of: bond) == true else { break }
      _ = security.bonds.remove(bond.knownAddress)
      actions.append(.removeBond(bond))
      bondRemoved(bond)
      bondsReplaced()
    case .compute(let request): actions.append(.computeKey(request))
    case .pairingEnded(let failure):
      if failure == nil { pairingCauses.paired(with: peer) }
      notifyOfPairing(.pairingEnded(peer, failure), causedBy: causes, into: &actions)
    case .completed(let request, let failure):
      complete(
        request, failure.map { .failure(.security($0)) } ?? .success(.done), into: &actions)
    case .sendPDU, .encrypt, .answerKeyRequest, .encryptionChanged, .secured, .disconnect:
      return false
    }
    return true
  }

  private mutating func take(
    _ output: LinkSecurity.Output, from handle: UInt16, now: Instant,
    into actions: inout [Action]
  ) {
    // An output may end the link; those after it have nothing to act on then.
    guard let index = links.index(handle: handle) else { return }
    switch output {
    case .sendPDU(let pdu, let number):
      let frame = OutgoingFrame(
        channel: L2CAPChannelIdentifier.security, payload: pdu, tag: SendTag(.security, number))
      scheduler.enqueue(frame, handle: handle)
    case .encrypt(let key):
      let command = LEEnableEncryption(
        handle: handle, random: key.random, diversifier: key.encryptedDiversifier,
        longTermKey: key.value.number)
      send(command.packet, for: .encrypting(handle), link: handle, now: now, into: &actions)
    case .answerKeyRequest(let key?):
      let reply = LELongTermKeyRequestReply(handle: handle, longTermKey: key.number)
      send(reply.packet, link: handle, now: now, into: &actions)
    case .answerKeyRequest(nil):
      let reply = LELongTermKeyRequestNegativeReply(handle: handle)
      send(reply.packet, link: handle, now: now, into: &actions)
    case .encryptionChanged(let encryption, let isWithBond):
      links.entries[index].info.encryption = encryption
      let peer = links.peers[index]
      server.setEncryption(
        encryption, peer, hasKey: security.usableBond(of: peer)?.peripheralKey != nil)
      // Not `hasProvedBond`: a pairing may have ended since, whose bond is stored by an output after this.
      if isWithBond {
        restoreClientConfiguration(of: peer, now: now, into: &actions)
        storeChangedBonds(now: now, into: &actions)
      }
      guard let index = links.index(handle: handle) else { return }
      if encryption != nil {
        links.entries[index].gatt.encrypted(now: now)
        due(links.entries[index].gatt.nextWake)
      }
      announceUpdate(index, into: &actions)
    case .secured(let isSecured):
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.secured(isSecured, now: now, into: &outputs)
      }
      channelsSecured(isSecured, link: handle, now: now, into: &actions)
    case .disconnect(let failure):
      // Clients learn of a link that ends for this reason, or they would wait for ever for the next.
      confirm(index, into: &actions)
      disconnectLink(index, because: .security(failure), now: now, into: &actions)
    case .prompt, .bonded, .bondNotKept, .displaced, .evicted, .bondRejected, .compute,
      .pairingEnded, .completed:
      break
    }
  }

  // MARK: Links

  /// Encrypts a new link to a bonded peer; its attributes have to wait for that.
  mutating func encryptWithBond(_ index: Int, now: Instant, into actions: inout [Action]) {
    var begins = false
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      begins = link.beginWithBond(host: host, now: now, into: &outputs)
    }
    if begins { links.entries[index].gatt.hold() }
  }

  /// Protects a link because the peer refused a program's request.
  mutating func secure(
    _ index: Int, _ requirement: LinkSecurity.Requirement, for requester: Requester, now: Instant,
    into actions: inout [Action]
  ) {
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      host.requester = requester.program
      link.secure(requirement, host: &host, now: now, into: &outputs)
      host.requester = nil
    }
  }

  /// What the link has to be for an operation that the peer refused with this error.
  func requirement(after error: ATTErrorCode, on index: Int) -> LinkSecurity.Requirement {
    // The peer wants more than the encryption that there is.
    links.entries[index].security.isEncrypted && error == .insufficientAuthentication
      ? .authentication : .encryption
  }

  /// The controller reports that encryption was switched on or off, or failed to be.
  mutating func encryptionChanged(
    _ handle: UInt16, _ status: HCIStatus, isOn: Bool, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = links.index(handle: handle) else { return }
    if status == .success { confirm(index, into: &actions) }
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      link.encryptionChanged(status, isOn: isOn, host: &host, now: now, into: &outputs)
    }
  }

  /// The peer has acknowledged packets; perhaps those with the last keys of a pairing.
  mutating func keysAcknowledged(
    _ handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    while let tag = scheduler.takeAcknowledged(handle: handle) {
      guard let index = links.index(handle: handle) else { return }
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.acknowledged(tag.number, host: &host, now: now, into: &outputs)
      }
    }
  }

  mutating func longTermKeyRequested(
    _ event: LELongTermKeyRequest, now: Instant, into actions: inout [Action]
  ) {
    guard let index = links.index(handle: event.handle) else {
      routing.strayPackets += 1
      return
    }
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      link.longTermKeyRequested(
        random: event.random, diversifier: event.diversifier, host: host, into: &outputs)
    }
  }

  // MARK: Clients of this host's server

  private mutating func restoreClientConfiguration(
    of peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    if let configuration = security.bonds.bond(of: peer)?.clientConfiguration {
      withServer(now: now, into: &actions) { server, outputs in
        server.restore(configuration, of: peer, now: now, into: &outputs)
      }
    }
    // It may have configured something on this link already.
    keepClientConfiguration(of: peer, now: now, into: &actions)
  }

  /// A peer has configured something; that of a bonded one, over an encrypted link, is kept.
  mutating func keepClientConfiguration(
    of peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let index = links.index(peer: peer), links.entries[index].security.hasProvedBond else {
      return
    }
    let configuration = server.clientConfiguration(of: peer)
    guard security.bonds.configure(peer, configuration) else { return }
    security.configurationChanged(of: peer, now: now)
    storeChangedBonds(now: now, into: &actions)
  }

  mutating func storeChangedBonds(now: Instant, into actions: inout [Action]) {
    let bonds = security.takeChangedBonds(now: now)
    if !bonds.isEmpty { actions.append(.updateBonds(bonds)) }
    due(security.storesBondsAt)
  }

  /// A link is gone: what waited for its protection fails.
  mutating func endSecurity(of link: inout Link, now: Instant, into actions: inout [Action]) {
    var produced: [LinkSecurity.Output] = []
    let causes = causes(of: link)
    link.security.close(host: &security, now: now, into: &produced)
    for output in produced {
      _ = take(output, about: link.peer, causedBy: causes, into: &actions)
    }
    guard link.security.hasProvedBond else { return }
    let changed = security.takeChangedBonds()
    if !changed.isEmpty { actions.append(.updateBonds(changed)) }
  }

  // MARK: The driver and clients

  mutating func keyComputed(
    _ id: UInt64, _ result: KeyAgreementResult, now: Instant, into actions: inout [Action]
  ) {
    if let (request, data) = security.outOfBand.computed(id, result) {
      let reply: Result<HostReply, HostError> =
        data.map { .success(.outOfBandData($0)) }
        ?? .failure(.security(.pairingFailed(.unspecifiedReason)))
      return complete(request, reply, into: &actions)
    }
    // The pairing may be over.
    guard let index = links.indices.first(where: { links.entries[$0].security.computation == id })
    else {
      return
    }
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      link.computed(result, host: &host, now: now, into: &outputs)
    }
  }

  mutating func serveSecurity(
    _ client: ClientID, _ request: HostRequest, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .pair(let peer, let token):
      let request = PendingRequest(client: client, token: token)
      guard let index = links.index(peer: peer), links.entries[index].isAnnounced,
        !links.entries[index].isClosing
      else { return complete(request, .failure(notConnectedError(peer)), into: &actions) }
      let requester = requester(of: client)
      let own = links.entries[index].security.activity.waiting.requests.count {
        self.requester(of: $0.client) == requester
      }
      guard own < LinkSecurity.Limits.requestsMax else {
        return complete(request, .failure(.security(.pairingFailed(.busy))), into: &actions)
      }
      needsProtection(client, of: peer)
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        host.requester = requester.program
        link.secure(for: request, host: &host, now: now, into: &outputs)
        host.requester = nil
      }
    case .setPairingAgent(let ioCapability?):
      security.register(client, of: pairingCauses.program(of: client), ioCapability)
    case .setPairingAgent(nil): removeAgent(client, now: now, into: &actions)
    case .attendAllPairings(let token):
      pairingCauses.attendAll(client)
      security.attendAll(client)
      complete(PendingRequest(client: client, token: token), .success(.done), into: &actions)
    case .answerPairing(let prompt, let answer):
      // The prompt's number is no secret: only its agent may answer.
      let index = links.indices.first { index in
        let security = links.entries[index].security
        return security.prompt == prompt && security.agent == client
      }
      guard let index else { return }
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.answer(answer, host: &host, now: now, into: &outputs)
      }
    case .createOutOfBandData(let token):
      createOutOfBandData(PendingRequest(client: client, token: token), into: &actions)
    case .setOutOfBandData(let peer, let data, let token):
      let isTaken = security.outOfBand.set(data, of: peer)
      if isTaken { pairingCauses.setData(of: peer, isThere: data != nil, by: client) }
      if isTaken, let index = links.index(peer: peer) {
        links.entries[index].security.forgetPeersRefusal()
      }
      let error = HostError.limitReached(
        "out-of-band data of \(OutOfBandTable.Limits.peersMax) peers is waiting to be used")
      complete(
        PendingRequest(client: client, token: token), isTaken ? .success(.done) : .failure(error),
        into: &actions)
    case .removeBond(let peer, let token):
      removeBond(peer, PendingRequest(client: client, token: token), into: &actions)
    default: preconditionFailure("\(request) is not about security")
    }
  }

  private mutating func createOutOfBandData(
    _ request: PendingRequest, into actions: inout [Action]
  ) {
    guard security.canUseSecureConnections else {
      let error = HostError.unsupported("This host has no LE Secure Connections.")
      return complete(request, .failure(error), into: &actions)
    }
    let computation = security.newComputation()
    let key = security.secrets.privateKey()
    guard
      security.outOfBand.computes(
        OwnOutOfBandData(privateKey: key, random: security.secrets.value()), as: computation,
        for: request)
    else {
      let error = HostError.limitReached("too much out-of-band data is being made")
      return complete(request, .failure(error), into: &actions)
    }
    actions.append(
      .computeKey(KeyAgreementRequest(id: computation, operation: .publicKey(privateKey: key))))
  }

  private mutating func removeBond(
    _ peer: DeviceAddress, _ request: PendingRequest, into actions: inout [Action]
  ) {
    guard let bond = security.bonds.remove(peer) else {
      let error = HostError.invalidArgument("No bond with \(peer).")
      return complete(request, .failure(error), into: &actions)
    }
    actions.append(.removeBond(bond))
    bondRemoved(bond)
    bondsReplaced()
    complete(request, .success(.done), into: &actions)
  }

  /// Takes the bonds as other processes have left them.
  mutating func bondsChanged(_ bonds: [Bond]) {
    for gone in security.bonds.replace(by: bonds) { bondRemoved(gone) }
    bondsReplaced()
  }

  private mutating func bondRemoved(_ bond: Bond) {
    connector.bondRemoved(bond.knownAddress)
    if let index = links.index(peer: bond.knownAddress) {
      links.entries[index].security.bondRemoved()
    }
  }

  /// Links go on as they are protected; which could be encrypted has changed.
  private mutating func bondsReplaced() {
    needsCommands = true
    for index in links.indices {
      let hasKey = security.usableBond(of: links.peers[index])?.peripheralKey != nil
      server.setEncryption(
        links.entries[index].security.encryption, links.peers[index], hasKey: hasKey)
    }
  }

  /// A client no longer answers prompts: pairings that it was asked about end.
  mutating func removeAgent(_ client: ClientID, now: Instant, into actions: inout [Action]) {
    security.unregister(client)
    for handle in links.handles {
      guard let index = links.index(handle: handle), links.entries[index].security.agent == client
      else {
        continue
      }
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.agentGone(host: &host, now: now, into: &outputs)
      }
    }
  }
}

package import BluetoothInterface
package import BluetoothWire
package import Essentials
import GATTMachines
import L2CAPMachines
package import PairingMachines

/// A Bluetooth LE host as one state machine: it handles packets and requests, produces packets and
/// events, and reports when it must be woken.
///
/// It consists of smaller machines, and passes inputs to them and outputs between them. The state
/// of one link is in its `Link`.
///
/// Scans, advertisements, requested links and services persist while the radio is off: they are
/// resumed when a controller that was reset, unplugged or switched off is available again. Links
/// and operations end with errors first; the new state is reported after that, so that a client has
/// no links when it is notified of `poweredOff`, as in Core Bluetooth.
package struct HostMachine: Machine, Sendable {
  /// An event that the driver passes to the host.
  package enum Input: Sendable {
    /// The transport to the controller is open: start the controller.
    case transportOpened
    /// The transport broke, or could not be opened; all links and operations end. The machine emits
    /// `reopenTransport` when the driver should try again. The state becomes `.unauthorized` or
    /// `.unsupported` for these errors, and `.poweredOff` for others.
    case transportClosed(HostError)
    /// The controller sent a packet.
    case packet(HCIPacket)
    /// A client was added. A client that acknowledges events reports with `eventsHandled` how many
    /// it has handled; flow control stops peers that cause more. For any other client, an event
    /// counts as handled when it is delivered. A client of a program answers and hears of the pairings
    /// that its program causes; one without a program, of all pairings. Services of a publisher have the
    /// handles that its earlier clients had for the same ones.
    case clientOpened(
      ClientID, acknowledgesEvents: Bool = false, program: ProgramID? = nil,
      publisher: PublisherID? = nil)
    /// A client that acknowledges events has handled this number of additional events, in the order
    /// of delivery.
    case eventsHandled(ClientID, count: Int)
    /// A client was closed; its requests end.
    case clientClosed(ClientID)
    /// A client's request. Ignored if the client doesn't exist.
    case request(ClientID, HostRequest)
    /// The stored bonds, and this host's identities in them. Sent before the transport is opened, or as soon as
    /// they can be read: a controller that has been started is started again, with the identity of the bonds.
    case bondsLoaded([Bond], [HostIdentity] = [])
    /// The stored bonds have changed: other processes may have removed, replaced or added some.
    case bondsChanged([Bond])
    /// The stored bonds can't be read. Pairing is refused until they are loaded, so that no device can
    /// replace a bonded peer.
    case bondsUnavailable
    /// A P-256 computation has finished.
    case keyComputed(id: UInt64, KeyAgreementResult)
  }

  /// An action that the driver performs for the machine.
  package enum Action: Sendable {
    /// Send a packet to the controller.
    case send(HCIPacket)
    /// Deliver an event to a client.
    case deliver(ClientID, HostEvent)
    /// Close the transport, if it is open, and open it again, because the controller answered
    /// wrongly or not at all, or the transport broke. The error is the reason.
    ///
    /// The machine waits between attempts (back-off), so a driver must not retry itself: it opens
    /// the transport at once, reports `transportOpened` or `transportClosed`, and then waits for
    /// the next of these actions.
    case reopenTransport(HostError)
    /// Don't read from the transport until `resumeReceiving`, so that a client can catch up. Does
    /// not apply to a new transport, which is read at once.
    case pauseReceiving
    /// Read from the transport again.
    case resumeReceiving
    /// Perform a P-256 computation, and report it with `keyComputed`. Only if the configuration
    /// declares that the driver supports it.
    case computeKey(KeyAgreementRequest)
    /// Store a bond, replacing an older one with the same peer, and this host's identity towards
    /// it; nil if the identity need not be stored.
    case storeBond(Bond, HostIdentity?)
    /// A pairing has succeeded, but its bond is not stored.
    case bondNotKept(DeviceAddress, BondRejection)
    /// The bond with this peer, which never reconnected, was evicted for another. Accompanied by
    /// `removeBond`.
    case bondEvicted(DeviceAddress)
    /// Store these peers' configurations, the signature counters of both sides, and that they have
    /// reconnected, if their bonds are still stored.
    case updateBonds([Bond])
    /// Remove this stored bond.
    case removeBond(Bond)
    /// A client has not handled its events in time: nothing waits for it until it has.
    case clientLate(ClientID)
  }

  /// What reached this machine and concerned none of the others.
  struct RoutingCounters: Sendable, Equatable {
    var malformedPackets = 0
    var strayPackets = 0
    /// Links with the address of a bonded peer that was connected already, ended because nothing was
    /// proved on them.
    var unprovenLinks = 0
    /// Those of links that are closed.
    var closedLinks = LinkCounters()
  }

  var configuration: HostConfiguration
  var random: SeededGenerator
  var routing = RoutingCounters()

  /// The state of the radio that was last reported to clients.
  package internal(set) var state = RadioState.unknown
  var session = ControllerSession()
  var abilities = ControllerAbilities()
  /// The address of the controller that was up last.
  var lastAddress: DeviceAddress?
  /// The address for controllers that have none.
  var madeUpAddress: DeviceAddress?
  var recovery = ControllerRecovery()
  var watch: ControllerWatch

  var clients: [ClientID] = []
  var backlog = EventBacklog()
  /// Whether a client holds up indications that others have handled.
  var hasHolders = false
  /// The connection handle of the packet that is being handled.
  var currentPacketHandle: UInt16?
  /// Clients that were requested to acknowledge their events, by the input that is being handled.
  var expectsHandling: [ClientID] = []
  /// Indications that clients have not handled yet.
  var confirmations = PendingConfirmations()
  var receiving = ReceivingPause()
  var scanner = Scanner()
  var advertiser = Advertiser()
  var privateAddress: PrivateAddress
  var resolvingList = ResolvingList()
  /// What the peers in it were chosen by; nil: not since the controller was started.
  var listedFor: ResolvingChoice?
  var connector = Connector()
  var linkRequests = LinkRequests()
  var links = LinkTable()
  var heldLinks = HeldLinks()
  var hiddenLinks = HiddenLinks()
  var scheduler = ACLScheduler()
  var server: GATTServer
  var channels = ChannelTable()
  var peerCache = PeerCache()
  var security: HostSecurity
  var pairingCauses = PairingCauses()

  /// Whether a machine that steers the radio may have a command to send.
  var needsCommands = false
  /// The table that was checked last, in a debug build.
  var checkedTable = 0
  /// Not later than anything that is due.
  private var wakeBound = Instant.distantFuture
  var outputs = OutputBuffers()

  /// Creates a host.
  ///
  /// - Parameters:
  ///   - configuration: The configuration of the host.
  ///   - random: Generates random addresses.
  ///   - secrets: Generates keys. By default it is derived from `random`, whose numbers are
  ///     predictable: for simulations only.
  package init(
    configuration: HostConfiguration = HostConfiguration(), random: SeededGenerator,
    secrets: SecretGenerator? = nil
  ) {
    self.configuration = configuration
    watch = ControllerWatch(checksSilence: configuration.checksSilentController)
    privateAddress = PrivateAddress(interval: configuration.privateAddressInterval)
    self.random = random
    var predictable = random
    security = HostSecurity(
      configuration, secrets: secrets ?? SecretGenerator(predictable: &predictable))
    server = GATTServer(
      name: configuration.name, appearance: configuration.appearance,
      mtuMax: configuration.mtuMax,
      takesEnhancedBearers: configuration.enhancedBearerCountMax > 0)
  }

  /// Handles an input and appends the resulting actions to `actions`.
  package mutating func handle(_ input: Input, now: Instant, into actions: inout [Action]) {
    let start = actions.count
    switch input {
    case .packet(let packet): receive(packet, now: now, into: &actions)
    case .transportOpened: openController(now: now, into: &actions)
    case .transportClosed(let error): transportBroke(error, now: now, into: &actions)
    case .clientOpened(let client, let acknowledges, let program, let publisher):
      if acknowledges { backlog.clientOpened(client) }
      pairingCauses.clientOpened(client, of: program)
      server.clientOpened(client, of: publisher)
      addClient(client, into: &actions)
    case .eventsHandled(let client, let count):
      eventsHandled(count, by: client, now: now, into: &actions)
    case .clientClosed(let client): removeClient(client, now: now, into: &actions)
    case .request(let client, let request):
      if clients.contains(client) { serve(client, request, now: now, into: &actions) }
    case .bondsLoaded(let bonds, let identities):
      security.policy = configuration.pairingPolicy
      security.load(bonds, identities)
      identityLoaded(now: now, into: &actions)
    case .bondsChanged(let bonds): bondsChanged(bonds)
    case .bondsUnavailable: security.policy = .never
    case .keyComputed(let id, let result): keyComputed(id, result, now: now, into: &actions)
    }
    finish(since: start, now: now, into: &actions)
    // Data comes far more often than anything else, and changes little between the machines.
    if case .packet(let packet) = input, packet.kind == .acl { return }
    assertInvariants()
  }

  /// Handles the timers that are due at `now`.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    let start = actions.count
    if let reason = recovery.wake(now: now) { actions.append(.reopenTransport(reason)) }
    postponeTimeouts(now: now)
    wakeSession(now: now, into: &actions)
    wakeServer(now: now, into: &actions)
    wakeLinks(now: now, into: &actions)
    wakeOrphans(now: now, into: &actions)
    wakeHeldLinks(now: now, into: &actions)
    storeChangedBonds(now: now, into: &actions)
    for client in backlog.wake(now: now) { actions.append(.clientLate(client)) }
    needsCommands = true
    finish(since: start, now: now, into: &actions)
    wakeBound = max(earliestWake(now: now), now + .microseconds(1))
    assertInvariants()
  }

  /// Returns the changes of bonds that no action has stored yet, for a driver that stops.
  package mutating func takeUnstoredBonds() -> [Bond] { security.takeChangedBonds() }

  /// The time to call `wake`; nil if no timer is running.
  package var nextWake: Instant? { wakeBound == .distantFuture ? nil : wakeBound }

  /// Notes that something is due then.
  mutating func due(_ instant: Instant?) {
    if let instant, instant < wakeBound { wakeBound = instant }
  }

  private func earliestWake(now: Instant) -> Instant {
    var wake = recovery.nextWake ?? .distantFuture
    if let due = session.nextWake { wake = min(wake, due) }
    if let due = server.nextWake { wake = min(wake, due) }
    if let due = links.nextWake { wake = min(wake, due) }
    if let due = backlog.nextDeadline { wake = min(wake, due) }
    if let due = heldLinks.nextWake { wake = min(wake, due) }
    if let due = security.storesBondsAt { wake = min(wake, due) }
    if session.isReady {
      if let due = scanner.nextWake { wake = min(wake, due) }
      if let due = advertiser.nextWake { wake = min(wake, due) }
      if let due = privateAddress.nextWake { wake = min(wake, due) }
      if let due = resolvingList.nextWake { wake = min(wake, due) }
      if let due = connector.nextWake(now: now) { wake = min(wake, due) }
      wake = min(wake, watch.nextWake)
    }
    return wake
  }

  /// Sends the commands that are due and the data for which the controller has room, and counts the
  /// events that were delivered.
  private mutating func finish(since start: Int, now: Instant, into actions: inout [Action]) {
    if !heldLinks.isEmpty { openHeldLinks(now: now, into: &actions) }
    if needsCommands { sendCommands(now: now, into: &actions) }
    drain(now: now, into: &actions)
    countEvents(since: start, now: now, into: &actions)
  }

  // MARK: Clients

  private mutating func addClient(_ client: ClientID, into actions: inout [Action]) {
    guard !clients.contains(client) else { return }
    clients.append(client)
    // Before the state, so that the client knows the links when its app learns that the radio is on.
    for link in links where link.isAnnounced {
      actions.append(.deliver(client, .linkOpened(link.info)))
    }
    actions.append(.deliver(client, .stateChanged(state)))
  }

  private mutating func removeClient(
    _ client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    guard let index = clients.firstIndex(of: client) else { return }
    // First of all, so that nothing is delivered to it any more.
    clients.remove(at: index)
    backlog.clientClosed(client)
    hiddenLinks.remove(client)
    scanner.stop(client)
    take(advertiser.stop(client), into: &actions)
    removeServerClient(client, now: now, into: &actions)
    removeChannels(of: client, now: now, into: &actions)
    removeAgent(client, now: now, into: &actions)
    // While it is known whose client it is.
    for peer in linkRequests.peers(of: client) { releaseShare(of: client, peer) }
    if let gone = pairingCauses.clientClosed(client) {
      for index in links.indices { links.entries[index].askingPrograms.remove(gone) }
    }
    for peer in linkRequests.peers(of: client) {
      release(client, peer, now: now, into: &actions)
      linkRequests.remove(client, peer)
    }
    needsCommands = true
  }

  /// Delivers an event to a client, if it is still there and knows of the link.
  func notify(_ client: ClientID, _ event: HostEvent, into actions: inout [Action]) {
    if clients.contains(client), !hides(event, from: client) {
      actions.append(.deliver(client, event))
    }
  }

  /// Delivers an event to every client that knows of the link.
  func notifyAll(_ event: HostEvent, into actions: inout [Action]) {
    for client in clients where !hides(event, from: client) {
      actions.append(.deliver(client, event))
    }
  }

  /// Ends a request.
  func complete(
    _ request: PendingRequest, _ result: Result<HostReply, HostError>,
    into actions: inout [Action]
  ) {
    notify(request.client, .completed(request.token, result), into: &actions)
  }

  mutating func setState(_ new: RadioState, into actions: inout [Action]) {
    guard state != new else { return }
    state = new
    notifyAll(.stateChanged(new), into: &actions)
  }
}

/// Arrays that the machines append their outputs to; taken out while in use, so that they are never
/// copied, and put back so that they are not allocated for each packet.
struct OutputBuffers: Sendable {
  var session: [ControllerSession.Output] = []
  var l2cap: [L2CAPLink.Output] = []
  var gatt: [GATTClientSession.Output] = []
  var server: [GATTServer.Output] = []
  var scheduler: [ACLScheduler.Output] = []
}

public import BluetoothWire
public import Essentials

/// A whole Bluetooth LE host as one machine: packets and requests go in, packets and events come
/// out, and it says when it wants to be woken.
///
/// What clients want (scans, advertisements, links, services) outlives the radio: it is taken up
/// again when a controller that was reset, unplugged or switched off is back. What hung on the
/// radio (links, operations) ends with errors first; the new state is told after that, so that
/// whoever hears of `poweredOff` holds no link any more, as Core Bluetooth has it.
public struct HostMachine: Sendable {
  /// What happens to the host.
  public enum Input: Sendable {
    /// The way to the controller is open: start it up.
    case transportOpened
    /// The way to the controller broke, or could not be opened; everything that hung on it is
    /// gone. The machine asks for `reopenTransport` when it is time to try again. The state
    /// becomes `.unauthorized` or `.unsupported` where the error says so, else `.poweredOff`.
    case transportClosed(HostError)
    /// The controller sent a packet.
    case packet(HCIPacket)
    /// A client came.
    case clientOpened(ClientID)
    /// A client went; what it had asked for ends.
    case clientClosed(ClientID)
    /// A client asks for something.
    case request(ClientID, HostRequest)
  }

  /// What the driver does for the machine.
  public enum Action: Sendable {
    /// Send a packet to the controller.
    case send(HCIPacket)
    /// Tell a client.
    case deliver(ClientID, HostEvent)
    /// Close the way to the controller, if it is open, and open it anew: the controller answered
    /// wrongly or not at all, or the way broke. The error says why.
    ///
    /// The machine itself waits between attempts (back-off), so a driver has no retry of its own:
    /// it opens at once and answers with `transportOpened`, or with `transportClosed` where that
    /// failed, and then waits for the next of these.
    case reopenTransport(HostError)
  }

  enum Limits {
    /// Links at once. Controllers have room for 8 to 100.
    static let linksMax = 256
    /// Subscribed characteristics of one link: more than any device has.
    static let subscriptionsMax = 1024
    /// Answers that one subscription owes its clients while the peer is silent: an app that asks
    /// again and again gets an error instead of memory.
    static let subscriptionWishesMax = 64
    /// GATT operations of all clients that wait for an answer; a link has a bound of its own.
    static let operationsMax = 4096
    /// Peers whose attributes are remembered when their link is gone: a few kilobytes each.
    static let rememberedPeersMax = 64
    /// The longest pause between two attempts to open the way to the controller: whoever plugs a
    /// radio in again doesn't wait for longer.
    static let reopenDelayMax = TimeSpan.seconds(5)
    /// How long a controller must have been up for its next failure to count as the first.
    static let healthAge = TimeSpan.seconds(30)
    /// How long a link may take to change its timing: the link layer's own patience
    /// (Core 5.4, Vol 6, Part B, §5.2).
    static let timingPatience = TimeSpan.seconds(40)
    /// How many contradictions in a row make the host reset its controller: some ten seconds of
    /// them, longer than any end of a link or of a scan is late.
    static let contradictionsMax = 20
    /// How long a link that nobody wants any more is kept for data on its way out. Longer than a
    /// healthy link needs for all the buffers of a controller, shorter than a person's patience.
    static let emptyingPatience = TimeSpan.seconds(1)
    /// How long after the supervision timeout a controller may take to end a link.
    static let closePatience = TimeSpan.seconds(2)
    /// How often a controller that won't end a link is told to.
    static let orphanPatience = TimeSpan.seconds(1)
    /// How often a controller must say that it has no such link where there was one: one that
    /// refuses all commands for a while may say so of any.
    static let denialsMax = 8
    /// How soon an attempt that ended in Connection Failed to be Established is repeated.
    static let reconnectDelay = TimeSpan.milliseconds(50)
  }

  /// What was thrown away since the start, and why.
  struct Counters: Sendable, Equatable {
    /// Events and data packets that could not be read.
    var malformedPackets = 0
    /// Events and data about links that don't exist.
    var strayPackets = 0
    /// Values that nobody subscribed to.
    var unsolicitedValues = 0
  }

  var configuration: HostConfiguration
  var chance: SeededGenerator
  var counters = Counters()

  /// The radio's state, as clients were told.
  public internal(set) var state = RadioState.unknown
  var session = ControllerSession()
  var abilities = ControllerAbilities()
  /// The address of the controller that was up last.
  var lastAddress: DeviceAddress?
  /// The address for controllers that have none.
  var madeUpAddress: DeviceAddress?
  /// How often the controller failed since it was last in good health.
  var failureCount = 0
  /// Since when the controller is up.
  var upSince: Instant?
  var reopenAt: Instant?
  var reopenReason = HostError.radioNotReady

  var clients: [ClientID] = []
  var scanner = Scanner()
  var advertiser = Advertiser()
  var connector = Connector()
  var watch = ControllerWatch()
  var scheduler = ACLScheduler()
  var server: GATTServer
  var holds: [Hold] = []
  var links: [Link] = []
  /// The handles and peers of `links`, side by side so that the link of a packet or a request is
  /// found at a glance.
  var linkHandles: [UInt16] = []
  var linkPeers: [DeviceAddress] = []
  /// Links that are closed for clients, but perhaps not for the controller.
  var orphans: [Orphan] = []
  /// How often in a row the controller contradicted itself when asked to scan.
  var contradictedScans = 0
  /// How often in a row the controller contradicted itself when asked to connect.
  var contradictedAttempts = 0
  var channels: [Channel] = []
  var listeners: [Listener] = []
  var operations: [OperationID: Operation] = [:]
  var lastOperation: UInt64 = 0
  /// The longest unused first.
  var remembered: [RememberedPeer] = []
  var lastChannel: UInt64 = 0

  /// Whether the controller may have to be told something new.
  var needsCommands = false
  /// Not later than anything that is due.
  var wakeBound = Instant.distantFuture

  // Arrays that the parts put their outputs into; taken out while in use, so that they are never
  // copied, and put back so that they are never allocated anew.
  var sessionOutputs: [ControllerSession.Output] = []
  var l2capOutputs: [L2CAPLink.Output] = []
  var gattOutputs: [GATTClient.Output] = []
  var serverOutputs: [GATTServer.Output] = []
  var schedulerOutputs: [ACLScheduler.Output] = []

  /// Makes a host. `chance` decides random addresses and the like.
  public init(configuration: HostConfiguration = HostConfiguration(), chance: SeededGenerator) {
    self.configuration = configuration
    self.chance = chance
    server = GATTServer(
      name: configuration.name, appearance: configuration.appearance,
      mtuMax: configuration.mtuMax)
  }

  /// Takes an input and appends what is to be done to `actions`.
  public mutating func handle(_ input: Input, now: Instant, into actions: inout [Action]) {
    switch input {
    case .packet(let packet): receive(packet, now: now, into: &actions)
    case .transportOpened: openController(now: now, into: &actions)
    case .transportClosed(let error): transportBroke(error, now: now, into: &actions)
    case .clientOpened(let client): addClient(client, into: &actions)
    case .clientClosed(let client): removeClient(client, now: now, into: &actions)
    case .request(let client, let request):
      if clients.contains(client) { serve(client, request, now: now, into: &actions) }
    }
    finish(now: now, into: &actions)
  }

  /// Does what is due at `now`.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    if let reopenAt, reopenAt <= now {
      self.reopenAt = nil
      actions.append(.reopenTransport(reopenReason))
    }
    wakeSession(now: now, into: &actions)
    wakeServer(now: now, into: &actions)
    wakeLinks(now: now, into: &actions)
    wakeOrphans(now: now, into: &actions)
    needsCommands = true
    finish(now: now, into: &actions)
    wakeBound = max(earliestWake(now: now), now + .microseconds(1))
  }

  /// When `wake` should be called next; nil if nothing waits for time to pass.
  public var nextWake: Instant? { wakeBound == .distantFuture ? nil : wakeBound }

  /// Notes that something is due then.
  mutating func due(_ instant: Instant?) {
    if let instant, instant < wakeBound { wakeBound = instant }
  }

  private func earliestWake(now: Instant) -> Instant {
    var wake = reopenAt ?? .distantFuture
    if let due = session.nextWake { wake = min(wake, due) }
    if let due = server.nextWake { wake = min(wake, due) }
    if session.isReady {
      if let due = scanner.nextWake { wake = min(wake, due) }
      if let due = advertiser.nextWake { wake = min(wake, due) }
      if let due = connector.nextWake(now: now) { wake = min(wake, due) }
      wake = min(wake, watch.nextWake)
    }
    for orphan in orphans { wake = min(wake, orphan.retryAt) }
    for link in links { if let due = link.nextWake { wake = min(wake, due) } }
    return wake
  }

  /// Tells the controller what has changed and sends what can be sent.
  private mutating func finish(now: Instant, into actions: inout [Action]) {
    if needsCommands { sendCommands(now: now, into: &actions) }
    drain(now: now, into: &actions)
  }

  // MARK: Clients

  private mutating func addClient(_ client: ClientID, into actions: inout [Action]) {
    guard !clients.contains(client) else { return }
    clients.append(client)
    actions.append(.deliver(client, .stateChanged(state)))
    for link in links where link.isAnnounced {
      actions.append(.deliver(client, .linkOpened(link.info)))
    }
  }

  private mutating func removeClient(
    _ client: ClientID, now: Instant, into actions: inout [Action]
  ) {
    guard let index = clients.firstIndex(of: client) else { return }
    // First of all, so that nothing is delivered to it any more.
    clients.remove(at: index)
    scanner.stop(client)
    take(advertiser.stop(client), into: &actions)
    removeServerClient(client, now: now, into: &actions)
    removeChannels(of: client, now: now, into: &actions)
    for peer in holds.filter({ $0.client == client }).map(\.peer) {
      release(client, peer, now: now, into: &actions)
      holds.removeAll { $0.client == client && $0.peer == peer }
    }
    needsCommands = true
  }

  /// Tells a client, if it is still there.
  func tell(_ client: ClientID, _ event: HostEvent, into actions: inout [Action]) {
    if clients.contains(client) { actions.append(.deliver(client, event)) }
  }

  /// Tells all clients.
  func tellAll(_ event: HostEvent, into actions: inout [Action]) {
    for client in clients { actions.append(.deliver(client, event)) }
  }

  /// Ends a request.
  func complete(
    _ waiter: Waiter, _ result: Result<HostReply, HostError>, into actions: inout [Action]
  ) {
    tell(waiter.client, .completed(waiter.token, result), into: &actions)
  }

  mutating func setState(_ new: RadioState, into actions: inout [Action]) {
    guard state != new else { return }
    state = new
    tellAll(.stateChanged(new), into: &actions)
  }
}

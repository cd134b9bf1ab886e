import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

/// A session of a client: what it wants, what the hub has told it, and which requests the hub has not completed.
///
/// When the hub is gone, a session tells its client what a host does whose radio is gone.
struct ClientSession: Sendable {
  struct Subscription: Hashable, Sendable {
    var peer: DeviceAddress
    /// The handle that the client knows.
    var handle: UInt16
  }

  let id: HubSessionID
  /// What the session is for, the same in each run of the app; may be empty.
  let name: String
  let acknowledgesEvents: Bool
  /// How long the hub is asked to keep the session when this process has ended.
  let keptFor: TimeSpan

  var wants = SessionWants()
  /// The state that the client got last.
  var state: RadioState?
  /// The links that the client knows.
  var links: Set<DeviceAddress> = []
  /// Those that it uses.
  var usedLinks: Set<DeviceAddress> = []
  /// Those whose use it has given up, and the hub has not reported the end yet.
  var cancelledLinks: Set<DeviceAddress> = []
  var subscriptions: Set<Subscription> = []
  /// The peers of pairings that have prompted.
  var pairings: Set<DeviceAddress> = []
  /// The open channels, as the client knows them.
  var channels: Set<ChannelID> = []

  /// By the tokens of this connection, which are used once.
  var pending: [RequestToken: PendingRequest] = [:]
  var lastToken: UInt64 = 0
  /// Requests that wait for the hub's answer to the greeting.
  var waiting: [HostRequest] = []
  var ledger = AcknowledgementLedger()
  var epoch = HubEpoch()
  /// The hub's answer to the opening of a session that has a name.
  var attachment: SessionAttachment?
  /// Whether the hub has opened the session, and has not answered what it has kept for it. Until then, requests
  /// are handled as without a hub.
  var awaitsAttachment = false
  /// Whether a hub has answered what it has kept: that is asked once, before the client hears anything of it.
  var wasAttached = false
  /// What the client has ended before the answer. It ends kept things, too.
  var earlyEnds: [HostRequest] = []
  /// Whether it has ended more than is noted. All kept things end then.
  var endsAll = false

  /// The hub is gone for a moment, and the client has not heard of another state of the radio.
  var isHubExpected = false

  /// How many services the hub has not published again. The client hears that the radio is on when it has:
  /// its app may send a value at once.
  var restoringCount = 0
  /// The radio is on, but services aren't restored.
  var isHoldingState = false
  /// Whether the advertising is to be started again when the radio is on.
  var mustRestoreAdvertising = false
  /// What this hub has refused, and an earlier one had not.
  var refused = RefusedRestorations()
  /// Links that were requested of an earlier hub, until this one has established or refused them.
  var restoredLinks: Set<DeviceAddress> = []
  /// Links that the client has requested without a hub: the refusal of the next one is the answer to that.
  var linksSinceLoss: Set<DeviceAddress> = []
  /// Whether it was reported that a scan looks for more services than a hub does.
  private var hasReportedLongScan = false

  init(
    id: HubSessionID, name: String, acknowledgesEvents: Bool, keptFor: TimeSpan = .zero,
    epoch: HubEpoch
  ) {
    self.id = id
    self.name = name
    self.acknowledgesEvents = acknowledgesEvents
    // A hub knows a session again by its name.
    self.keptFor = name.isEmpty ? .zero : max(.zero, keptFor)
    self.epoch = epoch
  }

  /// How a hub is asked to open the session.
  ///
  /// The events of all sessions are acknowledged: a client that doesn't has handled them when they are
  /// delivered, and not when they are in the socket.
  var opening: SessionOpening {
    SessionOpening(
      id: id, acknowledgesEvents: true, manager: name, keptFor: keptFor,
      beginsAnew: keptFor > .zero && wasAttached)
  }

  /// Whether the client waits for something that the hub would report: answers, or events of what it wants.
  var awaitsHub: Bool {
    awaitsAttachment || !pending.isEmpty || !usedLinks.isEmpty || !wants.isEmpty
  }

  // MARK: Events for the client

  /// Delivers an event that the hub doesn't know.
  mutating func deliverOwn(_ event: HostEvent, into outputs: inout SessionOutputs) {
    if event.isAcknowledged { ledger.appendOwn() }
    outputs.events.append(event)
  }

  /// Delivers an event of the hub.
  mutating func deliver(_ event: HostEvent, into outputs: inout SessionOutputs) {
    if event.isAcknowledged { ledger.appendShared() }
    outputs.events.append(event)
  }

  mutating func setState(_ new: RadioState, into outputs: inout SessionOutputs) {
    guard state != new else { return }
    state = new
    deliverOwn(.stateChanged(new), into: &outputs)
  }

  mutating func complete(
    _ token: RequestToken?, _ result: Result<HostReply, HostError>,
    into outputs: inout SessionOutputs
  ) {
    guard let token else { return }
    deliverOwn(.completed(token, result), into: &outputs)
  }

  // MARK: Requests for the hub

  /// A request without what a hub ends the connection for: requests without a token have no error to report.
  ///
  /// Of these, only a scan and a response have contents of any length; ``forward(_:into:)`` bounds the latter.
  mutating func bounded(
    _ request: HostRequest, into outputs: inout SessionOutputs
  ) -> HostRequest {
    guard case .startScan(var options) = request else { return request }
    let limit = HubProtocol.scanServiceCountMax
    let count = options.services.count + options.solicitedServices.count
    guard count > limit else { return request }
    // Each kind keeps half of the room, and what the other one doesn't need.
    let solicitedCount = min(
      options.solicitedServices.count, max(limit / 2, limit - options.services.count))
    options.solicitedServices = Array(options.solicitedServices.prefix(solicitedCount))
    options.services = Array(options.services.prefix(limit - solicitedCount))
    if !hasReportedLongScan {
      hasReportedLongScan = true
      outputs.losses.append("The hub scans for \(limit) services at most, and not for \(count).")
    }
    return .startScan(options)
  }

  /// Sends a request without a token.
  func send(_ request: HostRequest, into outputs: inout SessionOutputs) {
    outputs.requests.append(request)
  }

  /// Sends a request under a new token.
  mutating func send(
    _ kind: PendingRequest.Kind, for token: RequestToken?, into outputs: inout SessionOutputs,
    _ make: (RequestToken) -> HostRequest
  ) {
    lastToken += 1
    let own = RequestToken(rawValue: lastToken)
    pending[own] = PendingRequest(token: token, kind: kind)
    outputs.requests.append(make(own))
  }

  // MARK: Invariants

  /// How the session contradicts itself; a sentence for each contradiction.
  func violations(isConnected: Bool) -> [String] {
    var found: [String] = []
    if !isConnected {
      let isEmpty =
        links.isEmpty && usedLinks.isEmpty && cancelledLinks.isEmpty && subscriptions.isEmpty
        && pairings.isEmpty && channels.isEmpty && pending.isEmpty && restoringCount == 0
        && attachment == nil && !awaitsAttachment && refused.isEmpty && restoredLinks.isEmpty
      if !isEmpty { found.append("session \(id.rawValue) keeps what a hub gave that is gone") }
      if ledger.hubCount > 0 { found.append("session \(id.rawValue) owes a hub that is gone") }
      if state == .poweredOn, !isHubExpected {
        found.append("session \(id.rawValue) has a radio without a hub")
      }
      if state == nil { found.append("session \(id.rawValue) was told no state") }
    } else if !waiting.isEmpty, !awaitsAttachment {
      found.append("requests of session \(id.rawValue) wait for a hub that is there")
    }
    if name.utf8.count > HubProtocol.textByteCountMax {
      found.append("the name of session \(id.rawValue) has no room in a message")
    }
    if wasAttached, awaitsAttachment || !earlyEnds.isEmpty || endsAll {
      found.append("session \(id.rawValue) waits for an answer that it has")
    }
    if earlyEnds.count > HubClientLimits.earlyEndsMax { found.append("too many ends are noted") }
    if waiting.count > HubClientLimits.waitingRequestsMax { found.append("too many requests wait") }
    if isHoldingState, restoringCount == 0 {
      found.append("session \(id.rawValue) holds the state back for nothing")
    }
    let restoring = pending.values.count {
      if case .restoringService = $0.kind { true } else { false }
    }
    if restoring != restoringCount { found.append("the count of restored services is wrong") }
    if !cancelledLinks.isSubset(of: usedLinks) { found.append("a link is given up unused") }
    if !refused.isConsistent { found.append("the counts of refusals are wrong") }
    if !ledger.isConsistent { found.append("the ledger of session \(id.rawValue) is wrong") }
    if !wants.services.isConsistent { found.append("services overlap") }
    return found
  }
}

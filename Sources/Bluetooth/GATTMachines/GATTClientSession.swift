package import BluetoothInterface
package import BluetoothWire
package import Essentials
package import L2CAPMachines

/// What the clients of this host do with the attributes of one peer: which client asked for which
/// operation, which subscribed to which characteristic. Runs the link's `GATTClient` for them.
package struct GATTClientSession: Sendable {
  package enum Output: Sendable {
    /// A request has ended.
    case completed(PendingRequest, Result<HostReply, HostError>)
    /// A value for a client that subscribed to it.
    case valueUpdated(ClientID, handle: UInt16, ArraySlice<UInt8>)
    /// A value that the peer indicated, for the clients that subscribed to it. To be confirmed with
    /// `confirmIndication` when they have handled it.
    case indicated([ClientID], handle: UInt16, ArraySlice<UInt8>, over: ATTBearer)
    /// The peer's GAP device name was read.
    case nameRead(String)
    /// The peer has these primary services, perhaps among others.
    case servicesFound([BluetoothUUID])
    /// Something that concerns the link, whichever client asked.
    case link(GATTClient.LinkOutput)
  }

  /// Received items that were discarded.
  package struct Counters: Sendable, Hashable {
    /// Notifications and indications of characteristics without a subscription.
    package var unsolicitedValues = 0
    /// PDUs that could not be read, or answered no request.
    package var ignoredPDUs = 0

    /// Creates counters.
    package init(unsolicitedValues: Int = 0, ignoredPDUs: Int = 0) {
      self.unsolicitedValues = unsolicitedValues
      self.ignoredPDUs = ignoredPDUs
    }
  }

  /// The purpose of an operation.
  private enum Purpose: Sendable {
    case request(PendingRequest)
    /// A request whose reply also contains services of the peer.
    case services(PendingRequest)
    /// Writes the configuration of the subscription with this value handle.
    case subscription(UInt16)
    /// Reads the peer's name.
    case name
    /// Its client has already got an error.
    case abandoned

    var request: PendingRequest? {
      switch self {
      case .request(let request), .services(let request): request
      case .subscription, .name, .abandoned: nil
      }
    }
  }

  private struct Operation: Sendable {
    let id: OperationID
    var purpose: Purpose

    var isAbandoned: Bool { if case .abandoned = purpose { true } else { false } }
  }

  enum Limits {
    /// How long no client must have asked for anything before what the host itself wants to know is read:
    /// an app that discovers step by step does not wait for that in between.
    static let idleDelay = TimeSpan.milliseconds(300)
    /// When it is read at the latest, however busy the clients are.
    static let idleDelayMax = TimeSpan.seconds(5)
  }

  /// Work that is deferred until no client waits for an answer.
  private enum IdleWork: Sendable {
    case name
    /// Exchanges both sides' features, for enhanced bearers: only over an encrypted link, as those
    /// need one.
    case features
  }

  private var client: GATTClient
  /// Operations in progress, in the order of the requests.
  private var operations: [Operation] = []
  private var lastOperation: UInt64 = 0
  package private(set) var subscriptions = SubscriptionTable()
  private var unsolicitedValueCount = 0
  /// Whether the MTU exchange and the reading of the name were begun.
  package private(set) var isSetUp = false
  private var idleWork: [IdleWork] = []
  /// When the first of it is to be started, unless clients are busy then; nil if it is empty.
  private var idleDue: Instant?
  private var idleDeadline = Instant.zero
  /// A buffer for the client's outputs, kept so that it is not allocated for each packet.
  private var clientOutputs: [GATTClient.Output] = []

  /// A session of a new link that takes PDUs of up to `mtuMax` bytes.
  package init(mtuMax: Int) { client = GATTClient(mtuMax: mtuMax) }

  /// The largest PDU; the owner sets it when the server half of the bearer agreed on another.
  package var mtu: Int {
    get { client.mtu }
    set { client.mtu = newValue }
  }
  /// The discovered attributes of the peer, to be kept for its next link.
  package var database: RemoteDatabase { client.database }
  package var operationCount: Int { operations.count }
  package var counters: Counters {
    Counters(unsolicitedValues: unsolicitedValueCount, ignoredPDUs: client.ignoredCount)
  }
  package var nextWake: Instant? {
    guard let idleDue else { return client.nextWake }
    return min(idleDue, client.nextWake ?? .distantFuture)
  }

  // MARK: Requests

  /// Starts the setup of a link as the central: negotiates the MTU and checks whether the cached
  /// attributes are still valid. The name is read later, when no client waits for an answer.
  package mutating func setUp(
    known: RemoteDatabase?, isEncrypted: Bool, now: Instant, into outputs: inout [Output]
  ) {
    isSetUp = true
    withClient(now: now, into: &outputs) { client, produced in
      client.exchangeMTU(now: now, into: &produced)
      if let known { client.adopt(known, now: now, into: &produced) }
    }
    doWhenIdle(.name, now: now)
    if isEncrypted { doWhenIdle(.features, now: now) }
  }

  /// The link is encrypted now.
  package mutating func encrypted(now: Instant) {
    if isSetUp, client.enhancedSupport == .unknown { doWhenIdle(.features, now: now) }
  }

  private mutating func doWhenIdle(_ work: IdleWork, now: Instant) {
    guard !idleWork.contains(work) else { return }
    idleWork.append(work)
    guard idleDue == nil else { return }
    idleDue = now + Limits.idleDelay
    idleDeadline = now + Limits.idleDelayMax
  }

  /// Starts deferred work, if its time has come and no client is busy.
  private mutating func workWhenIdle(now: Instant, into outputs: inout [Output]) {
    guard let due = idleDue, due <= now else { return }
    guard operations.isEmpty || now >= idleDeadline else {
      idleDue = min(now + Limits.idleDelay, idleDeadline)
      return
    }
    idleDue = nil
    guard !idleWork.isEmpty else { return }
    let work = idleWork.removeFirst()
    if !idleWork.isEmpty {
      idleDue = now + Limits.idleDelay
      idleDeadline = now + Limits.idleDelayMax
    }
    switch work {
    case .name:
      start(.readByUUID(0x2A00, in: .all), for: .name, of: .host, now: now, into: &outputs)
    case .features:
      withClient(now: now, into: &outputs) { $0.learnFeatures(now: now, into: &$1) }
    }
  }

  /// Runs an operation for a client of a program.
  package mutating func run(
    _ operation: GATTOperation, for request: PendingRequest, of requester: Requester, now: Instant,
    into outputs: inout [Output]
  ) {
    if idleDue != nil { idleDue = min(now + Limits.idleDelay, idleDeadline) }
    switch operation {
    case .discoverServices:
      start(operation, for: .services(request), of: requester, now: now, into: &outputs)
    case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read,
      .readByUUID, .readMultiple, .write, .reliableWrite, .writeWithoutResponse:
      start(operation, for: .request(request), of: requester, now: now, into: &outputs)
    case .signedWrite(let handle, let value):
      start(
        .writeWithoutResponse(handle, value), for: .request(request), of: requester, now: now,
        into: &outputs)
    }
  }

  /// Runs a write that is to be signed, and for which there is no key, once the link is protected.
  package mutating func runOnceProtected(
    _ handle: UInt16, _ value: [UInt8], for request: PendingRequest, of requester: Requester,
    now: Instant, into outputs: inout [Output]
  ) {
    start(
      .signedWrite(handle, value), for: .request(request), of: requester, now: now, into: &outputs)
    passConfigurations(now: now, into: &outputs)
  }

  /// Sends a signed write for a client.
  package mutating func runSigned(
    _ pdu: [UInt8], for request: PendingRequest, of requester: Requester, now: Instant,
    into outputs: inout [Output]
  ) {
    let id = newOperation(for: .request(request))
    withClient(now: now, into: &outputs) { client, produced in
      client.startSigned(pdu, id: id, for: requester, into: &produced)
    }
  }

  /// A client wants the values of a characteristic, or no longer wants them.
  package mutating func subscribe(
    _ isOn: Bool, _ target: SubscriptionTarget, for request: PendingRequest,
    of requester: Requester, now: Instant, into outputs: inout [Output]
  ) {
    if let result = subscriptions.request(isOn, target, request, of: requester) {
      outputs.append(.completed(request, result))
    } else {
      configure(target.valueHandle, now: now, into: &outputs)
      passConfigurations(now: now, into: &outputs)
    }
  }

  /// A client gave up the link, which goes on for others unless `linkIsEnding`. Its requests are
  /// completed as cancelled, in the order in which it asked; its subscriptions end.
  package mutating func removeClient(
    _ gone: ClientID, linkIsEnding: Bool, now: Instant, into outputs: inout [Output]
  ) {
    for index in operations.indices {
      guard let request = operations[index].purpose.request, request.client == gone else {
        continue
      }
      operations[index].purpose = .abandoned
      outputs.append(.completed(request, .failure(.cancelled)))
    }
    for valueHandle in subscriptions.valueHandles {
      for request in subscriptions.removeClient(gone, from: valueHandle) {
        outputs.append(.completed(request, .failure(.cancelled)))
      }
      if !linkIsEnding { configure(valueHandle, now: now, into: &outputs) }
    }
    // All end with the link.
    guard !linkIsEnding else { return }
    let abandoned = Set(operations.lazy.filter(\.isAbandoned).map(\.id))
    guard !abandoned.isEmpty else { return }
    withClient(now: now, into: &outputs) { client, produced in
      client.cancelHeld(where: abandoned.contains, now: now, into: &produced)
    }
  }

  // MARK: What happens

  /// Takes an attribute PDU that is for the client half of the bearer.
  package mutating func receive(
    _ pdu: ArraySlice<UInt8>, over bearer: ATTBearer, now: Instant, into outputs: inout [Output]
  ) {
    withClient(now: now, into: &outputs) { client, produced in
      client.receive(pdu, over: bearer, now: now, into: &produced)
    }
  }

  /// Confirms the latest indication over a bearer: its clients have handled it.
  package func confirmIndication(over bearer: ATTBearer, into outputs: inout [Output]) {
    outputs.append(.link(.send(GATTClient.confirmation, nil, over: bearer)))
  }

  // MARK: Bearers

  /// The enhanced bearers that are used.
  package var enhancedBearers: [ATTBearer] { client.enhancedBearers.map(\.id) }

  package mutating func bearerOpened(
    _ bearer: ATTBearer, mtu: Int, now: Instant, into outputs: inout [Output]
  ) {
    withClient(now: now, into: &outputs) { client, produced in
      client.bearerOpened(bearer, mtu: mtu, now: now, into: &produced)
    }
  }

  package mutating func bearerClosed(
    _ bearer: ATTBearer, now: Instant, into outputs: inout [Output]
  ) {
    withClient(now: now, into: &outputs) { client, produced in
      client.bearerClosed(bearer, now: now, into: &produced)
    }
  }

  package mutating func setMTU(_ mtu: Int, over bearer: ATTBearer) {
    client.setMTU(mtu, over: bearer)
  }

  // MARK: Protection

  /// Begins no operation until `secured`, because the link is about to be protected.
  package mutating func hold() { client.hold() }

  /// The link was encrypted, so that held operations continue, or encryption failed.
  package mutating func secured(_ isSecured: Bool, now: Instant, into outputs: inout [Output]) {
    withClient(now: now, into: &outputs) { client, produced in
      client.secured(isSecured, now: now, into: &produced)
    }
  }

  /// Gives the peer more time to answer, because its answers are held back on their way here.
  package mutating func postponeTimeout(until instant: Instant) {
    client.postponeTimeout(until: instant)
  }

  /// The controller has the frame that carried this tag.
  package mutating func sent(_ tag: SendTag, now: Instant, into outputs: inout [Output]) {
    withClient(now: now, into: &outputs) { client, produced in
      client.sent(tag, into: &produced)
    }
  }

  package mutating func wake(now: Instant, into outputs: inout [Output]) {
    withClient(now: now, into: &outputs) { client, produced in
      client.wake(now: now, into: &produced)
    }
    workWhenIdle(now: now, into: &outputs)
  }

  /// The link is gone: every request that waits for it ends with the error.
  package mutating func close(_ error: HostError, into outputs: inout [Output]) {
    var produced: [GATTClient.Output] = []
    idleDue = nil
    idleWork = []
    client.close(error, into: &produced)
    for output in produced {
      guard case .completed(let id, let result) = output, let purpose = remove(id),
        let request = purpose.request
      else { continue }
      outputs.append(.completed(request, result))
    }
    for request in subscriptions.removeAll() {
      outputs.append(.completed(request, .failure(error)))
    }
    assert(operations.isEmpty, "a closed client has completed every operation")
  }

  // MARK: Running the client

  private mutating func withClient(
    now: Instant, into outputs: inout [Output],
    _ body: (inout GATTClient, inout [GATTClient.Output]) -> Void
  ) {
    var produced: [GATTClient.Output] = []
    swap(&produced, &clientOutputs)
    body(&client, &produced)
    produced.takeEach { take($0, now: now, into: &outputs) }
    swap(&produced, &clientOutputs)
  }

  private mutating func start(
    _ operation: GATTOperation, for purpose: Purpose, of requester: Requester, now: Instant,
    into outputs: inout [Output]
  ) {
    let id = newOperation(for: purpose)
    withClient(now: now, into: &outputs) { client, produced in
      client.start(operation, id: id, for: requester, now: now, into: &produced)
    }
  }

  private mutating func newOperation(for purpose: Purpose) -> OperationID {
    lastOperation += 1
    let id = OperationID(rawValue: lastOperation)
    operations.append(Operation(id: id, purpose: purpose))
    return id
  }

  private mutating func remove(_ id: OperationID) -> Purpose? {
    guard let index = operations.firstIndex(where: { $0.id == id }) else {
      assertionFailure("operation \(id.rawValue) was completed twice")
      return nil
    }
    return operations.remove(at: index).purpose
  }

  private mutating func take(
    _ output: GATTClient.Output, now: Instant, into outputs: inout [Output]
  ) {
    switch output {
    case .valueReceived(let handle, let value, let bearer):
      let clients = subscriptions.clients(of: handle)
      if clients == nil { unsolicitedValueCount += 1 }
      if let bearer {
        outputs.append(.indicated(clients ?? [], handle: handle, value, over: bearer))
      } else {
        for client in clients ?? [] {
          outputs.append(.valueUpdated(client, handle: handle, value))
        }
      }
    case .completed(let id, let result): completed(id, result, now: now, into: &outputs)
    case .link(let output):
      if case .servicesChanged(let range) = output { subscriptions.remove(in: range) }
      outputs.append(.link(output))
      if case .securityRequired = output { passConfigurations(now: now, into: &outputs) }
    }
  }

  private mutating func completed(
    _ id: OperationID, _ result: Result<HostReply, HostError>, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let purpose = remove(id) else { return }
    switch purpose {
    case .request(let request): outputs.append(.completed(request, result))
    case .services(let request):
      if case .success(.services(let found)) = result {
        outputs.append(.servicesFound(found.filter(\.isPrimary).map(\.uuid)))
      }
      outputs.append(.completed(request, result))
    case .subscription(let valueHandle):
      for request in subscriptions.configured(valueHandle, result.map { _ in }) {
        outputs.append(.completed(request, result))
      }
      configure(valueHandle, now: now, into: &outputs)
    case .name:
      if let name = Self.name(in: result) { outputs.append(.nameRead(name)) }
    case .abandoned: break
    }
  }

  /// Writes the configuration of a subscription if it isn't what the clients want, else completes
  /// their requests.
  private mutating func configure(
    _ valueHandle: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    switch subscriptions.nextStep(valueHandle) {
    case .none: break
    case .write(let target, let bits):
      let requester = subscriptions.requesters(of: valueHandle).first ?? .host
      let id = newOperation(for: .subscription(valueHandle))
      withClient(now: now, into: &outputs) { client, produced in
        client.configure(
          target, bits: bits, id: id, for: requester, now: now, into: &produced)
      }
    case .complete(let requests):
      for request in requests { outputs.append(.completed(request, .success(.done))) }
    }
  }

  /// Lets no program wait for the protection that another one needs, only because that one was the first to
  /// subscribe.
  private mutating func passConfigurations(now: Instant, into outputs: inout [Output]) {
    guard client.holdsPrograms else { return }
    for subscription in subscriptions.subscriptions where subscription.isBeingWritten {
      let requesters = subscription.requests.map(\.requester)
      withClient(now: now, into: &outputs) { client, produced in
        client.passConfiguration(
          of: subscription.target.valueHandle, to: requesters, now: now, into: &produced)
      }
    }
  }

  private static func name(in result: Result<HostReply, HostError>) -> String? {
    guard case .success(.values(let values)) = result, let value = values.first?.value else {
      return nil
    }
    // At most 248 bytes (Core 5.4, Vol 3, Part C, §12.1); some end it with zeros.
    let text = value.utf8Prefix(248).prefix { $0 != 0 }
    return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
  }

  // MARK: Invariants

  /// Whether the session contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found = subscriptions.violations()
    for subscription in subscriptions.subscriptions where subscription.isBeingWritten {
      let writes = operations.filter {
        if case .subscription(subscription.target.valueHandle) = $0.purpose { true } else { false }
      }
      if writes.count != 1 {
        found.append("\(writes.count) writes of one subscription's configuration")
      }
    }
    found += client.violations()
    if operations.count != client.pendingCount {
      found.append("\(operations.count) operations wait for \(client.pendingCount) of the client")
    }
    return found
  }
}

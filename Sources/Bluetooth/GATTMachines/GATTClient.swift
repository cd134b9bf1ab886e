package import BluetoothInterface
package import BluetoothWire
package import Essentials
package import L2CAPMachines

/// The ATT and GATT client of one link (Core 5.4, Vol 3, Parts F and G).
///
/// Over one bearer operations run one after the other, as the protocol requires; those of several programs take
/// turns. With enhanced
/// bearers, consecutive reads run in parallel; all other operations run alone and over the fixed
/// channel, so that no read overtakes a write, and no value is received before the response to its
/// subscription. Each operation ends in exactly one `completed`, those of one program in the order in which they
/// were started. While an operation that was refused waits for the link's protection, those of other programs go
/// on. PDUs that the peer sends out of turn are ignored and counted; an invalid response fails
/// the operation; no response within 30 s fails the bearer. Operations on an enhanced bearer that
/// failed are restarted on the fixed channel.
package struct GATTClient: Sendable {
  /// An action for the owner of the client.
  package enum Output: Sendable {
    /// An operation has ended.
    case completed(OperationID, Result<HostReply, HostError>)
    /// A notification or indication was received. The owner must confirm an indication over the
    /// same bearer.
    case valueReceived(handle: UInt16, ArraySlice<UInt8>, indicatedOver: ATTBearer?)
    /// An output for the link, independent of operations.
    case link(LinkOutput)
  }

  /// Output for the owner of the link and its bearers.
  package enum LinkOutput: Sendable {
    /// Send an ATT PDU over a bearer. If it has a tag, call `sent` when the controller has it.
    case send([UInt8], SendTag?, over: ATTBearer)
    /// The MTU has changed.
    case mtuChanged(Int)
    /// Cached attributes in this range are no longer valid.
    case servicesChanged(HandleRange)
    /// The peer refused a program's operation because of insufficient security. No other one of the
    /// program is started before `secured` is called.
    case securityRequired(ATTErrorCode, for: Requester)
    /// The peer refused an operation again over the link that was protected for it, which fails now.
    case securityInsufficient(ATTErrorCode)
    /// The peer did not answer in time. The link must be disconnected.
    case bearerFailed(HostError)
    /// The peer supports enhanced bearers, and more operations could run in parallel than there are
    /// bearers. Emitted again when the last bearer was closed.
    case bearersWanted
    /// The peer did not answer in time over an enhanced bearer, which is not used any more. Close
    /// it.
    case closeBearer(ATTBearer)
  }

  /// The ATT MTU. Client and server share it, so the owner sets it when the server has negotiated
  /// another.
  package var mtu = ATTPDU.mtuMin
  /// The discovered attributes of the peer, which the owner can store for the next link.
  package internal(set) var database = RemoteDatabase()
  /// The number of invalid PDUs of the peer that were ignored.
  package internal(set) var ignoredCount = 0

  /// A procedure under way, with the request that waits for its response.
  struct Run: Sendable {
    let purpose: Purpose
    var procedure: any GATTProcedure
    /// Nil: it has to be restarted on the fixed channel.
    var bearer: ATTBearer?
    var request: ATTOpcode
    /// The MTU when the request was sent, which the response was made for.
    var mtu: Int
    var deadline: Instant
    /// The number of changes of the database before the procedure began.
    let changeCount: Int
    /// The number of Write Commands that were sent before.
    var commandCount: UInt64
    /// How often the link had been secured when the latest request was sent.
    var securedCount: Int
    /// Whether it was refused for want of security before.
    var isRepeated = false
    /// How it ended, while one that began before goes on.
    var outcome: GATTStep?
  }

  /// An enhanced bearer.
  struct EnhancedBearer: Sendable {
    let id: ATTBearer
    var mtu: Int
  }

  /// Whether the peer takes enhanced bearers.
  enum EnhancedSupport: Sendable {
    case unknown
    case missing
    case present
    /// The owner knows that some are wanted.
    case asked
  }

  /// A procedure that the peer refused for want of security.
  struct Refused: Sendable {
    let purpose: Purpose
    let error: HostError
  }

  /// How far the client is with learning of changes; discoveries are remembered from `settled` on.
  enum Watch: Sendable {
    /// No client discovered anything, so it isn't worth the time yet.
    case unneeded
    /// To be done before any discovery: the peer has no hash that would tell later of a change.
    case owed
    /// On its way, or soon: `hashDue`.
    case asked
    /// The peer indicates changes, or there are none.
    case settled
    /// The peer will not tell.
    case refused
  }

  let mtuMax: Int
  /// Configuration descriptors that were found, by their characteristics' value handles.
  var configurationHandles: [UInt16: UInt16] = [:]
  var waiting = TurnQueue<Purpose>()
  /// Running procedures, in the order in which they began, at most one on each bearer; and those that
  /// have ended and are reported after earlier ones of their program.
  var runs: [Run] = []
  var enhancedBearers: [EnhancedBearer] = []
  var enhancedSupport = EnhancedSupport.unknown
  /// The number of Write Commands that have certainly reached the peer, because it answered a
  /// request that was sent after them.
  var provenCommandCount: UInt64 = 0
  /// Whether a bonded peer has not yet proved its bond: no procedure is started, and values from it are
  /// ignored.
  var isProving = false
  /// How often the link was secured.
  var securedCount = 0
  /// An indication received meanwhile; a peer sends no other one before it is confirmed.
  var heldIndication: [UInt8]?
  /// Write Commands among the waiting operations.
  var waitingCommandCount = 0
  /// Refused procedures that wait for the link's protection, in the order of their refusals: one at most of
  /// each program, which is held in `waiting`.
  var refused: [Refused] = []
  var watch = Watch.unneeded
  /// When the hash is to be read again after a change or a first discovery, unless something else
  /// is under way.
  var hashDue: Instant?
  var isHashConfirmed = false
  /// The hash that belongs to what a comparison finds.
  var newHash: [UInt8]?
  var changeCount = 0
  var hasExchangedMTU = false
  /// Write Commands on their way to the controller, and the number of the first.
  var commands = FIFO<(id: OperationID, requester: Requester)>()
  var firstCommand: UInt64 = 0
  /// Why nothing may be sent any more.
  var failure: HostError?

  /// Creates a client that accepts PDUs of up to `mtuMax` bytes.
  package init(mtuMax: Int) {
    precondition((ATTPDU.mtuMin...0xFFFF).contains(mtuMax), "no MTU is below 23 or above 65,535")
    self.mtuMax = mtuMax
  }

  /// Operations that have not been completed.
  var pendingCount: Int {
    var count = commands.count + waiting.count { $0.id != nil }
    count += runs.count { $0.purpose.id != nil }
    count += refused.count { $0.purpose.id != nil }
    return count
  }

  // MARK: Asking

  /// Enqueues an operation.
  package mutating func start(
    _ operation: GATTOperation, id: OperationID, now: Instant, into outputs: inout [Output]
  ) {
    start(operation, id: id, for: .host, now: now, into: &outputs)
  }

  /// Enqueues an operation of a program, whose operations take turns with those of others.
  mutating func start(
    _ operation: GATTOperation, id: OperationID, for requester: Requester, now: Instant,
    into outputs: inout [Output]
  ) {
    if let failure {
      outputs.append(.completed(id, .failure(failure)))
    } else if case .writeWithoutResponse(let handle, let value) = operation,
      !isWaiting(toCommandFor: requester)
    {
      command(handle, value, id: id, for: requester, into: &outputs)
    } else if !hasRoomToWait(requester) {
      outputs.append(.completed(id, .failure(.limitReached("waiting operations"))))
    } else {
      if operation.commandValue != nil { waitingCommandCount += 1 }
      // It needs no signature once the link is protected.
      if case .signedWrite = operation { waiting.hold(requester) }
      waiting.append(.operation(id, operation, requester), of: requester)
      goOn(now: now, into: &outputs)
    }
  }

  /// Whether a program's Write Commands have to wait: with its other operations, or behind commands that do.
  private func isWaiting(toCommandFor requester: Requester) -> Bool {
    if isProving || waiting.isHeld(requester) { return true }
    return waitingCommandCount > 0 && waiting.contains(of: requester) { $0.isCommand }
  }

  private func hasRoomToWait(_ requester: Requester) -> Bool {
    let own = waiting.count(of: requester)
    guard own < GATTLimits.waitingOperationsMax else { return false }
    return waiting.count < GATTLimits.allWaitingOperationsMax
      || own < waiting.count / max(waiting.requesterCount, 1)
  }

  /// Writes bits to a characteristic's configuration descriptor, after those operations of the program that wait
  /// already. Searches for the descriptor where it isn't known; once for each link.
  mutating func configure(
    _ target: SubscriptionTarget, bits: UInt8, id: OperationID, for requester: Requester = .host,
    now: Instant, into outputs: inout [Output]
  ) {
    if let failure {
      outputs.append(.completed(id, .failure(failure)))
    } else if !hasRoomToWait(requester) {
      outputs.append(.completed(id, .failure(.limitReached("waiting operations"))))
    } else {
      waiting.append(.configuration(id, target, bits: bits, requester), of: requester)
      goOn(now: now, into: &outputs)
    }
  }

  /// Learns whether the peer supports enhanced bearers, and writes this client's features; once for
  /// each link.
  mutating func learnFeatures(now: Instant, into outputs: inout [Output]) {
    guard enhancedSupport == .unknown, failure == nil else { return }
    enhancedSupport = .missing
    waiting.append(.features, of: .host)
    goOn(now: now, into: &outputs)
  }

  /// Negotiates the MTU; once for each link (Part F, §3.4.2.1).
  package mutating func exchangeMTU(now: Instant, into outputs: inout [Output]) {
    guard !hasExchangedMTU, failure == nil else { return }
    hasExchangedMTU = true
    waiting.append(.exchangeMTU, of: .host)
    goOn(now: now, into: &outputs)
  }

  /// Adopts the cache of an earlier link, if the peer's Database Hash is unchanged.
  ///
  /// Costs one round trip before the operations that are started later.
  package mutating func adopt(
    _ database: RemoteDatabase, now: Instant, into outputs: inout [Output]
  ) {
    guard database.hash != nil, failure == nil else { return }
    waiting.append(.adoption(database), of: .host)
    goOn(now: now, into: &outputs)
  }

  /// A Write Command waits for no answer, so it doesn't wait for its turn either
  /// (Part F, §3.4.5.3).
  mutating func command(
    _ handle: UInt16, _ value: [UInt8], id: OperationID, for requester: Requester,
    into outputs: inout [Output]
  ) {
    // No value is longer than 512 bytes, so that all commands under way fit in the link's queue.
    let byteCountMax = min(mtu - 3, GATTLimits.valueByteCountMax)
    guard value.count <= byteCountMax else {
      let error = HostError.invalidArgument(
        "\(value.count) bytes in a write without response; this link takes \(byteCountMax).")
      outputs.append(.completed(id, .failure(error)))
      return
    }
    guard hasRoomToSend(requester) else {
      outputs.append(.completed(id, .failure(.limitReached("waiting writes"))))
      return
    }
    let tag = SendTag(.gattClient, firstCommand + UInt64(commands.count))
    commands.append((id, requester))
    let pdu = ATTPDU.writeCommand(handle: handle, value: value[...]).bytes
    outputs.append(.link(.send(pdu, tag, over: .fixed)))
  }

  private func hasRoomToSend(_ requester: Requester) -> Bool {
    let max = GATTLimits.commandsInFlightMax
    guard commands.count >= max else { return true }
    return commands.count < GATTLimits.allCommandsInFlightMax
      && commands.count { $0.requester == requester } < max
  }

  /// Sends a Signed Write Command, which was signed for this link.
  mutating func startSigned(
    _ pdu: [UInt8], id: OperationID, for requester: Requester = .host,
    into outputs: inout [Output]
  ) {
    if let failure { return outputs.append(.completed(id, .failure(failure))) }
    guard pdu.count <= mtu else {
      let error = HostError.invalidArgument(
        "\(pdu.count) bytes in a signed write; this link takes \(mtu).")
      return outputs.append(.completed(id, .failure(error)))
    }
    guard hasRoomToSend(requester) else {
      return outputs.append(.completed(id, .failure(.limitReached("waiting writes"))))
    }
    let tag = SendTag(.gattClient, firstCommand + UInt64(commands.count))
    commands.append((id, requester))
    outputs.append(.link(.send(pdu, tag, over: .fixed)))
  }

  /// Called when the controller has the frame with this tag.
  package mutating func sent(_ tag: SendTag, into outputs: inout [Output]) {
    // Frames leave in order, so everything before this one has left as well.
    while firstCommand <= tag.number, let (id, _) = commands.popFirst() {
      firstCommand += 1
      outputs.append(.completed(id, .success(.done)))
    }
  }

  // MARK: Enhanced bearers

  /// Called when a bearer was opened by either side.
  package mutating func bearerOpened(
    _ bearer: ATTBearer, mtu: Int, now: Instant, into outputs: inout [Output]
  ) {
    guard failure == nil, !enhancedBearers.contains(where: { $0.id == bearer }) else { return }
    enhancedBearers.append(EnhancedBearer(id: bearer, mtu: mtu))
    goOn(now: now, into: &outputs)
  }

  /// The MTU of an enhanced bearer is another by now.
  mutating func setMTU(_ mtu: Int, over bearer: ATTBearer) {
    guard let index = enhancedBearers.firstIndex(where: { $0.id == bearer }) else { return }
    enhancedBearers[index].mtu = mtu
  }

  /// Called when a bearer was closed. Its operations are restarted over the fixed channel.
  package mutating func bearerClosed(
    _ bearer: ATTBearer, now: Instant, into outputs: inout [Output]
  ) {
    guard let index = enhancedBearers.firstIndex(where: { $0.id == bearer }) else { return }
    enhancedBearers.remove(at: index)
    if enhancedBearers.isEmpty, enhancedSupport == .asked { enhancedSupport = .present }
    if let index = runs.firstIndex(where: { $0.bearer == bearer && $0.outcome == nil }) {
      runs[index].bearer = nil
    }
    goOn(now: now, into: &outputs)
  }

  // MARK: Time and the end

  /// The time to call `wake`; nil if no timer is running.
  package var nextWake: Instant? {
    if !isRunning { return failure == nil && !isProving ? hashDue : nil }
    return runs.lazy.filter(\.isAwaitingAnswer).map(\.deadline).min()
  }

  /// Gives the peer more time to answer requests that it has not answered yet.
  mutating func postponeTimeout(until instant: Instant) {
    for index in runs.indices { runs[index].deadline = max(runs[index].deadline, instant) }
  }

  /// Fails the bearer of a peer that doesn't answer (Part F, §3.3.3), or reads a changed hash.
  package mutating func wake(now: Instant, into outputs: inout [Output]) {
    guard let due = nextWake, due <= now else { return }
    guard isRunning else {
      hashDue = nil
      begin(.watch, over: .fixed, now: now, into: &outputs)
      return
    }
    let overdue = runs.filter { $0.isAwaitingAnswer && $0.deadline <= now }.compactMap(\.bearer)
    guard !overdue.contains(.fixed) else {
      close(.attTimeout, into: &outputs)
      outputs.append(.link(.bearerFailed(.attTimeout)))
      return
    }
    for bearer in overdue {
      outputs.append(.link(.closeBearer(bearer)))
      bearerClosed(bearer, now: now, into: &outputs)
    }
  }

  /// Fails all outstanding operations, those of each program in their order, and all operations that are started later.
  package mutating func close(_ error: HostError, into outputs: inout [Output]) {
    guard failure == nil else { return }
    failure = error
    while let (id, _) = commands.popFirst() { outputs.append(.completed(id, .failure(error))) }
    for purpose in refused.map(\.purpose) + runs.map(\.purpose) {
      if let id = purpose.id { outputs.append(.completed(id, .failure(error))) }
    }
    (refused, runs, enhancedBearers) = ([], [], [])
    waiting.releaseAll()
    while let purpose = waiting.popFirst() {
      if let id = purpose.id { outputs.append(.completed(id, .failure(error))) }
    }
  }
}

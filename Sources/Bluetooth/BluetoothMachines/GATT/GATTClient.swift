public import BluetoothWire
public import Essentials

/// The client half of one link's attribute protocol (Core 5.4, Vol 3, Parts F and G).
///
/// Operations run one after the other, as the protocol demands. Each ends in exactly one
/// `completed`. What a peer sends out of turn is ignored and counted; an answer that makes no sense
/// fails the operation; no answer within 30 s fails the bearer.
public struct GATTClient: Sendable {
  /// What the client wants done.
  public enum Output: Sendable {
    /// Send an attribute PDU; with a tag, tell `sent` when the controller has it.
    case send([UInt8], SendTag?)
    /// An operation has ended.
    case completed(OperationID, Result<HostReply, HostError>)
    /// A notification, or an indication, which the owner has to confirm.
    case valueReceived(handle: UInt16, ArraySlice<UInt8>, isIndication: Bool)
    /// The peer agreed to another MTU.
    case mtuChanged(Int)
    /// What was discovered in this range no longer holds.
    case servicesChanged(HandleRange)
    /// The peer refused an operation for want of security. Nothing goes on before `secured`.
    case securityRequired(ATTErrorCode)
    /// The peer did not answer in time: the link has to be dropped.
    case bearerFailed(HostError)
  }

  /// The largest PDU; both halves of a bearer share it, so the owner sets it when the server half
  /// agreed on another.
  public var mtu = ATTPDU.mtuMin
  /// What was learned of the peer's attributes, to be kept for its next link.
  public private(set) var database = RemoteDatabase()
  /// What the peer sent that made no sense and was ignored.
  public private(set) var ignoredCount = 0

  /// The procedure under way, with the request that waits for its response.
  private struct Run: Sendable {
    let purpose: Purpose
    var procedure: any GATTProcedure
    var request: ATTOpcode
    /// The MTU when the request was sent, which the response was made for.
    var mtu: Int
    var deadline: Instant
    /// The number of changes of the database before the procedure began.
    let changeCount: Int
    /// Whether it was refused for want of security before.
    var isRepeated = false
  }

  /// A procedure that the peer refused for want of security.
  private struct Refused: Sendable {
    let purpose: Purpose
    let error: HostError
  }

  /// How far the client is with learning of changes; discoveries are remembered from `settled` on.
  private enum Watch: Sendable {
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

  private let mtuMax: Int
  /// Configuration descriptors that were found, by their characteristics' value handles.
  private var configurationHandles: [UInt16: UInt16] = [:]
  private var waiting = FIFO<Purpose>()
  private var run: Run?
  /// Whether nothing is begun before the link is protected.
  private var isHeld = false
  /// Whether that is because a bonded peer has not yet proved that it is the one: nothing that comes is
  /// believed.
  private var isProving = false
  /// An indication that came meanwhile; no peer sends another before it is confirmed.
  private var heldIndication: [UInt8]?
  /// Write Commands among what waits.
  private var waitingCommandCount = 0
  private var refused: Refused?
  private var watch = Watch.unneeded
  /// When the hash is to be read again after a change or a first discovery, unless something else
  /// is under way.
  private var hashDue: Instant?
  private var isHashConfirmed = false
  /// The hash that belongs to what a comparison finds.
  private var newHash: [UInt8]?
  private var changeCount = 0
  private var hasExchangedMTU = false
  /// Write Commands on their way to the controller, and the number of the first.
  private var commands = FIFO<OperationID>()
  private var firstCommand: UInt64 = 0
  /// Why nothing may be sent any more.
  private var failure: HostError?

  /// A client that takes PDUs of up to `mtuMax` bytes.
  public init(mtuMax: Int) {
    precondition((ATTPDU.mtuMin...0xFFFF).contains(mtuMax), "no MTU is below 23 or above 65,535")
    self.mtuMax = mtuMax
  }

  /// Operations that have not been completed.
  var pendingCount: Int {
    var count = commands.count + waiting.count { $0.id != nil }
    if run?.purpose.id != nil { count += 1 }
    if refused?.purpose.id != nil { count += 1 }
    return count
  }

  // MARK: Asking

  /// Runs an operation after those that wait already.
  public mutating func start(
    _ operation: GATTOperation, id: OperationID, now: Instant, into outputs: inout [Output]
  ) {
    if let failure {
      outputs.append(.completed(id, .failure(failure)))
    } else if case .writeWithoutResponse(let handle, let value) = operation, !isHeld,
      waitingCommandCount == 0
    {
      command(handle, value, id: id, into: &outputs)
    } else if waiting.count >= GATTLimits.waitingOperationsMax {
      outputs.append(.completed(id, .failure(.limitReached("waiting operations"))))
    } else {
      if case .writeWithoutResponse = operation { waitingCommandCount += 1 }
      waiting.append(.operation(id, operation))
      goOn(now: now, into: &outputs)
    }
  }

  /// Writes bits to a characteristic's configuration descriptor, after those operations that wait
  /// already. Searches for the descriptor where it isn't known; once for each link.
  mutating func configure(
    _ target: SubscriptionTarget, bits: UInt8, id: OperationID, now: Instant,
    into outputs: inout [Output]
  ) {
    if let failure {
      outputs.append(.completed(id, .failure(failure)))
    } else if waiting.count >= GATTLimits.waitingOperationsMax {
      outputs.append(.completed(id, .failure(.limitReached("waiting operations"))))
    } else {
      waiting.append(.configuration(id, target, bits: bits))
      goOn(now: now, into: &outputs)
    }
  }

  /// Agrees on an MTU; once for each link (Part F, §3.4.2.1).
  public mutating func exchangeMTU(now: Instant, into outputs: inout [Output]) {
    guard !hasExchangedMTU, failure == nil else { return }
    hasExchangedMTU = true
    waiting.append(.exchangeMTU)
    goOn(now: now, into: &outputs)
  }

  /// Takes what an earlier link learned, if the peer's Database Hash says that it still holds.
  ///
  /// Costs one round trip before the operations that are started later.
  public mutating func adopt(
    _ database: RemoteDatabase, now: Instant, into outputs: inout [Output]
  ) {
    guard database.hash != nil, failure == nil else { return }
    waiting.append(.adoption(database))
    goOn(now: now, into: &outputs)
  }

  /// A Write Command waits for no answer, so it doesn't wait for its turn either
  /// (Part F, §3.4.5.3).
  private mutating func command(
    _ handle: UInt16, _ value: [UInt8], id: OperationID, into outputs: inout [Output]
  ) {
    // No value is longer than 512 bytes, so that all commands under way fit in the link's queue.
    let byteCountMax = min(mtu - 3, GATTLimits.valueByteCountMax)
    guard value.count <= byteCountMax else {
      let error = HostError.invalidArgument(
        "\(value.count) bytes in a write without response; this link takes \(byteCountMax).")
      outputs.append(.completed(id, .failure(error)))
      return
    }
    guard commands.count < GATTLimits.commandsInFlightMax else {
      outputs.append(.completed(id, .failure(.limitReached("waiting writes"))))
      return
    }
    let tag = SendTag(.gattClient, firstCommand + UInt64(commands.count))
    commands.append(id)
    outputs.append(.send(ATTPDU.writeCommand(handle: handle, value: value[...]).bytes, tag))
  }

  /// Sends a Signed Write Command, which was signed for this link.
  mutating func startSigned(_ pdu: [UInt8], id: OperationID, into outputs: inout [Output]) {
    if let failure { return outputs.append(.completed(id, .failure(failure))) }
    guard pdu.count <= mtu else {
      let error = HostError.invalidArgument(
        "\(pdu.count) bytes in a signed write; this link takes \(mtu).")
      return outputs.append(.completed(id, .failure(error)))
    }
    guard commands.count < GATTLimits.commandsInFlightMax else {
      return outputs.append(.completed(id, .failure(.limitReached("waiting writes"))))
    }
    let tag = SendTag(.gattClient, firstCommand + UInt64(commands.count))
    commands.append(id)
    outputs.append(.send(pdu, tag))
  }

  /// The controller has the frame that carried this tag.
  public mutating func sent(_ tag: SendTag, into outputs: inout [Output]) {
    // Frames leave in order, so everything before this one has left as well.
    while firstCommand <= tag.number, let id = commands.popFirst() {
      firstCommand += 1
      outputs.append(.completed(id, .success(.done)))
    }
  }

  // MARK: Running

  /// Begins the next procedure, if none is under way.
  private mutating func goOn(now: Instant, into outputs: inout [Output]) {
    while run == nil, failure == nil, !isHeld {
      // No change may be missed: either the hash shows it, which costs one round trip here and the
      // others when no client waits, or the peer indicates it, if that is asked for first.
      if waiting.first?.isDiscovery == true, !isHashConfirmed {
        let isOwed = watch == .owed
        if isOwed || watch == .unneeded {
          watch = .asked
          return begin(isOwed ? .watch : .hash, now: now, into: &outputs)
        }
      }
      guard let purpose = waiting.popFirst() else { return }
      if case .operation(let id, .writeWithoutResponse(let handle, let value)) = purpose {
        waitingCommandCount -= 1
        command(handle, value, id: id, into: &outputs)
        continue
      }
      if case .operation(let id, let operation) = purpose, watch == .settled || isHashConfirmed,
        let reply = database.answer(operation)
      {
        outputs.append(.completed(id, .success(reply)))
        continue
      }
      begin(purpose, now: now, into: &outputs)
    }
  }

  private mutating func begin(
    _ purpose: Purpose, isRepeated: Bool = false, now: Instant, into outputs: inout [Output]
  ) {
    var procedure = procedure(for: purpose)
    let step = procedure.start(mtu: mtu)
    run = Run(
      purpose: purpose, procedure: procedure, request: .errorResponse, mtu: mtu, deadline: now,
      changeCount: changeCount, isRepeated: isRepeated)
    take(step, now: now, into: &outputs)
  }

  private func procedure(for purpose: Purpose) -> any GATTProcedure {
    switch purpose {
    case .exchangeMTU: ExchangeMTU(mtuMax: mtuMax)
    case .adoption, .hash: ReadDatabaseHash()
    case .watch: WatchServices(database)
    case .comparison: CompareDatabase(database)
    case .configuration(_, let target, let bits):
      WriteConfiguration(
        target, handle: target.configurationHandle ?? configurationHandles[target.valueHandle],
        bits: bits)
    case .operation(_, let operation): procedure(for: operation)
    }
  }

  private func procedure(for operation: GATTOperation) -> any GATTProcedure {
    switch operation {
    case .discoverServices(nil): return DiscoverServices()
    case .discoverServices(let uuids?): return DiscoverServicesByUUID(uuids)
    case .discoverIncludedServices(let range):
      return DiscoverIncludedServices(range, known: database)
    case .discoverCharacteristics(let range, _): return DiscoverCharacteristics(range)
    case .discoverDescriptors(let range): return DiscoverDescriptors(range)
    case .read(let handle): return ReadValue(handle)
    case .readByUUID(let uuid, let range): return ReadByUUID(uuid, in: range)
    case .readMultiple(let handles): return ReadMultiple(handles)
    case .write(let handle, let value):
      return WriteValues(AttributeValue(handle: handle, value: value))
    case .reliableWrite(let values): return WriteValues(reliably: values)
    case .writeWithoutResponse, .signedWrite:
      preconditionFailure("a Write Command has no response to wait for")
    }
  }

  private mutating func take(_ step: GATTStep, now: Instant, into outputs: inout [Output]) {
    switch step {
    case .request(let pdu):
      run?.request = pdu.opcode
      run?.mtu = mtu
      run?.deadline = now + GATTLimits.transactionTimeout
      outputs.append(.send(pdu.bytes, nil))
    case .done, .failed, .peerMTU, .watching, .configured, .compared:
      guard let run = run.take() else { return }
      finish(run, step, now: now, into: &outputs)
    }
  }

  private mutating func finish(
    _ run: Run, _ step: GATTStep, now: Instant, into outputs: inout [Output]
  ) {
    if isRefusedForSecurity(run, step, into: &outputs) { return }
    switch (run.purpose, step) {
    case (.operation(let id, let operation), .done(let reply)):
      if run.changeCount == changeCount { database.learn(operation, reply) }
      // Who discovers step by step is not made to wait in between.
      if hashDue != nil, run.purpose.isDiscovery {
        hashDue = now + GATTLimits.hashReadingDelay
      }
      if run.changeCount == changeCount { noteConfiguration(operation, reply) }
      outputs.append(.completed(id, .success(Self.filtered(reply, for: operation))))
    case (.operation(let id, _), .failed(let error)):
      outputs.append(.completed(id, .failure(error)))
      if case .att(.databaseOutOfSync, _) = error { forget(.all, now: now, into: &outputs) }
    case (.configuration(let id, let target, _), .configured(let handle)):
      if configurationHandles.count < GATTLimits.foundMax, run.changeCount == changeCount {
        configurationHandles[target.valueHandle] = handle
      }
      outputs.append(.completed(id, .success(.done)))
    case (.configuration(let id, _, _), .failed(let error)):
      outputs.append(.completed(id, .failure(error)))
    case (.comparison, .compared(let changes, let newDatabase)):
      compared(changes, newDatabase, run, now: now, into: &outputs)
    case (.exchangeMTU, .peerMTU(let peerMTU)):
      mtu = max(ATTPDU.mtuMin, min(mtuMax, peerMTU))
      outputs.append(.mtuChanged(mtu))
    case (.adoption(let old), .done(.values(let values))):
      guard run.changeCount == changeCount, values.first?.value == old.hash else { return }
      database = old
      isHashConfirmed = true
      guard watch == .unneeded else { return }
      watch = .asked
      waiting.append(.watch)
    case (.hash, .done(.values(let values))):
      guard let hash = values.first, run.changeCount == changeCount else {
        watch = .owed
        return
      }
      database.hashHandle = hash.handle
      database.hash = hash.value
      isHashConfirmed = true
      hashDue = now + GATTLimits.hashReadingDelay
    case (.hash, _): watch = .owed
    case (.watch, .watching(let serviceChanged, let hashHandle, let hash)):
      database.hashHandle = hashHandle
      watching(serviceChanged, hash, run, now: now, into: &outputs)
    case (.watch, _):
      // No change is indicated: a hash read before it proves nothing after it.
      watch = .refused
      isHashConfirmed = false
    case (.comparison, _):
      // It can't be said what changed, so everything may have.
      forget(.all, now: now, into: &outputs)
    case (.operation, _), (.configuration, _), (.exchangeMTU, _), (.adoption, _): break
    }
  }

  /// The peer will report changes from now on, and this is the hash of what it has.
  private mutating func watching(
    _ serviceChanged: RemoteDatabase.ServiceChanged, _ hash: [UInt8]?, _ run: Run, now: Instant,
    into outputs: inout [Output]
  ) {
    // It may have changed since the hash was read before; one that can't be read says nothing.
    let isChanged = database.hash.map { $0 != hash } ?? false
    database.serviceChanged = serviceChanged
    watch = .settled
    guard run.changeCount == changeCount else { return }
    if isChanged {
      // Before all that waits: what it is answered from must hold.
      isHashConfirmed = false
      changeCount += 1
      newHash = hash
      begin(.comparison, now: now, into: &outputs)
    } else if let hash {
      database.hash = hash
    }
  }

  /// What was known was compared with what the peer has now.
  private mutating func compared(
    _ changes: [HandleRange], _ newDatabase: RemoteDatabase, _ run: Run, now: Instant,
    into outputs: inout [Output]
  ) {
    // The peer changed again meanwhile, and said what.
    guard run.changeCount == changeCount else { return }
    database = newDatabase
    database.hash = newHash
    for range in changes { forgetConfigurations(in: range, into: &outputs) }
  }

  private mutating func forgetConfigurations(
    in range: HandleRange, into outputs: inout [Output]
  ) {
    configurationHandles = configurationHandles.filter { !range.contains($0.key) }
    outputs.append(.servicesChanged(range))
  }

  /// Remembers a configuration descriptor that a client's own discovery found.
  private mutating func noteConfiguration(_ operation: GATTOperation, _ reply: HostReply) {
    guard case .discoverDescriptors(let range) = operation, case .descriptors(let found) = reply,
      let descriptor = found.first(where: { $0.uuid == 0x2902 }), range.start > 1,
      configurationHandles.count < GATTLimits.foundMax
    else { return }
    configurationHandles[range.start - 1] = descriptor.handle
  }

  /// What was asked for of what was found: characteristics are all found, whichever were wanted.
  private static func filtered(_ reply: HostReply, for operation: GATTOperation) -> HostReply {
    guard case .discoverCharacteristics(_, let uuids?) = operation,
      case .characteristics(let found) = reply
    else { return reply }
    return .characteristics(found.filter { uuids.contains($0.uuid) })
  }

  // MARK: Security

  /// Begins nothing, and believes nothing, until `secured`.
  public mutating func hold() {
    isHeld = true
    isProving = true
  }

  /// Begins nothing until `secured`.
  mutating func awaitProtection() { isHeld = true }

  /// The link is protected now: an operation that was refused is repeated, once, and the others
  /// follow. Otherwise it has failed.
  public mutating func secured(_ isSecured: Bool, now: Instant, into outputs: inout [Output]) {
    isHeld = false
    isProving = false
    if let pdu = heldIndication.take(), isSecured { receive(pdu[...], now: now, into: &outputs) }
    if let refused = refused.take() {
      if isSecured {
        begin(refused.purpose, isRepeated: true, now: now, into: &outputs)
      } else if let id = refused.purpose.id {
        outputs.append(.completed(id, .failure(refused.error)))
      }
    }
    goOn(now: now, into: &outputs)
  }

  /// Puts an operation aside that the peer refused for want of security (Core 5.4, Vol 3, Part C,
  /// §10.3.2); false if it may not be repeated.
  private mutating func isRefusedForSecurity(
    _ run: Run, _ step: GATTStep, into outputs: inout [Output]
  ) -> Bool {
    guard case .failed(let error) = step, case .att(let code, _) = error, code.isWantOfSecurity,
      !run.isRepeated, run.purpose.mayPair
    else { return false }
    refused = Refused(purpose: run.purpose, error: error)
    isHeld = true
    outputs.append(.securityRequired(code))
    return true
  }

  // MARK: Receiving

  /// Takes a response, a notification or an indication.
  public mutating func receive(
    _ pdu: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    guard let first = pdu.first, failure == nil else {
      ignoredCount += 1
      return
    }
    let opcode = ATTOpcode(rawValue: first)
    if isProving {
      ignoredCount += 1
      if opcode == .handleValueIndication { heldIndication = Array(pdu) }
      return
    }
    switch opcode {
    case .handleValueNotification, .handleValueIndication:
      receiveValue(pdu, isIndication: opcode == .handleValueIndication, now: now, into: &outputs)
    case .multipleHandleValueNotification:
      guard case .multipleHandleValueNotification(let list) = try? ATTPDU(decoding: pdu) else {
        ignoredCount += 1
        return
      }
      for entry in list {
        outputs.append(.valueReceived(handle: entry.handle, entry.value, isIndication: false))
      }
    default: receiveResponse(pdu, opcode, now: now, into: &outputs)
    }
  }

  /// The fast path: nothing is decoded but the handle, and nothing allocated.
  private mutating func receiveValue(
    _ pdu: ArraySlice<UInt8>, isIndication: Bool, now: Instant, into outputs: inout [Output]
  ) {
    guard pdu.count >= 3 else {
      ignoredCount += 1
      return
    }
    let start = pdu.startIndex
    let handle = UInt16(pdu[start + 1]) | UInt16(pdu[start + 2]) << 8
    let value = pdu[(start + 3)...]
    if isIndication, case .present(handle, _) = database.serviceChanged {
      servicesChanged(value, now: now, into: &outputs)
    }
    outputs.append(.valueReceived(handle: handle, value, isIndication: isIndication))
  }

  static let confirmation = [ATTOpcode.handleValueConfirmation.rawValue]

  private mutating func servicesChanged(
    _ value: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    var reader = ByteReader(value)
    guard value.count == 4, let start = try? reader.uint16(), let end = try? reader.uint16() else {
      ignoredCount += 1
      return
    }
    forget(HandleRange(start, end), now: now, into: &outputs)
  }

  /// The peer's attributes changed: nothing that was remembered counts any more.
  private mutating func forget(
    _ range: HandleRange, now: Instant, into outputs: inout [Output]
  ) {
    changeCount += 1
    isHashConfirmed = false
    database.forget()
    if database.hashHandle != 0 { hashDue = now + GATTLimits.hashReadingDelay }
    forgetConfigurations(in: range, into: &outputs)
  }

  private mutating func receiveResponse(
    _ pdu: ArraySlice<UInt8>, _ opcode: ATTOpcode, now: Instant, into outputs: inout [Output]
  ) {
    // A response carries the opcode after its request's; an Error Response names the request.
    guard let request = run?.request, isAnswer(pdu, opcode, to: request) else {
      ignoredCount += 1
      return
    }
    var step = GATTStep.failed(.invalidResponse)
    if let response = try? ATTPDU(decoding: pdu), let requestMTU = run?.mtu,
      let next = run?.procedure.received(response, mtu: requestMTU)
    {
      step = next
    }
    take(step, now: now, into: &outputs)
    goOn(now: now, into: &outputs)
  }

  private func isAnswer(
    _ pdu: ArraySlice<UInt8>, _ opcode: ATTOpcode, to request: ATTOpcode
  ) -> Bool {
    if opcode == .errorResponse {
      return pdu.count > 1 && pdu[pdu.startIndex + 1] == request.rawValue
    }
    return opcode.rawValue == request.rawValue + 1
  }

  // MARK: Time and the end

  /// When `wake` should be called next.
  public var nextWake: Instant? {
    if let run { return run.deadline }
    return failure == nil && !isHeld ? hashDue : nil
  }

  /// Gives the peer more time to answer a request that it has not answered yet.
  mutating func postponeTimeout(until instant: Instant) {
    if let deadline = run?.deadline { run?.deadline = max(deadline, instant) }
  }

  /// Gives up a peer that doesn't answer (Part F, §3.3.3), or reads a changed hash.
  public mutating func wake(now: Instant, into outputs: inout [Output]) {
    guard let due = nextWake, due <= now else { return }
    guard run != nil else {
      hashDue = nil
      begin(.watch, now: now, into: &outputs)
      return
    }
    close(.attTimeout, into: &outputs)
    outputs.append(.bearerFailed(.attTimeout))
  }

  /// Fails everything outstanding, in the order in which it was asked for, and all that comes.
  public mutating func close(_ error: HostError, into outputs: inout [Output]) {
    guard failure == nil else { return }
    failure = error
    while let id = commands.popFirst() { outputs.append(.completed(id, .failure(error))) }
    if let id = run.take()?.purpose.id { outputs.append(.completed(id, .failure(error))) }
    if let id = refused.take()?.purpose.id { outputs.append(.completed(id, .failure(error))) }
    while let purpose = waiting.popFirst() {
      if let id = purpose.id { outputs.append(.completed(id, .failure(error))) }
    }
  }
}

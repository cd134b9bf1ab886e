import BluetoothInterface
import BluetoothWire
import Essentials
import L2CAPMachines

// Starting of procedures, and handling of their results.

extension GATTClient {
  /// Starts procedures that can start now: one that runs alone if no other is running, reads as
  /// long as there are free bearers for them.
  mutating func goOn(now: Instant, into outputs: inout [Output]) {
    while failure == nil, !isProving {
      if beginAnew(now: now, into: &outputs) { continue }
      guard let next = waiting.first else { return }
      guard let bearer = freeBearer(for: next) else {
        return askForBearers(for: next, into: &outputs)
      }
      // No change may be missed: either the hash shows it, which costs one round trip here and the
      // others when no client waits, or the peer indicates it, if that is asked for first.
      if next.isDiscovery, !isHashConfirmed {
        let isOwed = watch == .owed
        if isOwed || watch == .unneeded {
          watch = .asked
          return begin(isOwed ? .watch : .hash, over: bearer, now: now, into: &outputs)
        }
      }
      guard let purpose = waiting.popFirst() else { return }
      if case .operation(let id, let operation, let requester) = purpose,
        let (handle, value) = operation.commandValue
      {
        waitingCommandCount -= 1
        command(handle, value, id: id, for: requester, into: &outputs)
        continue
      }
      if case .operation(let id, let operation, _) = purpose, watch == .settled || isHashConfirmed,
        let reply = database.answer(operation)
      {
        outputs.append(.completed(id, .success(reply)))
        continue
      }
      begin(purpose, over: bearer, now: now, into: &outputs)
    }
  }

  // MARK: Bearers

  /// Whether a procedure is under way. Those that have ended and wait to be reported delay no other.
  var isRunning: Bool { runs.contains { $0.outcome == nil } }

  private var onlyReadsAreRunning: Bool {
    runs.allSatisfy { $0.outcome != nil || $0.purpose.isRead }
  }

  /// The bearer that something may begin over now; nil: it has to wait.
  private func freeBearer(for purpose: Purpose) -> ATTBearer? {
    guard isRunning else { return .fixed }
    guard purpose.isRead, commandCount == provenCommandCount, hasRoomToRun, onlyReadsAreRunning
    else { return nil }
    return ([.fixed] + enhancedBearers.map(\.id)).first { isFree($0) }
  }

  /// Results that wait until a program is no longer held take no room of others.
  private var hasRoomToRun: Bool {
    guard runs.count >= GATTLimits.runsMax else { return true }
    return runs.count { !waiting.isHeld($0.purpose.requester) } < GATTLimits.runsMax
  }

  private func isFree(_ bearer: ATTBearer) -> Bool {
    !runs.contains { $0.bearer == bearer && $0.outcome == nil }
  }

  /// How many Write Commands were sent. The peer may take what comes over another bearer before them.
  private var commandCount: UInt64 { firstCommand + UInt64(commands.count) }

  private mutating func askForBearers(for next: Purpose, into outputs: inout [Output]) {
    guard enhancedSupport == .present, next.isRead, onlyReadsAreRunning else { return }
    enhancedSupport = .asked
    outputs.append(.link(.bearersWanted))
  }

  /// Restarts a run that lost its bearer, if the fixed channel is free; false if there is none.
  private mutating func beginAnew(now: Instant, into outputs: inout [Output]) -> Bool {
    guard let index = runs.firstIndex(where: { $0.bearer == nil && $0.outcome == nil }),
      isFree(.fixed)
    else { return false }
    runs[index].bearer = .fixed
    runs[index].commandCount = commandCount
    runs[index].procedure = procedure(for: runs[index].purpose)
    let step = runs[index].procedure.start(mtu: mtu)
    take(step, of: index, now: now, into: &outputs)
    return true
  }

  private func mtu(of bearer: ATTBearer) -> Int {
    enhancedBearers.first { $0.id == bearer }?.mtu ?? mtu
  }

  // MARK: Procedures

  mutating func begin(
    _ purpose: Purpose, over bearer: ATTBearer, now: Instant, into outputs: inout [Output]
  ) {
    var procedure = procedure(for: purpose)
    let mtu = mtu(of: bearer)
    let step = procedure.start(mtu: mtu)
    runs.append(
      Run(
        purpose: purpose, procedure: procedure, bearer: bearer, request: .errorResponse, mtu: mtu,
        deadline: now, changeCount: changeCount, commandCount: commandCount,
        securedCount: securedCount))
    take(step, of: runs.count - 1, now: now, into: &outputs)
  }

  /// Begins a refused procedure once more: ahead of those of its program that were started after it, over
  /// the fixed channel when that is free.
  mutating func beginAgain(_ purpose: Purpose, isRepeated: Bool, now: Instant) {
    runs.insert(
      Run(
        purpose: purpose, procedure: procedure(for: purpose), bearer: nil,
        request: .errorResponse, mtu: mtu, deadline: now, changeCount: changeCount,
        commandCount: 0, securedCount: securedCount, isRepeated: isRepeated), at: 0)
  }

  func procedure(for purpose: Purpose) -> any GATTProcedure {
    switch purpose {
    case .exchangeMTU: ExchangeMTU(mtuMax: mtuMax)
    case .features: LearnFeatures()
    case .adoption, .hash: ReadDatabaseHash()
    case .watch: WatchServices(database)
    case .comparison: CompareDatabase(database)
    case .configuration(_, let target, let bits, _):
      WriteConfiguration(
        target, handle: target.configurationHandle ?? configurationHandles[target.valueHandle],
        bits: bits)
    case .operation(_, let operation, _): procedure(for: operation)
    }
  }

  func procedure(for operation: GATTOperation) -> any GATTProcedure {
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

  /// Takes the next step of a run.
  mutating func take(
    _ step: GATTStep, of index: Int, now: Instant, into outputs: inout [Output]
  ) {
    guard let bearer = runs[index].bearer else { return }
    if case .request(let pdu) = step {
      runs[index].request = pdu.opcode
      runs[index].mtu = mtu(of: bearer)
      runs[index].securedCount = securedCount
      runs[index].deadline = now + GATTLimits.transactionTimeout
      return outputs.append(.link(.send(pdu.bytes, nil, over: bearer)))
    }
    runs[index].outcome = step
    if bearer == .fixed { provenCommandCount = runs[index].commandCount }
    finishInOrder(now: now, into: &outputs)
  }

  /// Finishes runs that have ended, those of each program in the order in which they were started.
  mutating func finishInOrder(now: Instant, into outputs: inout [Output]) {
    while let index = runs.indices.first(where: isNextToFinish), let outcome = runs[index].outcome {
      finish(runs.remove(at: index), outcome, now: now, into: &outputs)
    }
  }

  private func isNextToFinish(_ index: Int) -> Bool {
    guard runs[index].outcome != nil else { return false }
    let requester = runs[index].purpose.requester
    return !waiting.isHeld(requester)
      && !runs[..<index].contains { $0.purpose.requester == requester }
  }

  mutating func finish(
    _ run: Run, _ step: GATTStep, now: Instant, into outputs: inout [Output]
  ) {
    if isRefusedForSecurity(run, step, now: now, into: &outputs) { return }
    switch (run.purpose, step) {
    case (.operation(let id, let operation, _), .done(let reply)):
      learn(operation, reply, run, now: now)
      outputs.append(.completed(id, .success(Self.filtered(reply, for: operation))))
    case (.operation(let id, _, _), .failed(let error)):
      outputs.append(.completed(id, .failure(error)))
      if case .att(.databaseOutOfSync, _) = error { forget(.all, now: now, into: &outputs) }
    case (.configuration(let id, let target, _, _), .configured(let handle)):
      if configurationHandles.count < GATTLimits.foundMax, run.changeCount == changeCount {
        configurationHandles[target.valueHandle] = handle
      }
      outputs.append(.completed(id, .success(.done)))
    case (.configuration(let id, _, _, _), .failed(let error)):
      outputs.append(.completed(id, .failure(error)))
    case (.comparison, .compared(let changes, let newDatabase)):
      compared(changes, newDatabase, run, now: now, into: &outputs)
    case (.features, .features(let takesEnhancedBearers)):
      if takesEnhancedBearers { enhancedSupport = .present }
    case (.exchangeMTU, .peerMTU(let peerMTU)):
      mtu = max(ATTPDU.mtuMin, min(mtuMax, peerMTU))
      outputs.append(.link(.mtuChanged(mtu)))
    case (.adoption(let old), .done(.values(let values))):
      guard run.changeCount == changeCount, values.first?.value == old.hash else { return }
      database = old
      isHashConfirmed = true
      guard watch == .unneeded else { return }
      watch = .asked
      waiting.append(.watch, of: .host)
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
      // The changed services are unknown, so all of them may have changed.
      forget(.all, now: now, into: &outputs)
    case (.operation, _), (.configuration, _), (.exchangeMTU, _), (.adoption, _),
      (.features, _):
      break
    }
  }

  private mutating func learn(
    _ operation: GATTOperation, _ reply: HostReply, _ run: Run, now: Instant
  ) {
    // A client that discovers step by step is not delayed between the steps.
    if hashDue != nil, run.purpose.isDiscovery { hashDue = now + GATTLimits.hashReadingDelay }
    guard run.changeCount == changeCount else { return }
    database.learn(operation, reply)
    noteConfiguration(operation, reply)
  }

  /// The peer will indicate changes from now on; `hash` is its current Database Hash.
  mutating func watching(
    _ serviceChanged: RemoteDatabase.ServiceChanged, _ hash: [UInt8]?, _ run: Run, now: Instant,
    into outputs: inout [Output]
  ) {
    // It may have changed since the last known hash was read. If the hash can't be read, it counts
    // as changed.
    let isChanged = database.hash.map { $0 != hash } ?? false
    database.serviceChanged = serviceChanged
    watch = .settled
    guard run.changeCount == changeCount else { return }
    if isChanged {
      // Before all waiting operations, so that none is answered from an outdated cache.
      isHashConfirmed = false
      changeCount += 1
      newHash = hash
      begin(.comparison, over: .fixed, now: now, into: &outputs)
    } else if let hash {
      database.hash = hash
    }
  }

  /// The comparison of the cached database with the peer's current one has ended.
  mutating func compared(
    _ changes: [HandleRange], _ newDatabase: RemoteDatabase, _ run: Run, now: Instant,
    into outputs: inout [Output]
  ) {
    // The peer changed again meanwhile, and indicated the range.
    guard run.changeCount == changeCount else { return }
    database = newDatabase
    database.hash = newHash
    for range in changes { forgetConfigurations(in: range, into: &outputs) }
  }

  mutating func forgetConfigurations(
    in range: HandleRange, into outputs: inout [Output]
  ) {
    configurationHandles = configurationHandles.filter { !range.contains($0.key) }
    outputs.append(.link(.servicesChanged(range)))
  }

  /// Remembers a configuration descriptor that a client's own discovery found.
  mutating func noteConfiguration(_ operation: GATTOperation, _ reply: HostReply) {
    guard case .discoverDescriptors(let range) = operation, case .descriptors(let found) = reply,
      let descriptor = found.first(where: { $0.uuid == 0x2902 }), range.start > 1,
      configurationHandles.count < GATTLimits.foundMax
    else { return }
    configurationHandles[range.start - 1] = descriptor.handle
  }

  /// Selects the requested characteristics: the peer always returns all of them.
  static func filtered(_ reply: HostReply, for operation: GATTOperation) -> HostReply {
    guard case .discoverCharacteristics(_, let uuids?) = operation,
      case .characteristics(let found) = reply
    else { return reply }
    return .characteristics(found.filter { uuids.contains($0.uuid) })
  }
}

extension GATTClient.Run {
  /// Whether the peer owes an answer.
  var isAwaitingAnswer: Bool { bearer != nil && outcome == nil }
}

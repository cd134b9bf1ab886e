import BluetoothInterface
import BluetoothWire
import Essentials

// Pairings that this program causes, and its pairing agent (org.bluez.Agent1). bluetoothd also pairs of its own accord when
// a peer refuses an attribute without encryption, and calls its default agent: that of the desktop, or else this one.

/// A pairing for which `Pair` was called, or that bluetoothd has begun for an operation.
struct BlueZPairing: Sendable {
  struct Request: Sendable {
    var client: BlueZSessionID
    var token: RequestToken
  }

  let peer: DeviceAddress
  /// Whether bluetoothd has begun it for the first operation of the link.
  var isImplicit = false
  var requests: [Request] = []
  var prompt: Prompt?
  /// The reason if the user has refused.
  var refusal: SMPFailureReason?
  var isCancelled = false

  /// A question to the user, and the call of bluetoothd's that waits for the answer.
  struct Prompt: Sendable {
    var id: PairingPromptID
    var client: BlueZSessionID
    var kind: PairingPrompt
    var call: IncomingCallID?
  }
}

extension BlueZMachine {
  static let agentPath = "/org/ambit/agent"

  // MARK: Requests

  mutating func pair(
    _ peer: DeviceAddress, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard let link = links[peer], link.isUp, let path = link.path else {
      return complete(id, token, .failure(.notConnected), into: &actions)
    }
    startPairing(path, peer, by: id, now: now, into: &actions)
    pairings[path]?.requests.append(BlueZPairing.Request(client: id, token: token))
  }

  /// Pairs for the first operation of a link, which the peer refused without encryption.
  mutating func pairForOperation(
    _ path: String, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    links[peer]?.operations[0].hasPaired = true
    links[peer]?.running = .pairing
    startPairing(path, peer, now: now, into: &actions)
  }

  private mutating func startPairing(
    _ path: String, _ peer: DeviceAddress, by id: BlueZSessionID? = nil, now: Instant,
    into actions: inout [Action]
  ) {
    guard pairings[path] == nil else { return }
    // What bluetoothd has refused before it may take now.
    if isAgentRefused, pairings.isEmpty { registeredAgent = nil }
    registerAgent(for: peer, by: id, now: now, into: &actions)
    pairings[path] = BlueZPairing(peer: peer)
    send(
      bluez(path, BusName.device, "Pair"), .pair(path: path),
      deadline: now + BlueZLimits.pairingMax, into: &actions)
  }

  /// Registers the agent, unless it is; without a user, for Just Works. It is left as it is during a pairing, which
  /// bluetoothd would cancel.
  ///
  /// - Parameters:
  ///   - peer: The device that may be paired.
  ///   - id: The client that requests its pairing; nil for an operation.
  mutating func registerAgent(
    for peer: DeviceAddress, by id: BlueZSessionID? = nil, now: Instant,
    into actions: inout [Action]
  ) {
    let capability = agent(for: causes(of: peer, id))?.capability ?? .noInputNoOutput
    guard registeredAgent != capability, registeredAgent == nil || pairings.isEmpty else { return }
    if registeredAgent != nil { unregisterAgent(now: now, into: &actions) }
    registeredAgent = capability
    isAgentRefused = false
    // bluetoothd handles the calls of one program in their order.
    send(
      bluez(
        "/org/bluez", BusName.agentManager, "RegisterAgent",
        [.path(Self.agentPath), .string(capability.busName)]),
      .registerAgent, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func agentRegistered(
    _ result: Result<[BusValue], BusError>, into actions: inout [Action]
  ) {
    // It counts as registered, so that it is tried again with the next links and pairings only.
    if case .failure(let error) = result {
      isAgentRefused = true
      actions.append(
        .warning("bluetoothd takes no pairing agent: \(error.message) (\(error.name))."))
    }
  }

  mutating func pairReplied(
    _ result: Result<[BusValue], BusError>, _ path: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard let pairing = pairings[path], !pairing.isImplicit else { return }
    endPrompt(path, into: &actions)
    pairings[path] = nil
    var error: HostError?
    switch result {
    case .success: break
    case .failure(let reply) where reply.name == BlueZErrorName.alreadyExists: break
    case .failure(let reply) where reply.name == BlueZErrorName.noReply:
      cancelPairing(path, now: now, into: &actions)
      error = .security(.timeout)
    case .failure(let reply):
      error = pairing.refusal.map { .security(.pairingFailed($0)) } ?? reply.pairingError
    }
    unregisterAgentIfUnused(now: now, into: &actions)
    finish(pairing, error, now: now, into: &actions)
  }

  private mutating func finish(
    _ pairing: BlueZPairing, _ error: HostError?, now: Instant, into actions: inout [Action]
  ) {
    let result: Result<HostReply, HostError> = error.map { .failure($0) } ?? .success(.done)
    for request in pairing.requests {
      complete(request.client, request.token, result, into: &actions)
    }
    let failure: SecurityFailure? =
      switch error {
      case nil: nil
      case .security(let failure)?: failure
      case .notConnected?, .disconnected?, .radioNotReady?: .disconnected
      default: .pairingFailed(.unspecifiedReason)
      }
    let causes = causes(of: pairing)
    for id in clients.keys.sorted() {
      if let program = clients[id]?.program, !causes.contains(program) { continue }
      deliver(.pairingEnded(pairing.peer, failure), to: id, into: &actions)
    }
    if links[pairing.peer]?.running == .pairing {
      operationPaired(pairing.peer, error, now: now, into: &actions)
    }
  }

  private mutating func cancelPairing(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    send(
      bluez(path, BusName.device, "CancelPairing"), .release,
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// Takes the agent back when no client of this program has a link or a pairing.
  mutating func unregisterAgentIfUnused(now: Instant, into actions: inout [Action]) {
    guard registeredAgent != nil, pairings.isEmpty,
      !links.values.contains(where: { $0.isUp && !$0.users.isEmpty })
    else { return }
    unregisterAgent(now: now, into: &actions)
  }

  private mutating func unregisterAgent(now: Instant, into actions: inout [Action]) {
    registeredAgent = nil
    send(
      bluez("/org/bluez", BusName.agentManager, "UnregisterAgent", [.path(Self.agentPath)]),
      .release, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// A client is gone: so are its agent, its prompts, and the pairings that only it wanted.
  mutating func endPairings(
    of id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    agents.removeAll { $0.client == id }
    for path in pairings.keys.sorted() {
      if pairings[path]?.prompt?.client == id { refuse(path, now: now, into: &actions) }
      pairings[path]?.requests.removeAll { $0.client == id }
      cancelPairingIfUnwanted(path, now: now, into: &actions)
    }
  }

  /// Cancels a pairing for which neither a request nor an operation waits. Its reply completes nothing.
  mutating func cancelPairingIfUnwanted(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard let pairing = pairings[path], pairing.requests.isEmpty,
      links[pairing.peer]?.running != .pairing, !pairing.isCancelled, !pairing.isImplicit
    else { return }
    pairings[path]?.isCancelled = true
    cancelPairing(path, now: now, into: &actions)
  }

  /// bluetoothd is gone.
  mutating func failPairings(now: Instant, into actions: inout [Action]) {
    registeredAgent = nil
    for path in pairings.keys.sorted() { endPrompt(path, into: &actions) }
    let failed = pairings.sorted { $0.key < $1.key }.map(\.value)
    pairings = [:]
    for pairing in failed { finish(pairing, .radioNotReady, now: now, into: &actions) }
  }

  // MARK: The agent

  mutating func setPairingAgent(_ capability: SMPIOCapability?, of id: BlueZSessionID) {
    agents.removeAll { $0.client == id }
    if let capability { agents.append((id, capability)) }
  }

  /// A call of the agent's methods.
  mutating func agentCalled(
    _ id: IncomingCallID, _ call: BusMethodCall, now: Instant, into actions: inout [Action]
  ) {
    switch call.member {
    case "Release":
      registeredAgent = nil
      actions.append(.answer(id, .success([])))
    case "Cancel":
      cancelPrompts(now: now, into: &actions)
      actions.append(.answer(id, .success([])))
    default:
      // Without a default agent, bluetoothd turns to this one for the pairings of other programs, too.
      guard let path = call.arguments.first?.text, let prompt = Self.prompt(call),
        causes(path), pairings[path]?.isCancelled != true
      else { return actions.append(.answer(id, .failure(Self.rejected))) }
      guard let agent = pairings[path].flatMap({ agent(for: causes(of: $0)) }) else {
        let isConsent = prompt == .consent
        return actions.append(.answer(id, isConsent ? .success([]) : .failure(Self.rejected)))
      }
      lastPrompt += 1
      let promptID = PairingPromptID(rawValue: lastPrompt)
      var waiting: IncomingCallID? = id
      if case .displayPasskey = prompt {
        // bluetoothd repeats it for each digit that the peer's user types.
        actions.append(.answer(id, .success([])))
        prolongOperation(path, until: now + BlueZLimits.procedureMax)
        if pairings[path]?.prompt?.kind == prompt { return }
        waiting = nil
      } else {
        prolongOperation(path, until: now + BlueZLimits.userAnswerMax)
      }
      endPrompt(path, into: &actions)
      pairings[path]?.prompt = BlueZPairing.Prompt(
        id: promptID, client: agent.client, kind: prompt, call: waiting)
      let peer = pairings[path]?.peer
      if let peer {
        deliver(.pairingPrompt(peer, prompt, promptID), to: agent.client, into: &actions)
      }
    }
  }

  /// bluetoothd takes back the question that waits for an answer: its pairing has ended without success, because of the
  /// peer, or because the user was too slow. It leaves the operation for which it paired without an answer.
  private mutating func cancelPrompts(now: Instant, into actions: inout [Action]) {
    for path in pairings.keys.sorted() {
      guard let pairing = pairings[path], pairing.prompt?.call != nil else { continue }
      endPrompt(path, into: &actions)
      guard pairing.isImplicit else { continue }
      let error = HostError.security(.peerFailed(.unspecifiedReason))
      failPairedOperation(pairing.peer, error, now: now, into: &actions)
    }
  }

  /// The operation for which bluetoothd pairs has more time: users answer in it, on both sides.
  private mutating func prolongOperation(_ path: String, until time: Instant) {
    guard let pairing = pairings[path], pairing.isImplicit,
      case .called(let serial) = links[pairing.peer]?.running
    else { return }
    for (id, call) in calls {
      switch call.purpose {
      case .operation(pairing.peer, serial), .subscription(pairing.peer, serial, path: _):
        if let deadline = call.deadline { calls[id]?.deadline = max(deadline, time) }
      default: break
      }
    }
  }

  // MARK: Other programs

  /// The programs that cause the pairing of a device: those that have requested it or use the link.
  private func causes(of pairing: BlueZPairing) -> Set<BlueZProgramID> {
    pairing.requests.reduce(into: causes(of: pairing.peer, nil)) { causes, request in
      if let program = clients[request.client]?.program { causes.insert(program) }
    }
  }

  private func causes(of peer: DeviceAddress, _ id: BlueZSessionID?) -> Set<BlueZProgramID> {
    let users = Array(links[peer]?.users.keys ?? [:].keys) + (id.map { [$0] } ?? [])
    return Set(users.compactMap { clients[$0]?.program })
  }

  /// The latest agent of these programs; without one, that of this program. No program answers for another.
  private func agent(
    for causes: Set<BlueZProgramID>
  ) -> (client: BlueZSessionID, capability: SMPIOCapability)? {
    func program(_ id: BlueZSessionID) -> BlueZProgramID? { clients[id]?.program }
    return agents.last { program($0.client).map(causes.contains) ?? false }
      ?? agents.last { program($0.client) == nil }
  }

  // MARK: Causes

  /// Whether this program has begun the pairing of a device, or performs an operation that needs it.
  private mutating func causes(_ path: String) -> Bool {
    if pairings[path] != nil { return true }
    guard let peer = linkPeers[path], case .called = links[peer]?.running,
      links[peer]?.operations.isEmpty == false
    else { return false }
    links[peer]?.operations[0].hasPaired = true
    pairings[path] = BlueZPairing(peer: peer, isImplicit: true)
    return true
  }

  /// The operation for which bluetoothd pairs has ended, or the device is paired.
  mutating func endImplicitPairing(
    _ path: String, _ error: HostError?, now: Instant, into actions: inout [Action]
  ) {
    guard let pairing = pairings[path], pairing.isImplicit else { return }
    endPrompt(path, into: &actions)
    pairings[path] = nil
    finish(pairing, error, now: now, into: &actions)
  }

  /// Ends a prompt without the user. Its call is answered all the same: calls without an answer are bounded.
  private mutating func endPrompt(_ path: String, into actions: inout [Action]) {
    if let call = pairings[path]?.prompt?.call {
      actions.append(.answer(call, .failure(Self.cancelled)))
    }
    pairings[path]?.prompt = nil
  }

  private static let cancelled = BusError("org.bluez.Error.Canceled", "The pairing has ended.")
  private static let rejected = BusError(
    "org.bluez.Error.Rejected", "This program did not begin this pairing.")

  private static func prompt(_ call: BusMethodCall) -> PairingPrompt? {
    let number = call.arguments.dropFirst().first?.uint32
    switch call.member {
    case "RequestAuthorization": return .consent
    case "RequestPasskey": return .enterPasskey
    case "RequestConfirmation": return number.map { .compareNumber($0) }
    case "DisplayPasskey": return number.map { .displayPasskey($0) }
    default: return nil
    }
  }

  mutating func answerPairing(
    _ id: PairingPromptID, _ answer: PairingAnswer, of client: BlueZSessionID, now: Instant,
    into actions: inout [Action]
  ) {
    guard let path = pairings.first(where: { $0.value.prompt?.id == id })?.key,
      let prompt = pairings[path]?.prompt, prompt.client == client, let call = prompt.call
    else { return }
    switch (prompt.kind, answer) {
    case (.enterPasskey, .passkey(let number)) where number <= 999_999:
      actions.append(.answer(call, .success([.uint32(number)])))
    case (.consent, .accept), (.compareNumber, .accept):
      actions.append(.answer(call, .success([])))
    default: return refuse(path, now: now, into: &actions)
    }
    pairings[path]?.prompt = nil
    prolongOperation(path, until: now + BlueZLimits.procedureMax)
  }

  /// Refuses the prompt of a pairing for the user.
  private mutating func refuse(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard let prompt = pairings[path]?.prompt else { return }
    pairings[path]?.prompt = nil
    guard let call = prompt.call else { return }
    let reason: SMPFailureReason =
      switch prompt.kind {
      case .enterPasskey: .passkeyEntryFailed
      case .compareNumber: .numericComparisonFailed
      case .consent, .displayPasskey, .replaceBond: .unspecifiedReason
      }
    pairings[path]?.refusal = reason
    let error = BusError("org.bluez.Error.Rejected", "The user refuses.")
    actions.append(.answer(call, .failure(error)))
    guard let pairing = pairings[path], pairing.isImplicit else { return }
    // bluetoothd leaves the operation without an answer.
    failPairedOperation(pairing.peer, .security(.pairingFailed(reason)), now: now, into: &actions)
  }
}

extension SMPIOCapability {
  /// The name in `RegisterAgent`.
  var busName: String {
    switch self {
    case .displayOnly: "DisplayOnly"
    case .displayYesNo: "DisplayYesNo"
    case .keyboardOnly: "KeyboardOnly"
    case .noInputNoOutput: "NoInputNoOutput"
    case .keyboardDisplay: "KeyboardDisplay"
    }
  }
}

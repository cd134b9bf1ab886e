import BluetoothInterface
import BluetoothWire
import Essentials

// Pairings that this program causes, and its pairing agent (org.bluez.Agent1), which is registered during them only:
// bluetoothd's default agent, as that of the desktop, has all others.

/// A pairing for which `Pair` was called.
struct BlueZPairing: Sendable {
  struct Request: Sendable {
    var client: BlueZSessionID
    var token: RequestToken
  }

  let peer: DeviceAddress
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
    startPairing(path, peer, now: now, into: &actions)
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
    _ path: String, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard pairings[path] == nil else { return }
    if !isAgentRegistered, let agent = agents.last {
      isAgentRegistered = true
      // bluetoothd handles the calls of one program in their order.
      send(
        bluez(
          "/org/bluez", BusName.agentManager, "RegisterAgent",
          [.path(Self.agentPath), .string(agent.capability.busName)]),
        .registerAgent, deadline: now + BlueZLimits.answerMax, into: &actions)
    }
    pairings[path] = BlueZPairing(peer: peer)
    send(
      bluez(path, BusName.device, "Pair"), .pair(path: path),
      deadline: now + BlueZLimits.pairingMax, into: &actions)
  }

  mutating func agentRegistered(
    _ result: Result<[BusValue], BusError>, into actions: inout [Action]
  ) {
    if case .failure(let error) = result {
      isAgentRegistered = false
      actions.append(
        .warning("bluetoothd takes no pairing agent: \(error.message) (\(error.name))."))
    }
  }

  mutating func pairReplied(
    _ result: Result<[BusValue], BusError>, _ path: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard let pairing = pairings.removeValue(forKey: path) else { return }
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
    switch error {
    case nil: deliverToAll(.pairingEnded(pairing.peer, nil), into: &actions)
    case .security(let failure)?:
      deliverToAll(.pairingEnded(pairing.peer, failure), into: &actions)
    case .notConnected?, .disconnected?, .radioNotReady?:
      deliverToAll(.pairingEnded(pairing.peer, .disconnected), into: &actions)
    default:
      deliverToAll(.pairingEnded(pairing.peer, .pairingFailed(.unspecifiedReason)), into: &actions)
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

  private mutating func unregisterAgentIfUnused(now: Instant, into actions: inout [Action]) {
    guard isAgentRegistered, pairings.isEmpty else { return }
    isAgentRegistered = false
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
      if pairings[path]?.prompt?.client == id { refuse(path, into: &actions) }
      pairings[path]?.requests.removeAll { $0.client == id }
      cancelPairingIfUnwanted(path, now: now, into: &actions)
    }
  }

  /// Cancels a pairing for which neither a request nor an operation waits. Its reply completes nothing.
  mutating func cancelPairingIfUnwanted(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard let pairing = pairings[path], pairing.requests.isEmpty,
      links[pairing.peer]?.running != .pairing, !pairing.isCancelled
    else { return }
    pairings[path]?.isCancelled = true
    cancelPairing(path, now: now, into: &actions)
  }

  /// bluetoothd is gone.
  mutating func failPairings(now: Instant, into actions: inout [Action]) {
    isAgentRegistered = false
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
    _ id: IncomingCallID, _ call: BusMethodCall, into actions: inout [Action]
  ) {
    switch call.member {
    case "Release":
      isAgentRegistered = false
      actions.append(.answer(id, .success([])))
    case "Cancel":
      for path in pairings.keys { pairings[path]?.prompt = nil }
      actions.append(.answer(id, .success([])))
    default:
      // Without a default agent, bluetoothd turns to this one for the pairings of other programs, too.
      guard let path = call.arguments.first?.text, pairings[path]?.isCancelled == false,
        let agent = agents.last, let prompt = Self.prompt(call)
      else {
        return actions.append(.answer(id, .failure(Self.rejected)))
      }
      lastPrompt += 1
      let promptID = PairingPromptID(rawValue: lastPrompt)
      var waiting: IncomingCallID? = id
      if case .displayPasskey = prompt {
        // bluetoothd repeats it for each digit that the peer's user types.
        actions.append(.answer(id, .success([])))
        if pairings[path]?.prompt?.kind == prompt { return }
        waiting = nil
      }
      pairings[path]?.prompt = BlueZPairing.Prompt(
        id: promptID, client: agent.client, kind: prompt, call: waiting)
      let peer = pairings[path]?.peer
      if let peer {
        deliver(.pairingPrompt(peer, prompt, promptID), to: agent.client, into: &actions)
      }
    }
  }

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
    _ id: PairingPromptID, _ answer: PairingAnswer, of client: BlueZSessionID,
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
    default: return refuse(path, into: &actions)
    }
    pairings[path]?.prompt = nil
  }

  /// Refuses the prompt of a pairing for the user.
  private mutating func refuse(_ path: String, into actions: inout [Action]) {
    guard let prompt = pairings[path]?.prompt else { return }
    pairings[path]?.prompt = nil
    guard let call = prompt.call else { return }
    pairings[path]?.refusal =
      switch prompt.kind {
      case .enterPasskey: .passkeyEntryFailed
      case .compareNumber: .numericComparisonFailed
      case .consent, .displayPasskey, .replaceBond: .unspecifiedReason
      }
    let error = BusError("org.bluez.Error.Rejected", "The user refuses.")
    actions.append(.answer(call, .failure(error)))
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

import BluetoothInterface
import BluetoothWire
import Essentials
import L2CAPMachines
import PairingMachines

// Starting the controller, losing it, starting it again, and commands to it.

extension HostMachine {
  mutating func openController(now: Instant, into actions: inout [Action]) {
    recovery.transportOpened()
    receiving = ReceivingPause()
    if session.isReady {
      loseController(.transport("The radio was opened again."), now: now, into: &actions)
    }
    startController(now: now, into: &actions)
  }

  /// The identity of earlier runs is known, perhaps later than the controller was started. The bonds would be of no use
  /// with another one.
  mutating func identityLoaded(now: Instant, into actions: inout [Action]) {
    madeUpAddress = security.staticAddress ?? madeUpAddress
    guard !session.isClosed else { return }
    let reason = HostError.transport("The radio is started again, as its bonds can be read now.")
    loseController(reason, now: now, into: &actions)
    radioLost(into: &actions)
    actions.append(.reopenTransport(reason))
  }

  private mutating func startController(now: Instant, into actions: inout [Action]) {
    radioLost(into: &actions)
    // The same after each start, as far as the controller leaves it to the host.
    let madeUp =
      madeUpAddress ?? security.staticAddress ?? DeviceAddress.randomStatic(using: &random)
    madeUpAddress = madeUp
    withSession(now: now, into: &actions) { machine, outputs in
      machine.session.start(
        wantedAddress: machine.configuration.address, madeUpAddress: madeUp, now: now,
        into: &outputs)
    }
  }

  /// The controller is on its way back. Not `resetting`: that would make the objects of Core
  /// Bluetooth's apps invalid, which they need only be when the controller lost its identity.
  private mutating func radioLost(into actions: inout [Action]) {
    if state != .unknown { setState(.poweredOff, into: &actions) }
  }

  mutating func transportBroke(_ error: HostError, now: Instant, into actions: inout [Action]) {
    loseController(error, now: now, into: &actions)
    switch error {
    case .unauthorized: setState(.unauthorized, into: &actions)
    case .unsupported: setState(.unsupported, into: &actions)
    default: setState(.poweredOff, into: &actions)
    }
    recovery.failed(now: now)
    reopenLater(because: error, now: now)
  }

  private mutating func reopenLater(because error: HostError, now: Instant) {
    recovery.reopenLater(because: error, now: now)
    due(recovery.nextWake)
  }

  /// The controller answers wrongly or not at all.
  mutating func controllerFailed(
    _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    loseController(error, now: now, into: &actions)
    recovery.failed(now: now)
    if recovery.failureCount == 1 {
      radioLost(into: &actions)
      actions.append(.reopenTransport(error))
    } else {
      setState(.poweredOff, into: &actions)
      reopenLater(because: error, now: now)
    }
  }

  mutating func hardwareFailed(_ code: UInt8, now: Instant, into actions: inout [Action]) {
    let error = HostError.transport("The controller reported hardware error \(code).")
    guard session.isReady, recovery.isFirstFailure(now: now) else {
      return controllerFailed(error, now: now, into: &actions)
    }
    loseController(error, now: now, into: &actions)
    recovery.failed(now: now)
    startController(now: now, into: &actions)
  }

  /// Ends everything that depended on the controller.
  private mutating func loseController(
    _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    for purpose in session.close() { abandon(purpose, error, into: &actions) }
    while !links.isEmpty {
      closeLink(links.count - 1, error, now: now, into: &actions)
    }
    links.orphans.removeAll()
    heldLinks.removeAll()
    scanner.controllerStopped()
    take(advertiser.controllerStopped(), into: &actions)
    connector.controllerStopped()
    watch.controllerStopped()
    privateAddress.controllerStopped()
    resolvingList.controllerStopped()
    resolvingChanged()
  }

  private func abandon(
    _ purpose: CommandPurpose, _ error: HostError, into actions: inout [Action]
  ) {
    switch purpose {
    case .readingRSSI(_, let request), .changingLink(let request):
      complete(request, .failure(error), into: &actions)
    default: break
    }
  }

  // MARK: Commands

  /// Lets the session put out something and acts on it.
  mutating func withSession(
    now: Instant, into actions: inout [Action],
    _ body: (inout HostMachine, inout [ControllerSession.Output]) -> Void
  ) {
    var produced: [ControllerSession.Output] = []
    swap(&produced, &outputs.session)
    body(&self, &produced)
    for output in produced { take(output, now: now, into: &actions) }
    produced.removeAll(keepingCapacity: true)
    swap(&produced, &outputs.session)
    due(session.nextWake)
  }

  // Not inlined: the optimizer copies `withSession` for each closure that is passed to it.
  @inline(never)
  private mutating func take(
    _ output: ControllerSession.Output, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .send(let packet): actions.append(.send(packet))
    case .started(let abilities): controllerStarted(abilities, now: now, into: &actions)
    case .unsupported:
      loseController(
        .unsupported("The controller has no Bluetooth LE."), now: now, into: &actions)
      setState(.unsupported, into: &actions)
    case .failed(let error): controllerFailed(error, now: now, into: &actions)
    case .answered(let purpose, let answer):
      take(answer, to: purpose, now: now, into: &actions)
    }
  }

  private mutating func controllerStarted(
    _ abilities: ControllerAbilities, now: Instant, into actions: inout [Action]
  ) {
    // Another controller than before: peers know this host by another address from now on.
    if let known = lastAddress, known != abilities.address {
      setState(.resetting, into: &actions)
    }
    lastAddress = abilities.address
    self.abilities = abilities
    recovery.controllerStarted(now: now)
    scheduler.configure(
      packetLength: abilities.aclByteCountMax, packetCount: abilities.aclPacketCount)
    backlog.controllerStarted(usesHostFlowControl: abilities.usesHostFlowControl)
    scanner.controllerStarted(abilities)
    take(advertiser.controllerStarted(abilities), into: &actions)
    connector.controllerStarted(abilities)
    watch.controllerStarted(abilities, now: now)
    security.controllerStarted(abilities.address)
    privateAddress.controllerStarted(isUsed: configuration.usesPrivateAddress)
    resolvingList.controllerStarted(
      abilities, privateAddressInterval: configuration.privateAddressInterval)
    listedFor = nil
    needsCommands = true
    setState(.poweredOn, into: &actions)
  }

  /// Queues a command whose answer goes to `purpose`; false if it can't be sent.
  @discardableResult
  mutating func send(
    _ packet: HCIPacket, for purpose: CommandPurpose = .routine, link: UInt16? = nil,
    now: Instant, into actions: inout [Action]
  ) -> Bool {
    var isSent = false
    withSession(now: now, into: &actions) { machine, outputs in
      isSent = machine.session.send(packet, for: purpose, link: link, now: now, into: &outputs)
    }
    return isSent
  }

  /// Sends the next commands of the machines that steer the radio.
  mutating func sendCommands(now: Instant, into actions: inout [Action]) {
    needsCommands = false
    guard session.isReady else { return }
    if connector.hasLostEnd(now: now) {
      let error = HostError.transport(
        "The controller did not report the result of a connection attempt.")
      return controllerFailed(error, now: now, into: &actions)
    }
    pauseForPrivacy(now: now)
    scanner.isSearching = connector.isSearching
    if let packet = scanner.nextCommand(now: now) {
      send(packet, for: .scanning, now: now, into: &actions)
    }
    if let packet = advertiser.nextCommand(now: now) {
      send(packet, for: .advertising, now: now, into: &actions)
    }
    if let packet = connector.nextCommand(now: now) {
      send(packet, for: .connecting, now: now, into: &actions)
    }
    watch.isScanning = !scanner.isSilent
    if let packet = watch.nextCommand(now: now) {
      send(packet, for: .watching, now: now, into: &actions)
    }
    if scanner.isSilent, advertiser.isSilent, connector.isSilent {
      useSilence(now: now, into: &actions)
    }
    due(privateAddress.nextWake)
    due(resolvingList.nextWake)
    due(watch.nextWake)
    due(scanner.nextWake)
    due(advertiser.nextWake)
    due(connector.nextWake(now: now))
  }

  private mutating func take(
    _ answer: CommandAnswer, to purpose: CommandPurpose, now: Instant,
    into actions: inout [Action]
  ) {
    switch purpose {
    case .startUp, .optional, .routine: break
    case .scanning:
      let begins = scanner.isBeginning
      scanner.commandCompleted(answer.status, now: now)
      checkRefusal(answer.status, to: .scanning, begins: begins, now: now, into: &actions)
    case .advertising:
      let begins = advertiser.isBeginning
      take(advertiser.commandCompleted(answer.status, now: now), into: &actions)
      checkRefusal(answer.status, to: .advertising, begins: begins, now: now, into: &actions)
    case .connecting:
      let begins = connector.isBeginning
      take(connector.commandCompleted(answer.status, now: now), into: &actions)
      checkRefusal(answer.status, to: .connecting, begins: begins, now: now, into: &actions)
    case .settingAddress: addressSet(answer.status, now: now, into: &actions)
    case .listing:
      resolvingList.commandCompleted(answer.status, now: now)
      resolvingChanged()
    case .disconnecting(let handle):
      disconnectAnswered(answer.status, handle: handle, now: now, into: &actions)
    case .encrypting(let handle):
      // Accepted: how it ends, Encryption Change reports.
      if answer.status != .success {
        encryptionChanged(handle, answer.status, isOn: false, now: now, into: &actions)
      }
    case .updatingParameters(let handle):
      if answer.status != .success {
        parametersUpdated(handle, .controller(answer.status), into: &actions)
      }
    case .readingRSSI(_, let request):
      complete(request, rssi(in: answer), into: &actions)
    case .changingLink(let request):
      let isTaken = answer.status == .success
      complete(
        request, isTaken ? .success(.done) : .failure(.controller(answer.status)), into: &actions)
    case .watching:
      guard !watch.matchesSettings(answer) else { return }
      let error = HostError.transport(
        "The controller has lost its settings: it was reset, or lost power for a moment.")
      return controllerFailed(error, now: now, into: &actions)
    }
    needsCommands = true
  }

  /// Restarts a controller that goes on refusing an activity for no known reason.
  private mutating func checkRefusal(
    _ status: HCIStatus, to activity: ControllerWatch.Activity, begins: Bool, now: Instant,
    into actions: inout [Action]
  ) {
    let isExplained = status == .commandDisallowed && explainsRefusal(of: activity)
    let mustRestart = watch.mustRestart(
      status, to: activity, begins: begins, isExplained: isExplained, now: now)
    guard mustRestart else { return }
    let error = HostError.transport(
      "The controller keeps refusing commands for \(activity) without a known reason: \(status).")
    controllerFailed(error, now: now, into: &actions)
  }

  /// Whether what is under way may be the reason why the controller disallows an activity. Many
  /// controllers can't scan, advertise or initiate in each state; a restart would only end links.
  private func explainsRefusal(of activity: ControllerWatch.Activity) -> Bool {
    guard links.isEmpty else { return true }
    switch activity {
    case .scanning: return false
    case .advertising: return connector.isInitiating
    case .connecting: return advertiser.isConnectable && !connector.hasUnreportedEnd
    }
  }

  private func rssi(in answer: CommandAnswer) -> Result<HostReply, HostError> {
    guard answer.status == .success else { return .failure(.controller(answer.status)) }
    var reader = ByteReader(answer.parameters)
    guard let reply = try? ReadRSSIReturn(decoding: &reader) else {
      return .failure(.controller(.unspecifiedError))
    }
    return .success(.rssi(reply.rssi ?? 127))
  }

  package mutating func take(_ outcomes: [Advertiser.Outcome], into actions: inout [Action]) {
    for outcome in outcomes {
      complete(outcome.request, outcome.result, into: &actions)
    }
  }

  mutating func take(_ outcomes: [Connector.Outcome], into actions: inout [Action]) {
    for outcome in outcomes {
      connectingFailed(outcome.peer, .connectionFailed(outcome.status), into: &actions)
    }
  }

  mutating func wakeSession(now: Instant, into actions: inout [Action]) {
    withSession(now: now, into: &actions) { machine, outputs in
      machine.session.wake(now: now, into: &outputs)
    }
  }
}

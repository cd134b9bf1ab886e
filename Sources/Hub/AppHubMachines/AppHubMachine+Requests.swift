package import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines

// Requests of processes, and what the host gets of them.

extension AppHubMachine {
  /// Bytes of a process arrived. Those of a suspended one wait until it runs.
  mutating func received(_ bytes: [UInt8], from process: AppProcessID, now: Instant) {
    guard let entry = processes[process] else { return }
    let heldByteCount = entry.held.reduce(0) { $0 + $1.count }
    if entry.isFrozen || isRepublishing(entry.app),
      heldByteCount + bytes.count <= AppHubProcess.heldByteCountMax
    {
      processes[process]?.held.append(bytes)
      return
    }
    for bytes in entry.held + [bytes] { take(bytes, of: process, now: now) }
    processes[process]?.held = []
  }

  /// A process runs on.
  mutating func thaw(_ process: AppProcessID, now: Instant) {
    processes[process]?.isFrozen = false
    guard let app = processes[process]?.app, !isRepublishing(app) else { return }
    takeHeld(of: process, now: now)
  }

  /// Takes the bytes of a process that were held.
  mutating func takeHeld(of process: AppProcessID, now: Instant) {
    let held = processes[process]?.held ?? []
    processes[process]?.held = []
    for bytes in held { take(bytes, of: process, now: now) }
  }

  private mutating func take(_ bytes: [UInt8], of process: AppProcessID, now: Instant) {
    handle(.received(process.connection, bytes))
    // Before its requests are performed.
    updateSessions(of: process, now: now)
    performHubActions(now: now)
    flush(process, now: now)
  }

  /// The hub sends a request of a session.
  mutating func send(_ request: HostRequest, of key: HubSessionKey, now: Instant) {
    guard let number = numbers[key], let session = sessions[number] else {
      // What a process leaves behind is ended.
      return outputs.append(.send(key, request))
    }
    classify(request, session, now)
    sessions[number]?.sent(request)
    touched.insert(number)
    if isPreserving, case .startAdvertising(let options, _) = request {
      sessions[number]?.radio.preserve(options)
      noteRetry(number)
      return
    }
    if case .respond(let id, _) = request { answered(id, number, now) }
    for request in sessions[number]?.radio.sent(request) ?? [request] {
      if case .stopAdvertising = request { hasFreePlace = true }
      outputs.append(.send(key, request))
    }
    performDue(of: number, now: now)
  }

  /// A manager without an identifier is known by its first request that only one kind of manager has.
  private mutating func classify(_ request: HostRequest, _ session: AppRadioSession, _ now: Instant)
  {
    guard case .unnamedCentral(let number) = session.receiver, let process = session.process else {
      return
    }
    switch request {
    case .addService, .startAdvertising, .publishChannel:
      let receiver = AppReceiver.unnamedPeripheral(number)
      sessions[session.number]?.receiver = receiver
      report(.process(process, .opened(receiver)), now: now)
      report(.process(process, .closed(session.receiver)), now: now)
    default: break
    }
  }

  // MARK: Requests of centrals

  private mutating func answered(_ id: ServerRequestID, _ session: UInt64, _ now: Instant) {
    for (event, request) in requests where request.id == id && request.session == session {
      requests[event] = nil
      if let process = request.process { report(.process(process, .completed(event)), now: now) }
    }
  }

  /// No process answers a request of a central in time.
  mutating func refuse(_ event: AppEventID) {
    guard let request = requests.removeValue(forKey: event),
      let key = sessions[request.session]?.hostKey
    else { return }
    outputs.append(.send(key, .respond(request.id, .failure(.unlikelyError))))
  }

  // MARK: States of apps and wishes of sessions

  /// Does what follows from new states of apps, and reports new wishes of sessions.
  mutating func followStates(now: Instant) {
    let changed = life.takeChangedApps()
    let followed = sessions.values.filter {
      changed.contains($0.app) || touched.contains($0.number)
    }
    for session in followed.sorted(by: { $0.number < $1.number }) {
      let policy = policy(of: session)
      for request in sessions[existing: session.number].radio.follow(policy) {
        if case .stopAdvertising = request { hasFreePlace = true }
        outputs.append(.send(session.hostKey, request))
      }
      performDue(of: session.number, now: now)
    }
    giveFreePlace(now: now)
    for number in touched.sorted() {
      guard let session = sessions[number], let holdings = holdings(of: session) else { continue }
      preserve(holdings, of: number)
      let wants = AppWants(holdings)
      guard wants != session.wants else { continue }
      sessions[number]?.wants = wants
      report(.wants(session.app, session.receiver, wants), now: now)
    }
    touched = []
  }

  /// How the radio works for a session.
  func policy(of session: AppRadioSession) -> BackgroundRadio.Policy {
    switch life.state(of: session.app) ?? .notRunning {
    case .active, .inactive: .foreground
    // An app that was woken for a region ranges its beacons.
    case .background where session.isOfLocation: .foreground
    case .background, .suspended, .notRunning:
      life.hasMode(for: session.receiver, of: session.app) ? .background : .off
    }
  }

  /// What the system does for an app with the radio.
  package func radioUse(of app: AppID) -> AppRadioUse {
    var use = AppRadioUse()
    let own = sessions.values.filter { $0.app == app }
    for session in own.sorted(by: { $0.number < $1.number }) {
      for (peer, link) in session.links.sorted(by: { $0.key.bits < $1.key.bits }) {
        if link.isConnected {
          use.connections.append(AppPeer(peer))
        } else {
          use.pendingConnections.append(AppPeer(peer))
        }
      }
      if session.radio.isScanning { use.scanCount += 1 }
      if session.radio.isAdvertising { use.advertisementCount += 1 }
      if session.process == nil { use.keptSessionCount += 1 }
    }
    return use
  }
}

extension AppWants {
  init(_ holdings: SessionHoldings) {
    self = []
    if holdings.scan != nil { insert(.scanning) }
    if !holdings.links.isEmpty || !holdings.subscriptions.isEmpty { insert(.links) }
    if !holdings.services.isEmpty || !holdings.listeners.isEmpty { insert(.services) }
    if holdings.advertising != nil { insert(.advertising) }
  }
}

extension AppRadioSession {
  /// Whether the app connected with an option that alerts the person to the event.
  func showsAlert(for event: HostEvent) -> Bool {
    func alerts(_ peer: DeviceAddress, _ alert: ConnectionAlerts) -> Bool {
      links[peer]?.options.alerts.contains(alert) ?? false
    }
    return switch event {
    case .connected(let peer): alerts(peer, .connection)
    case .disconnected(let peer, _, _): alerts(peer, .disconnection)
    case .valueUpdated(let peer, handle: _, _): alerts(peer, .notification)
    default: false
    }
  }
}

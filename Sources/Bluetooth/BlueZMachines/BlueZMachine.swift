package import BluetoothInterface
import BluetoothWire
package import Essentials

/// A Bluetooth host over bluetoothd's interfaces on D-Bus: clients' requests become method calls, replies and signals
/// become clients' events.
///
/// bluetoothd has the radio, the links and the bonds, and shares them among all programs of the machine. This machine
/// has one discovery for all of its clients, and for each link the requests of its clients.
package struct BlueZMachine: Machine, Sendable {
  /// What the driver reports.
  package enum Event: Sendable {
    /// A client has opened a session; of another program, for which this process serves the radio, or of this one.
    case opened(BlueZSessionID, acknowledgesEvents: Bool, program: BlueZProgramID? = nil)
    /// A client has closed its session.
    case closed(BlueZSessionID)
    /// A client has sent a request.
    case request(BlueZSessionID, HostRequest)
    /// A client has handled this number of events.
    case handled(BlueZSessionID, count: Int)
    /// The connection with the bus is ready for calls.
    case busOpened
    /// There is no connection with the bus, for this reason, a sentence.
    case busClosed(String)
    /// A call has a reply.
    case reply(BusCallID, Result<[BusValue], BusError>)
    case signal(BusSignal)
    /// Another program has called a method of this one's.
    case call(IncomingCallID, BusMethodCall)
    /// The answer to `readBlock`.
    case block(RadioBlock?)
    /// The answer to `readConnections`.
    case connections([ControllerConnection])
    /// The controller has reported something.
    case controller(ControllerReport)
    /// The socket of a channel, or one that listens, has reported something.
    case channel(ChannelID, ChannelSocketEvent)
  }

  /// What the driver has to do.
  package enum Action: Sendable, Equatable {
    /// Connect with the bus.
    case openBus
    /// Close the connection with the bus.
    case closeBus
    /// Send a call, whose reply is an event unless the connection ends before.
    case call(BusCallID, BusCall)
    /// Answer a call of another program, once.
    case answer(IncomingCallID, Result<[BusValue], BusError>)
    /// Send a signal to one program.
    case emit(BusCall)
    /// Deliver an event to a client.
    case deliver(BlueZSessionID, HostEvent)
    /// Find out whether rfkill(4) blocks an adapter, by its name.
    case readBlock(adapter: String)
    /// Open a socket of this controller, by its name, instead of the one before; nil for none. It may be refused.
    case watchController(String?)
    /// Read the links of the controller.
    case readConnections
    /// Read the RSSI of a link of the controller.
    case readRSSI(handle: UInt16)
    /// Use the socket of a channel.
    case channel(ChannelAction)
    /// The reason why the radio can't be used has changed; nil if it can be.
    case problem(String?)
    /// Log a sentence.
    case warning(String)
  }

  struct Client: Sendable {
    var acknowledgesEvents: Bool
    /// The program that it is of; nil for this one.
    var program: BlueZProgramID?
    var scan: ScanOptions?
    /// The data that was reported of each device, by its path; for scans without duplicates.
    var reported: [String: [UInt8]] = [:]
    var unhandledCount = 0
    /// Requests with a token that have not ended.
    var requestCount = 0
    /// Values that were dropped since the last one.
    var droppedValues: [ValueSource: Int] = [:]
    /// Writes without response to its services that were dropped since the last request.
    var droppedWrites: [ValueSource: Int] = [:]
  }

  struct ValueSource: Sendable, Hashable {
    var peer: DeviceAddress
    var handle: UInt16
  }

  enum Phase: Sendable, Equatable {
    /// Not connected with the bus; the time of the next attempt.
    case closed(retryAt: Instant?)
    case opening
    /// Connected with the bus; bluetoothd is not known.
    case noOwner
    /// bluetoothd has this unique name; its objects are not known yet.
    case reading(owner: String)
    case ready(owner: String)
  }

  enum Purpose: Sendable, Equatable {
    case match
    /// The rule for changes of characteristics, which is added and removed as links need them.
    case valueRule(serial: UInt64)
    case owner
    case start
    case objects
    case setFilter
    case startDiscovery
    case stopDiscovery
    case connect(DeviceAddress, attempt: UInt64)
    case disconnect(DeviceAddress)
    case operation(DeviceAddress, serial: UInt64)
    /// `StartNotify` of the characteristic at this path.
    case subscription(DeviceAddress, serial: UInt64, path: String)
    case advertise(BlueZSessionID, path: String)
    case publish(root: String)
    case updated(BlueZSessionID, RequestToken)
    /// The properties of the manager of monitors.
    case monitorFeatures(root: String)
    case monitors(root: String)
    case registerAgent
    case pair(path: String)
    case removeBond(BlueZSessionID, RequestToken)
    /// The properties of a device for which there was no room when it appeared.
    case device(path: String)
    case release
  }

  struct PendingCall: Sendable {
    var purpose: Purpose
    var deadline: Instant?
  }

  enum Discovery: Sendable, Equatable {
    case off
    case settingFilter
    case starting
    case on
    case stopping
    case waiting(until: Instant)
  }

  let wantedAdapter: String?
  var clients: [BlueZSessionID: Client] = [:]
  var counters = Counters()
  var phase = Phase.closed(retryAt: nil)
  var calls: [BusCallID: PendingCall] = [:]
  var waitingCalls: [(id: BusCallID, call: BusCall)] = []
  var lastCall: UInt64 = 0
  var busFailureCount = 0
  /// How often D-Bus has started bluetoothd, whose objects were not read since.
  var startCount = 0
  /// The serial of the call with which the bus delivers changes of characteristics; nil if it doesn't.
  var valueRule: UInt64?
  /// The bus's refusals of that call since the last success.
  var valueRuleRefusal: Refusal?
  /// When the owner of bluetoothd's name is looked for again.
  var ownerRetryAt: Instant?

  var adapters: [String: Adapter] = [:]
  var devices: [String: RemoteDevice] = [:]
  /// The paths of devices by their addresses, also by those that a pairing has revealed.
  var paths: [DeviceAddress: String] = [:]
  var adapter: String?
  /// Whether the adapter was off when it was chosen.
  var wasOff = false
  /// The address of the adapter that was used last, by which it is known again under another number.
  var adapterAddress: UInt64?
  var block: RadioBlock?
  var refusal: BlueZProblem?
  var state = RadioState.unknown
  var problem: BlueZProblem?
  /// Whether a device was left out because there was no room for it.
  var hasLeftOutDevices = false
  /// The number of dropped reports at which the next warning is due.
  var nextReportWarning = 1
  /// Events since the tables were checked.
  private var uncheckedCount = 0
  var hasWarnedOfScan = false

  var discovery = Discovery.off
  var discoveryFailureCount = 0
  /// The last error of the discovery, without a full stop; nil after a success.
  var discoveryError: String?
  var heardAt = Instant.zero
  /// The monitors that serve all scans; nil where a discovery does.
  var monitors: AdvertisementMonitors?
  /// The scans for which monitors were considered last.
  var examinedScans: [ScanOptions] = []
  /// Whether bluetoothd has refused monitors since it or the adapter came back.
  var refusesMonitors = false

  var links: [DeviceAddress: BlueZLink] = [:]
  /// The peers of links, by the paths of their devices.
  var linkPeers: [String: DeviceAddress] = [:]
  /// The peers whose links this program had made when the radio was lost: bluetoothd may have kept them.
  var madeLinks: Set<DeviceAddress> = []
  /// The channels of clients, and what they listen on; both have sockets of the kernel.
  var channels: [ChannelID: BlueZChannel] = [:]
  var listeners: [ChannelID: BlueZListener] = [:]
  var lastChannel: UInt64 = 0
  var hasWarnedOfChannels = false
  /// The services of this program, by the paths of their applications.
  var services: [String: LocalService] = [:]
  var serverRequests: [ServerRequestID: PendingServerRequest] = [:]
  var lastServerRequest: UInt64 = 0
  var advertisements: [BlueZSessionID: Advertisement] = [:]
  /// Numbers this program's objects.
  var lastObject = 0
  /// The pairings that this program has begun, by the paths of their devices, which stay where addresses change.
  var pairings: [String: BlueZPairing] = [:]
  /// The clients that answer prompts, the latest last.
  var agents: [(client: BlueZSessionID, capability: SMPIOCapability)] = []
  /// The capability with which the agent is registered.
  var registeredAgent: SMPIOCapability?
  /// Whether bluetoothd has refused it.
  var isAgentRefused = false
  var lastPrompt: UInt64 = 0
  /// Numbers the calls of operations and attempts, so that a late reply belongs to none.
  var lastOperation: UInt64 = 0

  /// Creates a machine that connects with the bus when its first session is opened.
  ///
  /// - Parameter adapter: The name of the adapter, such as `hci1`; nil for the first one that is on.
  package init(adapter: String? = nil) { wantedAdapter = adapter }

  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .opened(let id, let acknowledgesEvents, let program):
      opened(id, acknowledgesEvents: acknowledgesEvents, of: program, into: &actions)
    case .closed(let id): closed(id, now: now, into: &actions)
    case .request(let id, let request): handle(request, of: id, now: now, into: &actions)
    case .handled(let id, let count):
      if let unhandled = clients[id]?.unhandledCount {
        clients[id]?.unhandledCount = max(0, unhandled - max(0, count))
      }
    case .busOpened: busOpened(now: now, into: &actions)
    case .busClosed(let reason): busClosed(reason, now: now, into: &actions)
    case .reply(let id, let result):
      if let call = calls.removeValue(forKey: id) {
        sendWaitingCalls(into: &actions)
        handle(result, for: call.purpose, now: now, into: &actions)
      }
    case .signal(let signal):
      // They are the most frequent signals, and concern nothing but the subscribers.
      if valueSignalled(signal, into: &actions) { return }
      handle(signal, now: now, into: &actions)
    case .call(let id, let call): called(id, call, now: now, into: &actions)
    case .block(let block):
      self.block = block
      updateState(now: now, into: &actions)
    case .connections(let connections): connectionsRead(connections, into: &actions)
    case .controller(let report): controllerReported(report, into: &actions)
    case .channel(let id, let event): channelReported(id, event, into: &actions)
    }
    updateValueRule(now: now, into: &actions)
    updateMonitors(now: now, into: &actions)
    updateDiscovery(now: now, into: &actions)
    checkTables()
  }

  /// Checks the tables in debug builds; with thousands of devices not after each event, which would take longer than the
  /// event itself.
  private mutating func checkTables() {
    uncheckedCount += 1
    guard uncheckedCount > devices.count / 64 else { return }
    uncheckedCount = 0
    assert(violations().isEmpty, "\(violations())")
  }

  // MARK: Time

  package var nextWake: Instant? {
    var next: Instant?
    func consider(_ time: Instant?) {
      if let time { next = min(next ?? time, time) }
    }
    if case .closed(let retryAt) = phase { consider(retryAt) }
    if phase == .noOwner { consider(ownerRetryAt) }
    for call in calls.values { consider(call.deadline) }
    switch discovery {
    case .waiting(let time): consider(time)
    case .on: consider(heardAt + BlueZLimits.silenceMax)
    case .off, .settingFilter, .starting, .stopping: break
    }
    consider(nextServerWake)
    consider(monitors?.nextReport)
    consider(nextRegistration)
    consider(nextValueRule)
    consider(nextChannelWake)
    if state == .poweredOn { for link in links.values { consider(link.nextWake) } }
    return next
  }

  package mutating func wake(now: Instant, into actions: inout [Action]) {
    if case .closed(let retryAt?) = phase, retryAt <= now { openBus(into: &actions) }
    retryOwner(now: now, into: &actions)
    let late = calls.filter { $0.value.deadline.map { $0 <= now } ?? false }.keys
    for id in late.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let call = calls.removeValue(forKey: id) else { continue }
      waitingCalls.removeAll { $0.id == id }
      let error = BusError(BlueZErrorName.noReply, "bluetoothd did not answer in time.")
      handle(.failure(error), for: call.purpose, now: now, into: &actions)
    }
    sendWaitingCalls(into: &actions)
    wakeDiscovery(now: now, into: &actions)
    wakeMonitors(now: now, into: &actions)
    wakeServer(now: now, into: &actions)
    retryRegistrations(now: now, into: &actions)
    wakeChannels(now: now, into: &actions)
    if state == .poweredOn {
      for peer in links.keys.sorted(by: { $0.bits < $1.bits }) {
        wakeLink(peer, now: now, into: &actions)
      }
    }
    updateValueRule(now: now, into: &actions)
    updateMonitors(now: now, into: &actions)
    updateDiscovery(now: now, into: &actions)
    checkTables()
  }

  // MARK: Calls

  /// Sends a call, or keeps it until fewer are without a reply.
  mutating func send(
    _ call: BusCall, _ purpose: Purpose, deadline: Instant?, into actions: inout [Action]
  ) {
    lastCall += 1
    let id = BusCallID(rawValue: lastCall)
    if calls.count < BlueZLimits.pendingCallCountMax, waitingCalls.isEmpty {
      actions.append(.call(id, call))
    } else {
      waitingCalls.append((id, call))
    }
    calls[id] = PendingCall(purpose: purpose, deadline: deadline)
  }

  private mutating func sendWaitingCalls(into actions: inout [Action]) {
    while !waitingCalls.isEmpty,
      calls.count - waitingCalls.count < BlueZLimits.pendingCallCountMax
    {
      let (id, call) = waitingCalls.removeFirst()
      actions.append(.call(id, call))
    }
  }

  /// A call of bluetoothd's.
  func bluez(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
  ) -> BusCall {
    let owner =
      switch phase {
      case .reading(let owner), .ready(let owner): owner
      case .closed, .opening, .noOwner: BusName.bluez
      }
    return BusCall(owner, path, interface, member, arguments)
  }

  // MARK: Events

  mutating func deliver(
    _ event: HostEvent, to id: BlueZSessionID, into actions: inout [Action]
  ) {
    guard clients[id] != nil else { return }
    actions.append(.deliver(id, event))
    if event.isAcknowledged, clients[id]?.acknowledgesEvents == true {
      clients[id]?.unhandledCount += 1
    }
  }

  mutating func deliverToAll(_ event: HostEvent, into actions: inout [Action]) {
    for id in clients.keys.sorted() { deliver(event, to: id, into: &actions) }
  }

  mutating func complete(
    _ id: BlueZSessionID, _ token: RequestToken, _ result: Result<HostReply, HostError>,
    into actions: inout [Action]
  ) {
    guard let count = clients[id]?.requestCount else { return }
    clients[id]?.requestCount = max(0, count - 1)
    deliver(.completed(token, result), to: id, into: &actions)
  }

  /// Whether the client is so far behind that what it can do without is dropped.
  func isBehind(_ id: BlueZSessionID) -> Bool {
    (clients[id]?.unhandledCount ?? 0) >= BlueZLimits.unhandledEventCountMax
  }
}

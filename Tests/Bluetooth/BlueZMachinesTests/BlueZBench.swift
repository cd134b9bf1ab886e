import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

let adapterPath = "/org/bluez/hci0"
let devicePath = "/org/bluez/hci0/dev_C0_11_22_33_44_55"
let servicePath = devicePath + "/service000a"
let valuePath = servicePath + "/char000b"
let secondValuePath = servicePath + "/char0010"
let daemon = ":1.7"

extension DeviceAddress {
  static let peer = DeviceAddress(bits: 0xC011_2233_4455, kind: .random)
}

extension BlueZSessionID {
  static let first = BlueZSessionID(rawValue: 1)
  static let second = BlueZSessionID(rawValue: 2)
}

/// A machine whose bus and whose bluetoothd are a test's calls, in virtual time.
struct BlueZBench {
  var machine: BlueZMachine
  var now = Instant.zero
  /// Calls without a reply.
  var calls: [(id: BusCallID, call: BusCall)] = []
  var events: [BlueZSessionID: [HostEvent]] = [:]
  var problem: String?
  var warnings: [String] = []
  var openings = 0
  var closings = 0
  var blockQuestions: [String] = []
  var controller: String?
  var connectionReadCount = 0
  var rssiHandles: [UInt16] = []
  var channelActions: [ChannelAction] = []
  var answers: [IncomingCallID: Result<[BusValue], BusError>] = [:]
  var lastIncoming: UInt64 = 0
  var signals: [BusCall] = []
  /// The calls that register and unregister the agent.
  var agentCalls: [BusCall] = []
  var refusesAgents = false
  /// Whether the bus delivers changes of characteristics, and the calls that have changed that.
  var hasValueRule = false
  var valueRuleCalls: [String] = []
  /// What the bus answers to the rule; nil for nothing.
  var valueRuleReply: Result<[BusValue], BusError>? = .success([])

  init(adapter: String? = nil) { machine = BlueZMachine(adapter: adapter) }

  mutating func handle(_ event: BlueZMachine.Event) {
    var actions: [BlueZMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    perform(actions)
  }

  private mutating func perform(_ actions: [BlueZMachine.Action]) {
    for action in actions {
      switch action {
      case .openBus: openings += 1
      case .closeBus: closings += 1
      case .call(let id, let call) where call.interface == BusName.agentManager:
        agentCalls.append(call)
        let refusal = BusError(BlueZErrorName.accessDenied, "refused")
        handle(.reply(id, refusesAgents ? .failure(refusal) : .success([])))
      case .call(let id, let call) where call.arguments == [.string(BlueZMachine.valueRule)]:
        valueRuleCalls.append(call.member)
        let reply = call.member == "AddMatch" ? valueRuleReply : .success([])
        hasValueRule = call.member == "AddMatch" && reply == .success([])
        if let reply { handle(.reply(id, reply)) }
      case .call(let id, let call):
        // Their effects may be signalled before the reply.
        if ["Connect", "StartNotify"].contains(call.member), valueRuleReply == .success([]) {
          #expect(hasValueRule)
        }
        calls.append((id, call))
      case .answer(let id, let result): answers[id] = result
      case .emit(let signal): signals.append(signal)
      case .deliver(let id, let event): events[id, default: []].append(event)
      case .readBlock(let adapter): blockQuestions.append(adapter)
      case .watchController(let name): controller = name
      case .readConnections: connectionReadCount += 1
      case .readRSSI(let handle): rssiHandles.append(handle)
      case .channel(let action): channelActions.append(action)
      case .problem(let sentence): problem = sentence
      case .warning(let sentence): warnings.append(sentence)
      }
    }
    // With many devices, the machine's own check is enough.
    if machine.devices.count < 10 { #expect(machine.violations() == []) }
  }

  /// Lets time pass, and wakes the machine whenever it wants that.
  mutating func advance(by span: TimeSpan) {
    let end = now + span
    while let wake = machine.nextWake, wake <= end {
      now = max(now, wake)
      var actions: [BlueZMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }
    now = end
  }

  mutating func request(_ request: HostRequest, of id: BlueZSessionID = .first) {
    handle(.request(id, request))
  }

  /// Replies to the oldest call of a method, which must be there.
  mutating func reply(
    to member: String, _ values: [BusValue] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    finish(member, .success(values), sourceLocation)
  }

  mutating func refuse(
    _ member: String, _ name: String, _ message: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    finish(member, .failure(BusError(name, message)), sourceLocation)
  }

  private mutating func finish(
    _ member: String, _ result: Result<[BusValue], BusError>, _ location: SourceLocation
  ) {
    guard let index = calls.firstIndex(where: { $0.call.member == member }) else {
      let members = calls.map(\.call.member)
      Issue.record("no call of \(member) in \(members)", sourceLocation: location)
      return
    }
    handle(.reply(calls.remove(at: index).id, result))
  }

  func count(of member: String) -> Int { calls.count { $0.call.member == member } }

  func call(_ member: String) -> BusCall? { calls.first { $0.call.member == member }?.call }

  mutating func takeEvents(of id: BlueZSessionID = .first) -> [HostEvent] {
    events.removeValue(forKey: id) ?? []
  }

  // MARK: bluetoothd

  mutating func signal(
    _ interface: String, _ member: String, path: String = "/", _ arguments: [BusValue],
    from sender: String = daemon
  ) {
    handle(
      .signal(
        BusSignal(
          sender: sender, path: path, interface: interface, member: member, arguments: arguments)))
  }

  /// bluetoothd, or another program, calls a method of this one's. Returns the identifier of the call.
  @discardableResult
  mutating func call(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
    from sender: String = daemon
  ) -> IncomingCallID {
    lastIncoming += 1
    let id = IncomingCallID(rawValue: lastIncoming)
    let call = BusMethodCall(
      sender: sender, path: path, interface: interface, member: member, arguments: arguments)
    handle(.call(id, call))
    return id
  }

  mutating func change(
    _ path: String, _ interface: String, _ values: [String: BusValue], invalidated: [String] = []
  ) {
    // As the bus does without a rule.
    if interface == BusName.characteristic, !hasValueRule { return }
    signal(
      BusName.properties, "PropertiesChanged", path: path,
      [.string(interface), .properties(values), .strings(invalidated)])
  }

  mutating func changeDevice(_ values: [String: BusValue], invalidated: [String] = []) {
    change(devicePath, BusName.device, values, invalidated: invalidated)
  }

  mutating func add(_ path: String, _ interface: String, _ values: [String: BusValue]) {
    signal(
      BusName.objectManager, "InterfacesAdded", [.path(path), .interfaces([interface: values])])
  }

  mutating func remove(_ path: String, _ interface: String) {
    signal(BusName.objectManager, "InterfacesRemoved", [.path(path), .strings([interface])])
  }

  mutating func ownerChanged(to owner: String) {
    signal(
      BusName.bus, "NameOwnerChanged",
      [.string(BusName.bluez), .string(""), .string(owner)], from: BusName.bus)
  }

  static let adapterValues: [String: BusValue] = [
    "Address": .string("00:1A:7D:DA:71:13"), "Powered": .boolean(true),
  ]
  static let deviceValues: [String: BusValue] = [
    "Address": .string("C0:11:22:33:44:55"), "AddressType": .string("random"),
    "Name": .string("Strap"), "Connected": .boolean(false), "ServicesResolved": .boolean(false),
    "UUIDs": .strings(["0000180d-0000-1000-8000-00805f9b34fb"]),
  ]

  /// Opens a session, and answers up to the objects.
  mutating func start(
    _ objects: [String: [String: [String: BusValue]]] = [
      adapterPath: [BusName.adapter: adapterValues]
    ]
  ) {
    handle(.opened(.first, acknowledgesEvents: false))
    handle(.busOpened)
    answerMatches()
    reply(to: "GetNameOwner", [.string(daemon)])
    reply(to: "GetManagedObjects", [.objects(objects)])
    events = [:]
  }

  mutating func answerMatches() {
    for _ in 0..<count(of: "AddMatch") { reply(to: "AddMatch") }
  }

  mutating func startScan(_ options: ScanOptions = ScanOptions()) {
    request(.startScan(options))
    reply(to: "SetDiscoveryFilter")
    reply(to: "StartDiscovery")
  }

  /// The device appears with an advertisement.
  mutating func hear(rssi: Int16 = -60) {
    add(
      devicePath, BusName.device, Self.deviceValues.merging(["RSSI": .int16(rssi)]) { $1 })
  }

  /// A link to the device, with its service of two characteristics.
  mutating func connect() {
    if machine.devices[devicePath] == nil { add(devicePath, BusName.device, Self.deviceValues) }
    request(.connect(.peer, ConnectOptions()))
    changeDevice(["Connected": .boolean(true)])
    reply(to: "Connect")
    addService()
    changeDevice(["ServicesResolved": .boolean(true)])
    events = [:]
  }

  mutating func addService() {
    add(
      servicePath, BusName.service,
      ["UUID": .string("0000180d-0000-1000-8000-00805f9b34fb"), "Primary": .boolean(true)])
    for path in [valuePath, secondValuePath] {
      add(
        path, BusName.characteristic,
        [
          "UUID": .string("00002a37-0000-1000-8000-00805f9b34fb"), "MTU": .uint16(185),
          "Flags": .strings(["read", "write", "write-without-response", "notify"]),
        ])
    }
    add(
      valuePath + "/desc000d", BusName.descriptor,
      ["UUID": .string("00002901-0000-1000-8000-00805f9b34fb")])
  }

  mutating func gatt(_ operation: GATTOperation, token: UInt64, of id: BlueZSessionID = .first) {
    request(.gatt(.peer, operation, RequestToken(rawValue: token)), of: id)
  }

  mutating func subscribe(
    _ handle: UInt16 = 0x0C, token: UInt64 = 90, of id: BlueZSessionID = .first
  ) {
    let target = SubscriptionTarget(valueHandle: handle, endHandle: handle, usesIndications: false)
    request(.subscribe(.peer, target, RequestToken(rawValue: token)), of: id)
  }

  mutating func notify(_ value: [UInt8], path: String = valuePath) {
    change(path, BusName.characteristic, ["Value": .bytes(value)])
  }
}

extension [HostEvent] {
  var values: [[UInt8]] {
    compactMap { if case .valueUpdated(_, _, let bytes) = $0 { Array<UInt8>(bytes) } else { nil } }
  }

  var reports: [AdvertisingReport] {
    compactMap { if case .discovered(let report) = $0 { report } else { nil } }
  }

  func result(_ token: UInt64) -> Result<HostReply, HostError>? {
    lazy.compactMap { event in
      if case .completed(RequestToken(rawValue: token), let result) = event { result } else { nil }
    }.first
  }
}

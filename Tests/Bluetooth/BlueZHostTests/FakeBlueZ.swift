#if BlueZ
  import BlueZMachines
  import BluetoothWire
  import Essentials
  import EventLoop
  import Synchronization
  import Testing

  @testable import BlueZHost

  /// A bluetoothd with one adapter and one device, on a private bus, as far as a central needs it. Its messages are in
  /// the order in which bluetoothd sends them.
  final class FakeBlueZ: @unchecked Sendable {
    // Sendable because state in a `Mutex` has a lock of its own, and everything else is accessed on `loop` only.
    private static let adapter = "/org/bluez/hci0"
    private static let device = adapter + "/dev_C0_11_22_33_44_55"
    private static let service = device + "/service000a"
    private static let value = service + "/char000b"
    private static let adapter1 = "org.bluez.Adapter1"
    private static let device1 = "org.bluez.Device1"
    private static let characteristic1 = "org.bluez.GattCharacteristic1"
    private static let monitor1 = "org.bluez.AdvertisementMonitor1"
    private static let uuid = "00002a37-0000-1000-8000-00805f9b34fb"

    private let loop = EpollLoop.shared
    private var bus: MessageBus?
    private var isConnected = false
    /// The sender and the path of the registered agent.
    private var agent: (sender: String, path: String)?
    /// What happens with the replies to this daemon's calls.
    private var handlers: [BusCallID: (Result<[BusValue], BusError>) -> Void] = [:]
    private var lastCall: UInt64 = 1
    /// The sender and the path of the served characteristic.
    private var served: (sender: String, path: String)?
    /// The call of `Pair`, until the agent has answered.
    private var pairing: IncomingCall?
    private let membersStorage = Mutex<[String]>([])
    private let advertisementStorage = Mutex<[String: BusValue]>([:])
    private let owned: AsyncStream<Void>
    private let own: AsyncStream<Void>.Continuation

    /// The methods that were called, in order; a write with its value.
    var members: [String] { membersStorage.withLock(\.self) }

    /// The properties of the last advertisement.
    var advertisement: [String: BusValue] { advertisementStorage.withLock(\.self) }

    /// Whether it refuses services of programs.
    private let refusesServices: Bool
    /// Whether it takes monitors.
    private let takesMonitors: Bool
    /// What `Pair` asks the agent.
    private let question: Question
    /// The sender and the path of the registered monitor.
    private var monitor: (sender: String, path: String)?

    /// What a pairing asks an agent.
    enum Question: Sendable {
      case compare(UInt32)
      /// The device displays this passkey.
      case enter(UInt32)
      /// The user of the device types this passkey.
      case display(UInt32)
      /// A passkey, which it takes back.
      case enterAndCancel
    }

    init(
      refusesServices: Bool = false, takesMonitors: Bool = false,
      question: Question = .compare(123_456)
    ) {
      self.refusesServices = refusesServices
      self.question = question
      self.takesMonitors = takesMonitors
      (owned, own) = AsyncStream.makeStream()
    }

    deinit {
      // A connection that stays open is ready for ever when its bus has ended, and keeps the loop of all tests busy.
      nonisolated(unsafe) let bus = bus
      loop.execute { bus?.close() }
    }

    /// Takes the name `org.bluez` on a bus.
    func start(on address: String) async {
      loop.execute { [self] in
        let bus = MessageBus(address: address, on: loop) { [weak self] in self?.received($0) }
        self.bus = bus
        bus.open()
      }
      for await _ in owned { return }
    }

    /// Leaves the bus, as bluetoothd does where it ends.
    func end() async {
      await withCheckedContinuation { continuation in
        loop.execute { [self] in
          bus?.close()
          bus = nil
          continuation.resume()
        }
      }
    }

    /// Notifies values of the characteristic.
    func notify(_ values: [[UInt8]]) {
      loop.execute { [self] in
        for value in values { change(Self.value, Self.characteristic1, ["Value": .bytes(value)]) }
      }
    }

    /// Adds devices, each of which is heard once more.
    func addDevices(_ count: Int) {
      loop.execute { [self] in
        for number in 0..<count {
          let path = "\(Self.adapter)/dev_\(number)"
          add(
            path, Self.device1,
            [
              "Address": .string(DeviceAddress(bits: UInt64(number), kind: .random).description),
              "AddressType": .string("random"), "RSSI": .int16(-60),
            ])
          change(path, Self.device1, ["RSSI": .int16(-61)])
        }
      }
    }

    /// Ends the link, as a device does.
    func disconnectDevice() {
      loop.execute { [self] in
        isConnected = false
        change(Self.device, Self.device1, ["Connected": .boolean(false)])
      }
    }

    // MARK: On the loop

    private func received(_ event: MessageBus.Event) {
      switch event {
      case .opened:
        let call = BusCall(
          "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
          [.string("org.bluez"), .uint32(4)])
        bus?.send(call, BusCallID(rawValue: 1))
      case .reply(let id, let result):
        if let handle = handlers.removeValue(forKey: id) { handle(result) } else { own.yield() }
      case .call(let call): answer(call)
      case .signal, .signalsDelivered, .closed: break
      }
    }

    private func change(_ path: String, _ interface: String, _ values: [String: BusValue]) {
      bus?.emit(
        path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
        [.string(interface), .properties(values), .strings([])])
    }

    private func add(_ path: String, _ interface: String, _ values: [String: BusValue]) {
      bus?.emit(
        "/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
        [.path(path), .interfaces([interface: values])])
    }

    private func answer(_ call: IncomingCall) {
      let arguments = call.arguments
      let written = arguments.first?.bytes.map { " \($0)" } ?? ""
      membersStorage.withLock { $0.append(call.member + written) }
      var result: Result<[BusValue], BusError> = .success([])
      switch call.member {
      case "GetManagedObjects": result = .success([.objects(objects)])
      case "GetAll": result = .success([.properties(Self.monitorManager)])
      case "RegisterMonitor": return registerMonitor(call, arguments.first?.text ?? "")
      case "StopDiscovery":
        // With monitors, it calls for each advertisement that they select.
        if monitor != nil { callMonitor("DeviceFound", [.path(Self.device)]) }
      case "StartDiscovery":
        bus?.answer(call, .success([]))
        return add(
          Self.device, Self.device1,
          [
            "Address": .string("C0:11:22:33:44:55"), "AddressType": .string("random"),
            "Name": .string("Strap"), "RSSI": .int16(-50), "Connected": .boolean(false),
            "UUIDs": .strings(["0000180d-0000-1000-8000-00805f9b34fb"]),
            "ManufacturerData": .numbered([0x4C: .bytes([1, 2])]),
          ])
      case "Connect": connect()
      case "Disconnect":
        isConnected = false
        bus?.answer(call, .success([]))
        return change(Self.device, Self.device1, ["Connected": .boolean(false)])
      case "RegisterApplication" where refusesServices:
        result = .failure(BusError("org.bluez.Error.Failed", "No room"))
      case "RegisterApplication", "RegisterAdvertisement":
        return register(call, arguments.first?.text ?? "")
      case "RegisterAgent":
        agent = arguments.first?.text.map { (call.sender, $0) }
      case "UnregisterAgent": agent = nil
      case "Pair":
        pairing = call
        return askAgent()
      case "ReadValue" where call.path == Self.value:
        change(Self.value, Self.characteristic1, ["Value": .bytes([7])])
        result = .success([.bytes([7])])
      case "WriteValue" where arguments.first?.bytes == [0xFF]:
        result = .failure(
          BusError("org.bluez.Error.Failed", "Operation failed with ATT error: 0x80 (Unknown)"))
      default: break
      }
      bus?.answer(call, result)
    }

    private func askAgent() {
      guard let agent else {
        return agentAnswered(.failure(BusError("org.bluez.Error.AuthenticationFailed", "")))
      }
      func ask(_ member: String, _ arguments: [BusValue] = []) -> BusCall {
        let device: [BusValue] = member == "Cancel" ? [] : [.path(Self.device)]
        return BusCall(
          agent.sender, agent.path, "org.bluez.Agent1", member, device + arguments)
      }
      switch question {
      case .compare(let number):
        send(ask("RequestConfirmation", [.uint32(number)])) { [weak self] in
          self?.agentAnswered($0)
        }
      case .enter(let passkey):
        send(ask("RequestPasskey")) { [weak self] result in
          let isRight = result.map { $0.first?.uint32 == passkey }
          let failure = BusError("org.bluez.Error.AuthenticationFailed", "Authentication Failed")
          self?.agentAnswered(isRight == .success(false) ? .failure(failure) : result, failure)
        }
      case .display(let passkey):
        // Again for each digit that the user types.
        for digits in 0...5 as ClosedRange<UInt16> {
          send(ask("DisplayPasskey", [.uint32(passkey), .uint16(digits)])) { _ in }
        }
        send(ask("DisplayPasskey", [.uint32(passkey), .uint16(6)])) { [weak self] in
          self?.agentAnswered($0)
        }
      case .enterAndCancel:
        send(ask("RequestPasskey")) { _ in }
        send(ask("Cancel")) { [weak self] _ in
          let error = BusError("org.bluez.Error.AuthenticationCanceled", "Authentication Canceled")
          self?.agentAnswered(.failure(error), error)
        }
      }
    }

    private func send(
      _ call: BusCall, _ handle: @escaping (Result<[BusValue], BusError>) -> Void
    ) {
      lastCall += 1
      let id = BusCallID(rawValue: lastCall)
      handlers[id] = handle
      bus?.send(call, id)
    }

    /// Reads the objects of an application or an advertisement, as bluetoothd does, and replies.
    private func register(_ call: IncomingCall, _ path: String) {
      let read = BusCall(
        call.sender, path, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
      send(read) { [weak self] result in
        guard case .success(let values) = result, let objects = values.first?.objects else {
          let error = BusError("org.bluez.Error.Failed", "No object received")
          self?.bus?.answer(call, .failure(error))
          return
        }
        self?.choose(objects, of: call.sender)
        self?.bus?.answer(call, .success([]))
      }
    }

    /// Reads the monitors of a program, and activates them.
    private func registerMonitor(_ call: IncomingCall, _ path: String) {
      let read = BusCall(
        call.sender, path, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
      send(read) { [weak self] result in
        guard case .success(let values) = result,
          let path = values.first?.objects?.first(where: { _, interfaces in
            interfaces[Self.monitor1]?["Type"] == .string("or_patterns")
              && interfaces[Self.monitor1]?["Patterns"] != nil
          })?.key
        else {
          self?.bus?.answer(call, .failure(BusError("org.bluez.Error.Failed", "No monitor")))
          return
        }
        self?.monitor = (call.sender, path)
        self?.bus?.answer(call, .success([]))
        self?.callMonitor("Activate", [])
      }
    }

    private func callMonitor(_ member: String, _ arguments: [BusValue]) {
      guard let monitor else { return }
      send(BusCall(monitor.sender, monitor.path, Self.monitor1, member, arguments)) { _ in }
    }

    /// Sets the handles of services and characteristics.
    private func choose(_ objects: [String: [String: [String: BusValue]]], of sender: String) {
      var handle: UInt16 = 0x20
      for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
        for (interface, values) in interfaces where values["Handle"] != nil {
          let set = BusCall(
            sender, path, "org.freedesktop.DBus.Properties", "Set",
            [.string(interface), .string("Handle"), .variant(.uint16(handle))])
          send(set) { _ in }
          handle += 2
          if interface == Self.characteristic1 { served = (sender, path) }
        }
        if let advertisement = interfaces["org.bluez.LEAdvertisement1"] {
          advertisementStorage.withLock { $0 = advertisement }
        }
      }
    }

    /// Reads the served characteristic for the device, from an offset.
    func readServed(offset: UInt16) async -> Result<[BusValue], BusError> {
      for await result in readServed(count: 1, offset: offset) { return result }
      return .failure(BusError("none", "no reply"))
    }

    /// Reads the served characteristic for the device several times at once; gives the replies as they come.
    func readServed(
      count: Int, offset: UInt16 = 0
    ) -> AsyncStream<Result<[BusValue], BusError>> {
      let (results, result) = AsyncStream.makeStream(of: Result<[BusValue], BusError>.self)
      loop.execute { [self] in
        guard let served else {
          result.yield(.failure(BusError("none", "nothing is served")))
          return result.finish()
        }
        let options: [String: BusValue] = [
          "device": .path(Self.device), "link": .string("LE"), "offset": .uint16(offset),
        ]
        let read = BusCall(
          served.sender, served.path, Self.characteristic1, "ReadValue", [.properties(options)])
        var missing = count
        for _ in 0..<count {
          send(read) {
            result.yield($0)
            missing -= 1
            if missing == 0 { result.finish() }
          }
        }
      }
      return results
    }

    private func agentAnswered(
      _ result: Result<[BusValue], BusError>,
      _ failure: BusError = BusError("org.bluez.Error.AuthenticationRejected", "Rejected")
    ) {
      guard let pairing else { return }
      self.pairing = nil
      bus?.answer(pairing, result.map { _ in [] }.mapError { _ in failure })
    }

    private func connect() {
      isConnected = true
      change(Self.device, Self.device1, ["Connected": .boolean(true)])
      add(
        Self.service, "org.bluez.GattService1",
        ["UUID": .string("0000180d-0000-1000-8000-00805f9b34fb"), "Primary": .boolean(true)])
      add(
        Self.value, Self.characteristic1,
        [
          "UUID": .string(Self.uuid), "Flags": .strings(["read", "write", "notify"]),
          "MTU": .uint16(247),
        ])
      change(Self.device, Self.device1, ["ServicesResolved": .boolean(true)])
    }

    private static let monitorManager: [String: BusValue] = [
      "SupportedMonitorTypes": .strings(["or_patterns"]), "SupportedFeatures": .strings([]),
    ]

    private var objects: [String: [String: [String: BusValue]]] {
      var interfaces: [String: [String: BusValue]] = [
        Self.adapter1: ["Address": .string("00:1A:7D:DA:71:13"), "Powered": .boolean(true)]
      ]
      if takesMonitors {
        interfaces["org.bluez.AdvertisementMonitorManager1"] = Self.monitorManager
      }
      return [Self.adapter: interfaces]
    }
  }
#endif

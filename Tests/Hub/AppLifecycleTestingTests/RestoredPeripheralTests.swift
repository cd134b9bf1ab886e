import AppLifecycleTesting
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// Things that an app does with the peripherals that it gets back, as libraries and published code do.
private enum Habit: String {
  /// It connects each of them again, in any state.
  case connects
  case cancels
  /// It cancels before the manager's state is known.
  case cancelsEarly
  /// It discovers the services of those that are connected, before the manager's state is known, and subscribes again.
  case discovers
  /// It retrieves them by their identifiers in `willRestoreState`, and keeps those objects.
  case retrieves
  /// It sets the manager's delegate after the launch.
  case delegateLate
  /// It sets the peripheral's delegate when the manager's state is known.
  case peripheralDelegateLate
  /// It never sets the peripheral's delegate.
  case noPeripheralDelegate
  /// It makes a second manager with the same identifier.
  case twoManagers
  /// It keeps no reference.
  case forgets
}

/// An app that subscribes to a meter, and is restored with one of the habits.
private final class MeterManager: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Sendable because everything that changes is used on the main queue only.
  private static let options = [CBCentralManagerOptionRestoreIdentifierKey: "meter"]
  static let service = CBUUID(string: "FFD0")
  private let habit: Habit
  private var central: CBCentralManager?
  private var other: CBCentralManager?
  private var peripherals: [CBPeripheral] = []
  private var isRestored = false

  init(_ habit: Habit) {
    self.habit = habit
    super.init()
    central = CBCentralManager(
      delegate: habit == .delegateLate ? nil : self, queue: nil, options: Self.options)
    if habit == .delegateLate { DispatchQueue.main.async { self.central?.delegate = self } }
    guard habit == .twoManagers else { return }
    other = CBCentralManager(delegate: self, queue: nil, options: Self.options)
  }

  private func note(_ text: String, _ central: CBCentralManager?) {
    AppNotes.write((central === other ? "other " : "") + text)
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    isRestored = true
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    note("restored \(restored.map(\.state.rawValue))", central)
    if habit == .cancelsEarly { restored.forEach { central.cancelPeripheralConnection($0) } }
    if habit == .forgets { return }
    peripherals = restored
    if habit == .retrieves {
      peripherals = central.retrievePeripherals(withIdentifiers: restored.map(\.identifier))
      note("the same \(zip(peripherals, restored).map { $0 === $1 })", central)
    }
    guard habit != .peripheralDelegateLate, habit != .noPeripheralDelegate else { return }
    for peripheral in peripherals { peripheral.delegate = self }
    guard habit == .discovers else { return }
    for peripheral in peripherals { peripheral.discoverServices([Self.service]) }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    note("on \(central.state == .poweredOn)", central)
    guard central.state == .poweredOn else { return }
    switch habit {
    case .connects: for peripheral in peripherals { central.connect(peripheral) }
    case .cancels: for peripheral in peripherals { central.cancelPeripheralConnection(peripheral) }
    case .peripheralDelegateLate: for peripheral in peripherals { peripheral.delegate = self }
    default: break
    }
    guard !isRestored, central !== other else { return }
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    peripherals = [peripheral]
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    note("connected", central)
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    note("disconnected", central)
    if error != nil { central.connect(peripheral) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    if isRestored, habit == .discovers { AppNotes.write("services, error \(error != nil)") }
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? []
    where !characteristic.isNotifying || habit == .discovers {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { AppNotes.write("subscribed") }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { AppNotes.write("value \(characteristic.value?.first ?? 0)") }
}

extension SimulatedApp {
  // A process finds its code only if that uses nothing of the test, so that each habit has a closure of its own.
  private static func meter(
    _ launch: @escaping @MainActor @Sendable (SimulatedLaunch) -> AnyObject
  ) -> SimulatedApp {
    SimulatedApp(
      "com.example.meter", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]], launch: launch)
  }
  fileprivate static let connects = meter { _ in MeterManager(.connects) }
  fileprivate static let cancels = meter { _ in MeterManager(.cancels) }
  fileprivate static let cancelsEarly = meter { _ in MeterManager(.cancelsEarly) }
  fileprivate static let discovers = meter { _ in MeterManager(.discovers) }
  fileprivate static let retrieves = meter { _ in MeterManager(.retrieves) }
  fileprivate static let delegateLate = meter { _ in MeterManager(.delegateLate) }
  fileprivate static let peripheralDelegateLate = meter { _ in
    MeterManager(.peripheralDelegateLate)
  }
  fileprivate static let noPeripheralDelegate = meter { _ in MeterManager(.noPeripheralDelegate) }
  fileprivate static let twoManagers = meter { _ in MeterManager(.twoManagers) }
  fileprivate static let forgets = meter { _ in MeterManager(.forgets) }
}

/// Libraries differ in what they do with restored peripherals; developers report each of these habits as a
/// cause of restoration that doesn't work.
@Suite(.serialized)
struct RestoredPeripheralTests {
  /// A phone whose app has subscribed to a meter.
  private final class Story {
    let phone: SimulatedPhone
    let app: InstalledApp
    private let meter: SimulatedDevice
    private let value: SimulatedCharacteristic

    init(_ phone: SimulatedPhone, _ installed: SimulatedApp) throws {
      self.phone = phone
      app = phone[installed]
      var value: SimulatedCharacteristic?
      meter = phone.addDevice(named: "Meter") { device in
        value = device.addService(0xFFD0).addCharacteristic(0xFFD1, [.notify])
      }
      self.value = try #require(value)
      app.open()
      try phone.until("subscribed", limit: .seconds(20)) { notes.contains("subscribed") }
      app.sendToBackground()
      phone.advance(by: .seconds(20))
      #expect(app.state == .suspended)
    }

    var isConnected: Bool { phone.radio.withWorld { _ in !meter.centrals.isEmpty } }

    /// What the last process of the app has noted.
    var notes: [String] {
      app.output.filter { $0.launchNumber == app.launches.count }.map(\.line)
    }

    func send(_ numbers: UInt8...) {
      for number in numbers { phone.radio.withWorld { _ in value.notify([number]) } }
      phone.advance(by: .minutes(1))
    }

    /// The meter leaves, and the system ends the app.
    func leave() {
      move(to: 100_000)
      app.terminate(.memoryPressure)
      #expect(app.pendingConnectionCount == 1)
    }

    func comeBack() { move(to: 1) }

    private func move(to x: Double) {
      phone.radio.withWorld { _ in meter.controller.position = Position(x: x, y: 0) }
      phone.advance(by: .minutes(1))
    }
  }

  private static func run(
    _ app: SimulatedApp, _ body: @Sendable (Story) throws -> Void
  ) async throws {
    try await SimulatedPhone.run(seed: 91, apps: [app]) { try body(Story($0, app)) }
  }

  private static let connecting = CBPeripheralState.connecting.rawValue
  private static let connected = CBPeripheralState.connected.rawValue

  @Test func `An app that connects a restored peripheral again gets its connection once`()
    async throws
  {
    try await Self.run(.connects) { story in
      story.leave()
      story.comeBack()
      #expect(story.app.launches.count == 2)
      #expect(
        story.notes == ["restored [\(Self.connecting)]", "on true", "connected", "subscribed"])
      // Of a peripheral that is connected, the request is answered.
      story.app.terminate(.memoryPressure)
      story.send(7)
      #expect(story.app.launches.count == 3)
      #expect(story.notes.prefix(2) == ["restored [\(Self.connected)]", "on true"])
      #expect(story.notes.dropFirst(2).sorted() == ["connected", "value 7"])
      #expect(story.app.state == .suspended && story.isConnected)
    }
  }

  @Test func `An app that cancels a restored connection is not launched for it again`()
    async throws
  {
    try await Self.run(.cancels) { story in
      story.leave()
      story.app.open()
      story.phone.advance(by: .seconds(5))
      #expect(story.notes == ["restored [\(Self.connecting)]", "on true", "disconnected"])
      #expect(story.app.pendingConnectionCount == 0)
      story.app.sendToBackground()
      story.phone.advance(by: .minutes(1))
      story.app.terminate(.memoryPressure)
      story.comeBack()
      story.phone.advance(by: .days(1))
      #expect(story.app.launches.count == 2 && !story.isConnected)
    }
  }

  @Test func `A cancellation before the state is known is misuse, and the connection goes on`()
    async throws
  {
    try await Self.run(.cancelsEarly) { story in
      story.leave()
      story.comeBack()
      #expect(story.app.launches.count == 2)
      let text = "API MISUSE: CBCentralManager takes cancelPeripheralConnection"
      #expect(story.notes.contains { $0.contains(text) })
      #expect(story.notes.suffix(2) == ["connected", "subscribed"])
      #expect(story.isConnected)
    }
  }

  @Test func `An app may discover and subscribe again, and gets each value once`()
    async throws
  {
    try await Self.run(.discovers) { story in
      story.app.terminate(.memoryPressure)
      story.send(1, 2)
      #expect(story.notes.prefix(2) == ["restored [\(Self.connected)]", "on true"])
      #expect(
        story.notes.dropFirst(2).sorted()
          == ["services, error false", "subscribed", "value 1", "value 2"])
      story.send(3)
      #expect(story.notes.count { $0 == "value 3" } == 1 && story.app.launches.count == 2)
    }
  }

  @Test func `A restored peripheral is the object that its identifier retrieves`() async throws {
    try await Self.run(.retrieves) { story in
      story.app.terminate(.memoryPressure)
      story.send(1, 2)
      #expect(
        story.notes
          == ["restored [\(Self.connected)]", "the same [true]", "on true", "value 1", "value 2"])
    }
  }

  @Test func `A restored state and its values wait for a delegate that is set late`() async throws {
    try await Self.run(.delegateLate) { story in
      story.app.terminate(.memoryPressure)
      story.send(1, 2)
      #expect(
        story.notes == ["restored [\(Self.connected)]", "on true", "value 1", "value 2"])
      #expect(story.app.unhandledEventCount == 0)
    }
  }

  @Test func `A value comes after the state in which an app sets the peripheral's delegate`()
    async throws
  {
    try await Self.run(.peripheralDelegateLate) { story in
      story.app.terminate(.memoryPressure)
      story.send(1, 2)
      #expect(
        story.notes == ["restored [\(Self.connected)]", "on true", "value 1", "value 2"])
    }
  }

  @Test
  func `Values of a restored peripheral without a delegate are handled, and it stays connected`()
    async throws
  {
    try await Self.run(.noPeripheralDelegate) { story in
      story.app.terminate(.memoryPressure)
      story.send(1, 2)
      #expect(story.notes == ["restored [\(Self.connected)]", "on true"])
      #expect(story.app.state == .suspended)
      #expect(story.app.unhandledEventCount == 0 && story.app.waitingEventCount == 0)
      #expect(story.isConnected)
    }
  }

  @Test func `Of two managers with one identifier, the first is restored, and the other one works`()
    async throws
  {
    try await Self.run(.twoManagers) { story in
      story.app.terminate(.memoryPressure)
      story.send(1)
      #expect(story.app.launches.count == 2)
      let own = story.notes.filter { !$0.contains("API MISUSE") }
      #expect(own.count { $0 == "other on true" } == 1)
      #expect(
        own.filter { !$0.hasPrefix("other") }
          == ["restored [\(Self.connected)]", "on true", "value 1"])
      #expect(story.notes.contains { $0.contains("is that of another manager which is open") })
      #expect(story.app.state == .suspended && story.isConnected)
    }
  }

  @Test
  func `A restored connection ends if the app keeps no reference, and the log has the reason`()
    async throws
  {
    try await Self.run(.forgets) { story in
      story.app.terminate(.memoryPressure)
      story.send(1)
      #expect(story.notes.prefix(2) == ["restored [\(Self.connected)]", "on true"])
      #expect(story.notes.contains { $0.contains("keep a reference to it") })
      #expect(!story.isConnected && story.app.connectionCount == 0)
      #expect(story.app.state == .suspended)
    }
  }
}

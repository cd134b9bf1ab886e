import AppLifecycleTesting
import BluetoothHost
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

/// An app that serves a value, which it supplies for each read.
private final class ServerManager: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager?
  private var isRestored = false

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: nil,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "server"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    isRestored = services?.isEmpty == false
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn, !isRestored else { return }
    let service = CBMutableService(type: CBUUID(string: "FFD0"), primary: true)
    service.characteristics = [
      CBMutableCharacteristic(
        type: CBUUID(string: "FFD1"), properties: .read, value: nil, permissions: .readable)
    ]
    peripheral.add(service)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Server",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFD0")],
    ])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    request.value = Data([42])
    peripheral.respond(to: request, withResult: .success)
  }
}

/// A central near the phone.
private final class TestCentral: Sendable {
  private struct State {
    var report: AdvertisingReport?
    var reportCount = 0
    var isConnected = false
    var results: [RequestToken: Result<HostReply, HostError>] = [:]
    var lastToken: UInt64 = 0
  }

  private let state: Mutex<State>
  private let client: HostClient
  private let phone: SimulatedPhone

  init(near phone: SimulatedPhone) {
    self.phone = phone
    let seen = SeenEvents()
    client = phone.radio.makeHost(name: "central", at: Position(x: 2, y: 0)).makeClient {
      seen.append($0)
    }
    self.seen = seen
    state = Mutex(State())
  }

  private let seen: SeenEvents

  private final class SeenEvents: Sendable {
    private let events = Mutex<[HostEvent]>([])
    var all: [HostEvent] { events.withLock { $0 } }
    func append(_ event: HostEvent) { events.withLock { $0.append(event) } }
  }

  var reports: [AdvertisingReport] {
    seen.all.compactMap { if case .discovered(let report) = $0 { report } else { nil } }
  }

  func scan(for span: TimeSpan, services: [BluetoothUUID] = []) -> [AdvertisingReport] {
    let before = reports.count
    var options = ScanOptions()
    options.services = services
    options.allowsDuplicates = true
    client.send(.startScan(options))
    phone.advance(by: span)
    client.send(.stopScan)
    phone.advance(by: .milliseconds(1))
    return Array(reports.dropFirst(before))
  }

  /// Connects to the phone.
  func connect(to peer: DeviceAddress) throws {
    client.send(.connect(peer, ConnectOptions()))
    try phone.until("a link", limit: .seconds(30)) { seen.all.contains(.connected(peer)) }
  }

  /// Reads the value of the app's characteristic; nil without an answer.
  func read(from peer: DeviceAddress, within limit: TimeSpan) -> Result<HostReply, HostError>? {
    let token = state.withLock { state in
      state.lastToken += 1
      return RequestToken(rawValue: state.lastToken)
    }
    client.send(.gatt(peer, .readByUUID(0xFFD1, in: .all), token))
    func answer() -> Result<HostReply, HostError>? {
      for case .completed(token, let result) in seen.all { return result }
      return nil
    }
    phone.radio.advance(within: limit) { answer() != nil }
    return answer()
  }
}

@Suite(.serialized)
struct ServerTests {
  private static let modes = ["UIBackgroundModes": ["bluetooth-peripheral"]]
  private static let server = SimulatedApp("com.example.server", infoPlist: modes) { _ in
    ServerManager()
  }
  private static let foregroundServer = SimulatedApp("com.example.server") { _ in ServerManager() }

  @Test(arguments: isolations)
  func `A read wakes a suspended app and launches one that doesn't run`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 31, apps: [Self.server], isolation: isolation) { phone in
      let app = phone[Self.server]
      app.open()
      let central = TestCentral(near: phone)
      phone.advance(by: .seconds(1))
      let peer = try #require(central.scan(for: .seconds(1)).first?.address)
      try central.connect(to: peer)
      #expect(central.read(from: peer, within: .seconds(1))?.value == [42])

      app.sendToBackground()
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)
      #expect(central.read(from: peer, within: .seconds(1))?.value == [42])
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)

      app.terminate(.memoryPressure)
      #expect(app.state == .notRunning)
      #expect(central.read(from: peer, within: .seconds(1))?.value == [42])
      #expect(app.launches.count == 2)
      #expect(app.launches.last?.bluetoothPeripherals == ["server"])
      #expect(app.callbackNames.first == "willRestoreState")

      app.forceQuit()
      let refused = central.read(from: peer, within: .seconds(1))
      #expect(refused != nil)
      #expect(refused?.value == nil)
      #expect(app.launches.count == 2)
    }
  }

  @Test(arguments: isolations)
  func `A central gets an error at once from a suspended app without the mode`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 32, apps: [Self.foregroundServer], isolation: isolation) {
      phone in
      let app = phone[Self.foregroundServer]
      app.open()
      let central = TestCentral(near: phone)
      phone.advance(by: .seconds(1))
      let peer = try #require(central.scan(for: .seconds(1)).first?.address)
      try central.connect(to: peer)
      #expect(central.read(from: peer, within: .seconds(1))?.value == [42])
      app.sendToBackground()
      phone.advance(by: .seconds(1))
      #expect(!app.isAdvertising)
      let answer = central.read(from: peer, within: .milliseconds(200))
      #expect(answer != nil)
      #expect(answer?.value == nil)
      #expect(app.state == .suspended)
      app.open()
      #expect(central.read(from: peer, within: .seconds(1))?.value == [42])
    }
  }

  @Test(arguments: isolations)
  func `Advertising in the background has no name and no lists of services and is slower`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    try await SimulatedPhone.run(seed: 33, apps: [Self.server], isolation: isolation) { phone in
      let app = phone[Self.server]
      app.open()
      let central = TestCentral(near: phone)
      phone.advance(by: .seconds(1))
      let inForeground = central.scan(for: .seconds(10))
      app.sendToBackground()
      phone.advance(by: .seconds(1))
      #expect(app.isAdvertising)
      let inBackground = central.scan(for: .seconds(10))
      #expect(inForeground.contains { Self.contains("Server", $0) })
      #expect(!inBackground.contains { Self.contains("Server", $0) })
      #expect(!inBackground.isEmpty)
      // Flags and the overflow area.
      #expect(inBackground.allSatisfy { $0.data.count == 22 && $0.scanResponse.isEmpty })
      #expect(!central.scan(for: .seconds(10), services: [0xFFD0]).isEmpty)
      #expect(central.scan(for: .seconds(10), services: [0xFFD1]).isEmpty)
      #expect(inBackground.count * 4 < inForeground.count)
      app.open()
      phone.advance(by: .seconds(1))
      #expect(central.scan(for: .seconds(2)).contains { Self.contains("Server", $0) })
    }
  }

  private static func contains(_ text: String, _ report: AdvertisingReport) -> Bool {
    String(decoding: report.data + report.scanResponse, as: UTF8.self).contains(text)
  }
}

extension Result<HostReply, HostError> {
  /// The first value that was read.
  fileprivate var value: [UInt8]? {
    if case .success(.values(let values)) = self { values.first?.value } else { nil }
  }
}

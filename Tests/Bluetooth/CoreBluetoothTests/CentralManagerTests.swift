import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import CoreBluetooth

/// A central manager with a scripted host.
struct CentralFixture {
  let host = ScriptedHost()
  let recorder = CentralRecorder()
  let queue = DispatchQueue(label: "test")
  let manager: CBCentralManager
  var record: Record { recorder.record }

  init(poweredOn: Bool = true) {
    manager = CBCentralManager(delegate: recorder, queue: queue, host: host)
    if poweredOn {
      host.deliver(.stateChanged(.poweredOn))
      record.clear()
    }
  }

  func report(_ data: [UInt8] = [3, 3, 0x0D, 0x18], rssi: Int8 = -50) -> HostEvent {
    .discovered(
      AdvertisingReport(
        address: .strap, isConnectable: true, isScannable: true, isLegacy: true, rssi: rssi,
        data: data[...], heardAt: .zero))
  }

  /// A connected peripheral that has the recorder as its delegate.
  func connected(mtu: Int = 185) throws -> CBPeripheral {
    let peripheral = try #require(manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    peripheral.delegate = recorder
    manager.connect(peripheral)
    var link = LinkInfo(peer: .strap, role: .central)
    link.mtu = mtu
    host.deliver(.linkOpened(link), .connected(.strap))
    record.clear()
    return peripheral
  }

  var requestNames: [String] { host.requests.map(\.name) }
}

@Suite("CBCentralManager")
struct CentralManagerTests {
  @Test("the first state comes later and on the queue")
  func firstState() {
    let fixture = CentralFixture(poweredOn: false)
    #expect(fixture.manager.state == .unknown)
    #expect(fixture.record.lines.isEmpty)
    fixture.host.deliver(.stateChanged(.unknown), .stateChanged(.resetting))
    #expect(fixture.manager.state == .unknown)
    #expect(fixture.record.lines.isEmpty)
    fixture.host.deliver(.stateChanged(.poweredOn))
    #expect(fixture.record.take() == ["state poweredOn"])
    #expect(fixture.manager.state == .poweredOn)
    fixture.host.deliver(.stateChanged(.resetting), .stateChanged(.poweredOn))
    #expect(fixture.record.lines == ["state resetting", "state poweredOn"])
  }

  @Test("a connection that completes after its end was delivered is disconnected")
  func connectedTooLate() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    fixture.manager.connect(peripheral)
    let lost = HostError.disconnected(HCIStatus(rawValue: 0x08))
    fixture.host.deliver(.disconnected(.strap, lost, reconnecting: false))
    #expect(fixture.record.take() == ["disconnected connectionTimeout"])
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.lines.isEmpty)
    #expect(fixture.requestNames.last == "disconnect")
    #expect(peripheral.state == .disconnected)
  }

  @Test("a thread that waits on the manager's own queue sees the events handled")
  func settledOnQueue() {
    let fixture = CentralFixture(poweredOn: false)
    fixture.queue.sync { fixture.host.deliver(.stateChanged(.poweredOn)) }
    #expect(fixture.record.lines == ["state poweredOn"])
  }

  @Test("an app that answers the first state while its manager is still being made is heard")
  func earlyRequest() {
    final class Eager: NSObject, CBCentralManagerDelegate, Sendable {
      func centralManagerDidUpdateState(_ central: CBCentralManager) {
        central.scanForPeripherals(withServices: nil)
      }
    }
    // As a host that is on already does, on a thread that is faster than this one.
    let host = ScriptedHost(onOpen: { $0.deliver(.stateChanged(.poweredOn)) })
    let delegate = Eager()
    let manager = CBCentralManager(
      delegate: delegate, queue: DispatchQueue(label: "test"), host: host)
    withExtendedLifetime((manager, delegate)) {
      #expect(host.requests.map(\.name) == ["startScan"])
    }
  }

  @Test("a peripheral that a scan found is kept until it is connected, or the scan or manager ends")
  func keptPeripherals() throws {
    weak var found: CBPeripheral?
    do {
      let fixture = CentralFixture()
      fixture.recorder.keepsPeripherals = false
      let find = {
        fixture.host.deliver(fixture.report())
        found = fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first
      }
      fixture.manager.scanForPeripherals(withServices: nil)
      find()
      #expect(found != nil)
      fixture.manager.stopScan()
      #expect(found == nil)
      fixture.manager.scanForPeripherals(withServices: nil)
      find()
      fixture.manager.connect(try #require(found))
      #expect(found == nil, "its last reference is the app's")
      fixture.host.settle()
      #expect(fixture.requestNames.last == "disconnect")
      find()
      #expect(found != nil)
    }
    #expect(found == nil)
  }

  /// Counts the peripherals that somebody else keeps.
  private final class Onlooker: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    // Unchecked: changed on the delegate queue and read after it has settled.
    private struct Found {
      weak var peripheral: CBPeripheral?
    }
    private var found: [Found] = []

    var foundCount: Int { found.count }
    var keptCount: Int { found.count { $0.peripheral != nil } }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
      advertisementData: [String: Any], rssi RSSI: NSNumber
    ) { found.append(Found(peripheral: peripheral)) }
  }

  @Test("a scan keeps a limited number of the peripherals that it finds")
  func keptPeripheralCount() {
    let host = ScriptedHost()
    let onlooker = Onlooker()
    let manager = CBCentralManager(
      delegate: onlooker, queue: DispatchQueue(label: "test"), host: host)
    host.deliver(.stateChanged(.poweredOn))
    manager.scanForPeripherals(withServices: nil)
    let most = Limits.advertisementsMax
    for number in 0..<UInt64(most + 50) {
      host.post(
        .discovered(
          AdvertisingReport(
            address: DeviceAddress(bits: 0xC000_0000_0000 + number, kind: .random),
            isConnectable: true, isScannable: true, isLegacy: true, rssi: -50, data: [],
            heardAt: .zero)))
    }
    host.settle()
    #expect(onlooker.foundCount == most + 50)
    #expect(onlooker.keptCount == most)
    withExtendedLifetime(manager) {}
  }

  @Test("commands before poweredOn have no effect")
  func notReady() throws {
    let fixture = CentralFixture(poweredOn: false)
    fixture.host.deliver(.stateChanged(.poweredOff))
    fixture.manager.scanForPeripherals(withServices: nil)
    let peripheral = try #require(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    fixture.manager.connect(peripheral)
    peripheral.discoverServices(nil)
    #expect(fixture.host.requests.isEmpty)
    #expect(!fixture.manager.isScanning)
    #expect(peripheral.state == .disconnected)
  }

  @Test("a scan passes its filter and options on, and reports until it is stopped")
  func scan() throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: [CBUUID(string: "180D")],
      options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    #expect(fixture.manager.isScanning)
    guard case .startScan(let options) = fixture.host.requests.last else {
      Issue.record("no scan")
      return
    }
    #expect(options.services == [0x180D])
    #expect(options.allowsDuplicates)
    fixture.host.deliver(fixture.report([5, 9, 0x48, 0x52, 0x4D, 0x21], rssi: -70))
    #expect(fixture.record.take() == ["discovered HRM! -70"])
    let first = fixture.recorder.peripherals.first
    fixture.host.deliver(fixture.report())
    #expect(fixture.recorder.peripherals.count == 1, "one object per peripheral")
    #expect(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first === first)
    fixture.manager.stopScan()
    fixture.record.clear()
    fixture.host.deliver(fixture.report())
    #expect(fixture.record.lines.isEmpty)
  }

  @Test("connecting, cancelling and disconnecting go through Apple's states")
  func connect() throws {
    let fixture = CentralFixture()
    let peripheral = try #require(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    fixture.manager.connect(peripheral)
    #expect(peripheral.state == .connecting)
    fixture.host.deliver(
      .linkOpened(LinkInfo(peer: .strap, role: .central)), .connected(.strap))
    #expect(peripheral.state == .connected)
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(peripheral.state == .disconnecting)
    fixture.host.deliver(.disconnected(.strap, nil, reconnecting: false))
    #expect(peripheral.state == .disconnected)
    #expect(fixture.record.take() == ["connected", "disconnected ok"])
    #expect(fixture.requestNames == ["connect", "disconnect"])

    fixture.manager.connect(peripheral)
    fixture.host.deliver(.connectionFailed(.strap, .connectionFailed(HCIStatus(rawValue: 0x3E))))
    #expect(peripheral.state == .disconnected)
    #expect(fixture.record.take() == ["failed connectionFailed"])
  }

  @Test("a lost link has an error, and no call of the peripheral's delegate follows")
  func linkLoss() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    fixture.host.deliver(
      .disconnected(.strap, .disconnected(HCIStatus(rawValue: 0x08)), reconnecting: false))
    fixture.host.answer(at: 0, .failure(.notConnected))
    fixture.host.answer(at: 1, .failure(.notConnected))
    fixture.host.deliver(.valueUpdated(.strap, handle: 3, [1]))
    #expect(fixture.record.lines == ["disconnected connectionTimeout"])
  }

  @Test("automatic reconnection is reported and leads to another connection")
  func reconnect() throws {
    let fixture = CentralFixture()
    let peripheral = try #require(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    fixture.manager.connect(
      peripheral,
      options: [
        CBConnectPeripheralOptionEnableAutoReconnect: true,
        CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 1.5),
      ])
    guard case .connect(_, let options) = fixture.host.requests.last else {
      Issue.record("no connect")
      return
    }
    #expect(options.reconnectsAutomatically)
    #expect(options.startDelay == .milliseconds(1_500))
    fixture.host.deliver(
      .connected(.strap),
      .disconnected(.strap, .disconnected(HCIStatus(rawValue: 0x08)), reconnecting: true))
    #expect(peripheral.state == .connecting)
    fixture.host.deliver(.connected(.strap))
    #expect(peripheral.state == .connected)
    #expect(fixture.record.lines == ["connected", "disconnected connectionTimeout", "connected"])
  }

  @Test(
    "a delay is waited for as far as it makes sense",
    arguments: [(0.25, 250), (-1, 0), (1e9, 86_400_000), (.nan, 0)] as [(Double, Int64)])
  func startDelay(_ seconds: Double, _ milliseconds: Int64) throws {
    let fixture = CentralFixture()
    let peripheral = try #require(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    fixture.manager.connect(
      peripheral, options: [CBConnectPeripheralOptionStartDelayKey: NSNumber(value: seconds)])
    guard case .connect(_, let options) = fixture.host.requests.last else {
      Issue.record("no connect")
      return
    }
    #expect(options.startDelay == .milliseconds(milliseconds))
  }

  @Test("options that only a phone supports are ignored, or refused if required")
  func optionsOfPhones() throws {
    let fixture = CentralFixture()
    let peripheral = try #require(
      fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    let before = fixture.host.requests.count
    fixture.manager.connect(peripheral, options: [CBConnectPeripheralOptionRequiresANCS: true])
    fixture.host.deliver()
    #expect(fixture.host.requests.count == before && peripheral.state == .disconnected)
    #expect(fixture.record.lines == ["failed operationNotSupported"])
    fixture.record.clear()
    fixture.manager.connect(
      peripheral,
      options: [
        CBConnectPeripheralOptionRequiresANCS: false,
        CBConnectPeripheralOptionEnableTransportBridgingKey: true,
      ])
    guard case .connect(_, ConnectOptions()) = fixture.host.requests.last else {
      Issue.record("no plain connect")
      return
    }
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.lines == ["connected"] && !peripheral.ancsAuthorized)
  }

  @Test("a link that the host made while the radio was off and on again is not the app's")
  func staleConnection() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    fixture.host.completesBarriers = false
    fixture.host.deliver(.stateChanged(.poweredOff), .stateChanged(.poweredOn))
    fixture.record.clear()
    fixture.manager.connect(peripheral)
    // All of these were under way when the app's connect was: only the last is the answer to it.
    fixture.host.deliver(.connected(.strap))
    fixture.host.deliver(
      .disconnected(.strap, .disconnected(HCIStatus(rawValue: 0x08)), reconnecting: true),
      .connectionFailed(.strap, .radioNotReady))
    #expect(peripheral.state == .connecting)
    fixture.host.completeBarriers()
    fixture.host.deliver(.disconnected(.strap, nil, reconnecting: false), .connected(.strap))
    #expect(peripheral.state == .connected)
    #expect(fixture.record.lines == ["connected"])
  }

  @Test("connecting again while a link goes down connects afterwards")
  func connectWhileDisconnecting() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.manager.connect(peripheral)
    fixture.host.deliver(.disconnected(.strap, nil, reconnecting: false))
    #expect(peripheral.state == .connecting)
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.lines == ["disconnected ok", "connected"])
  }

  @Test("letting go of a peripheral cancels its connection")
  func dropped() throws {
    let fixture = CentralFixture()
    do {
      let peripheral = try #require(
        fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
      fixture.manager.connect(peripheral)
    }
    fixture.host.settle()
    #expect(fixture.requestNames == ["connect", "disconnect"])
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.lines.isEmpty)
  }

  @Test("a radio that goes off ends scans and connections")
  func powerOff() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.host.deliver(.stateChanged(.poweredOff))
    #expect(!fixture.manager.isScanning)
    #expect(peripheral.state == .disconnected)
    #expect(fixture.record.lines == ["state poweredOff", "disconnected peripheralDisconnected"])
    fixture.host.deliver(.disconnected(.strap, .radioNotReady, reconnecting: false))
    #expect(fixture.record.lines.count == 2)
  }

  @Test("peripherals that others connected are found by service, and their links are reported")
  func connectedByOthers() throws {
    let fixture = CentralFixture()
    fixture.manager.registerForConnectionEvents(
      options: [.serviceUUIDs: [CBUUID(string: "180D")]])
    var link = LinkInfo(peer: .strap, role: .central)
    fixture.host.deliver(.linkOpened(link))
    #expect(fixture.record.lines.isEmpty)
    link.services = [0x180D]
    fixture.host.deliver(.linkUpdated(link), .linkUpdated(link))
    #expect(fixture.record.take() == ["peerConnected"])
    let heartRate = [CBUUID(string: "180D")]
    let found = fixture.manager.retrieveConnectedPeripherals(withServices: heartRate)
    #expect(found.map(\.identifier) == [.strap])
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: []).isEmpty)
    fixture.host.deliver(.linkClosed(.strap, .disconnected(HCIStatus(rawValue: 0x13))))
    #expect(fixture.record.take() == ["peerDisconnected"])
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: heartRate).isEmpty)
  }

  @Test("a manager that goes closes its client")
  func closes() {
    let host = ScriptedHost()
    do {
      let manager = CBCentralManager(
        delegate: nil, queue: DispatchQueue(label: "test"), host: host)
      manager.delegate = nil
    }
    #expect(host.isClosed)
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import InfoPlists
import Testing

@testable import CoreBluetooth

/// Records the calls of a restored central manager, and keeps its peripherals.
private final class RestoredApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate queue and read after it has settled.
  let record = Record()
  var state: [String: Any] = [:]
  var peripherals: [CBPeripheral] = []
  var keepsPeripherals = true
  /// Called in `willRestoreState`.
  var onRestore: (() -> Void)?
  /// Called when the radio is on.
  var onPower: ((CBCentralManager) -> Void)?

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    let states = restored.map { "\($0.name ?? "?") \($0.state)" }
    record.add("restored \(central.state): \(states.joined(separator: ", "))")
    guard keepsPeripherals else { return }
    state = dict
    peripherals = restored
    for peripheral in restored { peripheral.delegate = self }
    onRestore?()
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    record.add("\(central.state)")
    if central.state == .poweredOn { onPower?(central) }
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    record.add("connected")
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) { record.add("disconnected \(text(error))\(isReconnecting ? ", reconnecting" : "")") }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { record.add("value \(characteristic.value.map { Array($0) } ?? [])") }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidated: [CBService]) {
    record.add("modified \(invalidated.map(\.uuid.uuidString))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) { record.add("characteristics \(text(error))") }
}

@Suite("A restored central manager")
struct CentralRestorationTests {
  private let keeping = KeepingHost()
  private let app = RestoredApp()
  private var record: Record { app.record }

  private static let lost = HostError.disconnected(HCIStatus(rawValue: 0x08))
  private static let unplugged = HostError.transport("unplugged")

  private func makeManager(
    _ delegate: (any CBCentralManagerDelegate)? = nil, on host: KeepingHost? = nil
  ) -> CBCentralManager {
    CBCentralManager(
      delegate: delegate ?? app, queue: DispatchQueue(label: "test"), host: host ?? keeping,
      restoreIdentifier: "lock")
  }

  private func link() -> HostEvent {
    var link = LinkInfo(peer: .strap, role: .central)
    link.name = "Strap"
    link.mtu = 185
    return .linkOpened(link)
  }

  private func restore(_ holdings: SessionHoldings = .strap(), _ events: HostEvent...) {
    keeping.attach(holdings)
    for event in [link(), .stateChanged(.poweredOn)] + events { keeping.host.post(event) }
    keeping.host.settle()
  }

  @Test("a session with a restore identifier is kept, and no other")
  func keptSession() {
    let manager = makeManager()
    #expect(keeping.host.name == "central:lock" && keeping.keptFor == Limits.keptTime)
    let nameless = CBCentralManager(
      delegate: app, queue: DispatchQueue(label: "test"), host: keeping)
    #expect(keeping.host.name == "" && keeping.keptFor == nil)
    withExtendedLifetime((manager, nameless)) {}
  }

  @Test(
    "a program without the background mode has no session that is kept", arguments: [true, false])
  func backgroundModes(hasMode: Bool) {
    let host = KeepingHost(backgroundModes: hasMode ? ["bluetooth-central"] : ["audio"])
    let manager = makeManager(on: host)
    #expect((host.keptFor != nil) == hasMode)
    withExtendedLifetime(manager) {}
  }

  @Test("the state is restored before all else, and what came meanwhile follows in order, once")
  func order() {
    let manager = makeManager()
    restore(
      .strap(), .valueUpdated(.strap, handle: 12, [1]), .valueUpdated(.strap, handle: 12, [2]),
      .connected(.phone))
    #expect(
      record.lines == [
        "restored unknown: Strap connected, Phone connecting", "poweredOn", "value [1]",
        "value [2]", "connected",
      ])
    #expect(app.peripherals.map(\.state) == [.connected, .connected])
    #expect(app.peripherals.map(\.identifier) == [.strap, PeerIdentifier.uuid(of: .phone)])
    // A host that is there anew is asked for nothing.
    #expect(keeping.host.requests.isEmpty)
    withExtendedLifetime(manager) {}
  }

  @Test("a connection that is requested again while its report is on its way is reported once")
  func requestedAgain() {
    let manager = makeManager()
    app.onPower = { [app] central in central.connect(app.peripherals[1]) }
    // The second report answers the request.
    restore(.strap(), .connected(.phone), .connected(.phone))
    let reports = ["restored unknown: Strap connected, Phone connecting", "poweredOn", "connected"]
    #expect(record.lines == reports)
    // A request for a connection that is established is answered.
    for peripheral in app.peripherals {
      manager.connect(peripheral)
      keeping.host.deliver(.connected(peripheral.address))
    }
    #expect(record.lines == reports + ["connected", "connected"])
    // And after an end, each connection is reported again.
    keeping.host.deliver(.disconnected(.phone, Self.lost, reconnecting: false))
    manager.connect(app.peripherals[1])
    keeping.host.deliver(.connected(.phone))
    #expect(record.lines.suffix(2).last == "connected" && record.lines.count == 7)
    withExtendedLifetime(manager) {}
  }

  @Test("the state is restored before values also where the radio's state is known already")
  func knownState() {
    let manager = makeManager()
    keeping.host.deliver(.stateChanged(.poweredOn))
    keeping.attach(.strap())
    keeping.host.deliver(link())
    #expect(record.lines == ["poweredOn"])
    keeping.host.deliver(.valueUpdated(.strap, handle: 12, [1]))
    #expect(
      record.lines == [
        "poweredOn", "restored poweredOn: Strap connected, Phone connecting", "value [1]",
      ])
    withExtendedLifetime(manager) {}
  }

  @Test("restored peripherals have the attributes that were discovered, and the subscriptions")
  func attributes() throws {
    let manager = makeManager()
    restore()
    let strap = try #require(app.peripherals.first)
    #expect(strap.services?.map(\.uuid.uuidString) == ["180D"])
    #expect(strap.maximumWriteValueLength(for: .withoutResponse) == 182)
    let service = try #require(strap.services?.first)
    #expect(service.includedServices?.map(\.uuid.uuidString) == ["180F"])
    #expect(service.includedServices?.first?.characteristics == nil)
    let characteristics = try #require(service.characteristics)
    #expect(characteristics.map(\.uuid.uuidString) == ["2A37", "2A38"])
    #expect(characteristics.map(\.isNotifying) == [true, false])
    #expect(characteristics.map { $0.descriptors?.map(\.uuid.uuidString) } == [["2902"], nil])
    #expect(characteristics.map(\.properties) == [.notify, .read])
    // They are usable at once.
    strap.readValue(for: characteristics[1])
    #expect(keeping.host.requests.last?.operation == .read(15))
    #expect(app.peripherals.last?.services == nil)
    withExtendedLifetime(manager) {}
  }

  @Test("a restored scan goes on, with its services and options in the dictionary")
  func scan() {
    var holdings = SessionHoldings()
    var scan = ScanOptions()
    scan.services = [0x180D]
    scan.solicitedServices = [0x180F]
    scan.allowsDuplicates = true
    holdings.scan = scan
    let manager = makeManager()
    restore(holdings)
    #expect(manager.isScanning)
    let services = app.state[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    #expect(services == [CBUUID(string: "180D")])
    let options = app.state[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
    #expect(options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool == true)
    let solicited = options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID]
    #expect(solicited == [CBUUID(string: "180F")])
    #expect(app.state[CBCentralManagerRestoredStatePeripheralsKey] == nil)
  }

  @Test("a manager for which nothing was kept restores nothing")
  func nothing() {
    let manager = makeManager()
    keeping.attach(nil)
    keeping.host.deliver(.stateChanged(.poweredOn))
    #expect(record.lines == ["poweredOn"])
    withExtendedLifetime(manager) {}
  }

  @Test("a manager whose identifier another one has works, and restores nothing")
  func secondManager() {
    let manager = makeManager()
    keeping.attach(nil, holdsName: false, keptFor: .zero)
    keeping.host.deliver(.stateChanged(.poweredOn))
    manager.scanForPeripherals(withServices: nil)
    #expect(record.lines == ["poweredOn"] && manager.isScanning)
  }

  @Test("a restored state and all behind it wait for a delegate that is set late")
  func lateDelegate() {
    let manager = CBCentralManager(
      delegate: nil, queue: DispatchQueue(label: "test"), host: keeping, restoreIdentifier: "lock")
    restore(.strap(), .valueUpdated(.strap, handle: 12, [1]))
    keeping.host.deliver(.acknowledgementRequested)
    #expect(keeping.host.handledCount == 0 && manager.state == .unknown)
    manager.delegate = app
    keeping.host.settle()
    #expect(
      record.lines == [
        "restored unknown: Strap connected, Phone connecting", "poweredOn", "value [1]",
      ])
    #expect(keeping.host.handledCount == 4)
  }

  @Test("an app that retrieves its peripherals when the radio is on keeps their connections")
  func retrieval() {
    app.keepsPeripherals = false
    let app = app
    app.onPower = { central in
      app.peripherals = central.retrievePeripherals(withIdentifiers: [.strap])
    }
    let manager = makeManager()
    restore()
    keeping.host.settle()
    #expect(app.peripherals.map(\.state) == [.connected])
    // The other one was released.
    #expect(keeping.host.requests == [.disconnect(.phone)])
    withExtendedLifetime(manager) {}
  }

  @Test("services that changed meanwhile are reported as modified")
  func changedServices() {
    let manager = makeManager()
    restore(.strap(), .servicesChanged(.strap, HandleRange(10, 0xFFFF)))
    #expect(record.lines.last == "modified [\"180D\", \"180F\"]")
    #expect(app.peripherals.first?.services == [])
    withExtendedLifetime(manager) {}
  }

  @Test("a peripheral that has connected again meanwhile has lost its subscriptions")
  func reconnection() throws {
    let manager = makeManager()
    let held = HeldCharacteristic()
    let app = app
    app.onRestore = { held.value = app.peripherals.first?.services?.first?.characteristics?.first }
    restore(
      .strap(reconnects: true), .disconnected(.strap, Self.lost, reconnecting: true),
      .linkClosed(.strap, Self.lost), link(), .connected(.strap))
    #expect(
      record.lines.suffix(2) == ["disconnected connectionTimeout, reconnecting", "connected"])
    #expect(held.value?.isNotifying == false && app.peripherals.first?.services == nil)
    withExtendedLifetime(manager) {}
  }

  @Test("a subscription to a characteristic that isn't known goes on once it is discovered")
  func unknownCharacteristic() throws {
    var holdings = SessionHoldings.strap()
    holdings.attributes = []
    let manager = makeManager()
    restore(holdings, .valueUpdated(.strap, handle: 12, [1]))
    let strap = try #require(app.peripherals.first)
    strap.discoverServices(nil)
    let service = RemoteService(uuid: 0x180D, range: HandleRange(10, 15), isPrimary: true)
    keeping.host.answer(.success(.services([service])))
    strap.discoverCharacteristics(nil, for: try #require(strap.services?.first))
    let measurement = RemoteCharacteristic(
      uuid: 0x2A37, declarationHandle: 11, valueHandle: 12, endHandle: 13, properties: .notify)
    keeping.host.answer(.success(.characteristics([measurement])))
    #expect(strap.services?.first?.characteristics?.map(\.isNotifying) == [true])
    keeping.host.deliver(.valueUpdated(.strap, handle: 12, [2]))
    #expect(record.lines.suffix(2) == ["characteristics ok", "value [2]"])
    withExtendedLifetime(manager) {}
  }

  @Test("a radio that was off for a while ends links, and no pending connections")
  func radioOffAndOn() {
    let manager = makeManager()
    restore(
      .strap(reconnects: true), .disconnected(.strap, Self.unplugged, reconnecting: true),
      .linkClosed(.strap, Self.unplugged), .stateChanged(.poweredOff), .stateChanged(.poweredOn),
      .connected(.phone), link(), .connected(.strap))
    #expect(
      record.lines.dropFirst() == [
        "poweredOn", "disconnected peripheralDisconnected, reconnecting", "connected", "connected",
      ])
    #expect(keeping.host.requests.isEmpty)
    withExtendedLifetime(manager) {}
  }

  @Test("a radio that is off is reported behind the restored state")
  func radioOff() {
    let manager = makeManager()
    keeping.host.completesBarriers = false
    restore(
      .strap(), .disconnected(.strap, Self.unplugged, reconnecting: false),
      .linkClosed(.strap, Self.unplugged), .stateChanged(.poweredOff))
    #expect(record.lines.count == 2 && manager.state == .poweredOn)
    keeping.host.completeBarriers()
    keeping.host.settle()
    #expect(
      record.lines.suffix(2) == ["poweredOff", "disconnected peripheralDisconnected"])
    #expect(keeping.host.requests == [.disconnect(.phone)])
  }

  @Test("a link that ended because too many values waited ends with the limit's error")
  func limit() {
    let manager = makeManager()
    restore(
      .strap(), .valueUpdated(.strap, handle: 12, [1]),
      .disconnected(.strap, .tooManyNotifications, reconnecting: false))
    #expect(
      record.lines.suffix(2) == [
        "value [1]", "disconnected leGattExceededBackgroundNotificationLimit",
      ])
    withExtendedLifetime(manager) {}
  }

  @Test("a manager that is released in willRestoreState hears nothing more")
  func releasedWhileRestoring() {
    final class Holder { var manager: CBCentralManager? }
    let holder = Holder()
    app.onRestore = { holder.manager = nil }
    holder.manager = makeManager()
    restore(.strap(), .valueUpdated(.strap, handle: 12, [1]))
    #expect(record.lines.count == 1 && keeping.host.isClosed)
  }

  @Test("the alerts that a connection requests are passed to the host")
  func alerts() throws {
    let manager = makeManager()
    restore()
    let phone = try #require(app.peripherals.last)
    let options: [(String, ConnectionAlerts)] = [
      (CBConnectPeripheralOptionNotifyOnConnectionKey, .connection),
      (CBConnectPeripheralOptionNotifyOnDisconnectionKey, .disconnection),
      (CBConnectPeripheralOptionNotifyOnNotificationKey, .notification),
    ]
    for (key, alert) in options {
      manager.connect(phone, options: [key: true])
      guard case .connect(.phone, let connect) = keeping.host.requests.last else {
        Issue.record("no connection is requested")
        continue
      }
      #expect(connect.alerts == alert)
    }
  }
}

/// A characteristic that a delegate puts aside.
private final class HeldCharacteristic: @unchecked Sendable {
  // Unchecked: changed on the delegate queue and read after it has settled.
  var value: CBCharacteristic?
}

@Suite("The background modes of a program")
struct BackgroundModeTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")

  private func read(_ bytes: [UInt8]) throws -> (Set<String>?, [String]) {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "Info.plist")
    try Data(bytes).write(to: file)
    return read(at: file.path)
  }

  private func read(at path: String) -> (Set<String>?, [String]) {
    var reports: [String] = []
    let modes = BackgroundModes.read(
      { () throws(InfoPlistError) in try InfoPlist.read(path) }, report: { reports.append($0) })
    return (modes, reports)
  }

  private func list(_ entries: String) -> [UInt8] {
    Array("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\(entries)</dict></plist>".utf8)
  }

  @Test("the modes are read from UIBackgroundModes, and none without it")
  func modes() throws {
    let array = "<array><string>bluetooth-central</string><string>later</string></array>"
    let declared = try read(list("<key>UIBackgroundModes</key>\(array)"))
    #expect(declared.0 == ["bluetooth-central", "later"] && declared.1.isEmpty)
    #expect(try read(list("")).0 == [])
  }

  @Test("a file that is malformed or too long declares nothing known, which is reported")
  func malformed() throws {
    let long = list("<key>A</key><string>\(String(repeating: "a", count: 1 << 20))</string>")
    let text = list("<key>UIBackgroundModes</key><string>bluetooth-central</string>")
    for bytes in [[], Array("<plist>".utf8), Array("<plist><array/></plist>".utf8), long, text] {
      let (modes, reports) = try read(bytes)
      #expect(modes == nil && reports.count == 1)
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (modes, reports) = read(at: folder.path)
    #expect(modes == nil && reports.count == 1)
  }

  @Test("a binary file with a set, which makes Foundation trap, is reported")
  func trap() throws {
    let objects: [UInt8] = [0xC1, 1, 0xA0]
    var bytes = Array("bplist00".utf8) + objects
    let table = UInt8(bytes.count)
    bytes += [8, 10] + [0, 0, 0, 0, 0, 0, 1, 1]
    for number: UInt8 in [2, 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, number] }
    let (modes, reports) = try read(bytes)
    #expect(modes == nil && reports.count == 1)
  }

  @Test("without a file nothing is known, and nothing is reported")
  func missing() {
    let (modes, reports) = read(at: folder.path)
    #expect(modes == nil && reports.isEmpty)
  }
}

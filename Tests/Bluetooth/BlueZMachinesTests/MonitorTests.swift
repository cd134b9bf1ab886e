import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Monitors of advertisements in place of a discovery.
struct MonitorTests {
  static let beacon = AdvertisingPattern(start: 0, type: 0xFF, content: [0x4C, 0, 2, 0x15])

  /// The properties of a manager of monitors.
  static func manager(inController isInController: Bool) -> [String: BusValue] {
    [
      "SupportedMonitorTypes": .strings(["or_patterns"]),
      "SupportedFeatures": .strings(isInController ? ["controller-patterns"] : []),
    ]
  }

  private static func objects(
    _ manager: [String: BusValue]
  ) -> [String: [String: [String: BusValue]]] {
    [
      adapterPath: [
        BusName.adapter: BlueZBench.adapterValues, BusName.monitorManager: manager,
      ]
    ]
  }

  private static var beacons: ScanOptions {
    var options = ScanOptions()
    options.allowsDuplicates = true
    options.seeksBeacons = true
    return options
  }

  private static func background(_ services: [BluetoothUUID]) -> ScanOptions {
    var options = ScanOptions()
    options.services = services
    options.isInBackground = true
    return options
  }

  private func started(inController isInController: Bool = false) -> BlueZBench {
    var bench = BlueZBench()
    bench.start(Self.objects(Self.manager(inController: isInController)))
    return bench
  }

  /// bluetoothd takes and activates the monitors of a scan. Returns the path of the first one.
  private func register(
    _ options: ScanOptions, _ bench: inout BlueZBench, inController isInController: Bool = false
  ) throws -> String {
    bench.request(.startScan(options))
    bench.reply(to: "GetAll", [.properties(Self.manager(inController: isInController))])
    let arguments = bench.call("RegisterMonitor")?.arguments
    guard case .path(let root)? = arguments?.first else {
      Issue.record("no monitor is registered")
      return ""
    }
    let call = bench.call(root, BusName.objectManager, "GetManagedObjects")
    guard case .success(let values)? = bench.answers[call], let objects = values.first?.objects
    else {
      Issue.record("the application has no objects")
      return ""
    }
    bench.reply(to: "RegisterMonitor")
    for path in objects.keys { bench.call(path, BusName.monitor, "Activate") }
    return try #require(objects.keys.sorted().first)
  }

  // MARK: Patterns

  @Test func `Beacons are one pattern, and a service is one for each place in a list`() throws {
    #expect(AdvertisementMonitors.patterns([Self.beacons]) == [[Self.beacon]])
    let monitors = try #require(AdvertisementMonitors.patterns([Self.background([0x180D])]))
    let patterns = monitors.flatMap { $0 }
    // Fourteen places in two lists of short UUIDs, and one place in two lists of full ones.
    #expect(patterns.count == 30)
    #expect(patterns.contains(AdvertisingPattern(start: 26, type: 0x03, content: [0x0D, 0x18])))
    let full = try #require(BluetoothUUID("7c3b0002-92f1-4e0b-8b1e-5d0a4c1f2e6d"))
    let ofFull = AdvertisementMonitors.patterns([Self.background([full])]) ?? []
    #expect(ofFull.flatMap { $0 }.map(\.type) == [0x06, 0x07])
  }

  @Test func `A monitor has no more patterns than bluetoothd's message to the kernel holds`() {
    let patterns = AdvertisementMonitors.patterns([
      Self.background([0x180D, 0x180F]), Self.beacons,
    ])
    #expect(patterns?.map(\.count) == [7, 7, 7, 7, 7, 7, 7, 7, 5])
  }

  @Test func `Scans that patterns can't select are none for monitors`() {
    var solicited = Self.background([0x180D])
    solicited.solicitedServices = [0x1809]
    var coded = Self.beacons
    coded.usesCodedPHY = true
    var foreground = ScanOptions()
    foreground.services = [0x180D]
    let many = Self.background((0..<9).map { BluetoothUUID(0x1800 + UInt16($0)) })
    for options in [solicited, coded, foreground, many, ScanOptions()] {
      #expect(AdvertisementMonitors.patterns([options, Self.beacons]) == nil)
    }
  }

  // MARK: In place of the discovery

  @Test func `A scan for beacons is a discovery until its monitor is active`() throws {
    var bench = started()
    let path = try register(Self.beacons, &bench)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.reply(to: "StopDiscovery")
    #expect(bench.machine.discovery == .off)
    #expect(bench.calls.isEmpty)
    bench.hear()
    #expect(bench.takeEvents() == [])
    for _ in 0..<3 { bench.call(path, BusName.monitor, "DeviceFound", [.path(devicePath)]) }
    #expect(bench.takeEvents().reports.map(\.address) == [.peer, .peer, .peer])
    #expect(bench.answers.values.allSatisfy { (try? $0.get()) != nil })
    bench.request(.stopScan)
    #expect(bench.call("UnregisterMonitor")?.path == adapterPath)
    #expect(bench.calls.count == 1)
  }

  @Test func `The objects of monitors have the properties that bluetoothd reads`() throws {
    for (isInController, limits) in [
      (false, [:]),
      (
        true,
        [
          "RSSIHighThreshold": .int16(-127), "RSSILowThreshold": .int16(-127),
          "RSSIHighTimeout": .uint16(1), "RSSILowTimeout": .uint16(10),
        ]
      ),
    ] as [(Bool, [String: BusValue])] {
      var bench = started()
      let path = try register(Self.beacons, &bench, inController: isInController)
      let properties: [String: BusValue] = [
        "Type": .string("or_patterns"), "Patterns": .patterns([Self.beacon]),
      ]
      #expect(
        bench.machine.monitors?.objects == [
          path: [BusName.monitor: properties.merging(limits) { $1 }]
        ])
    }
  }

  @Test func `A background scan reports a device once, and a foreground scan ends the monitors`()
    throws
  {
    var bench = started()
    let path = try register(Self.background([0x180D]), &bench)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.reply(to: "StopDiscovery")
    bench.hear()
    for _ in 0..<3 { bench.call(path, BusName.monitor, "DeviceFound", [.path(devicePath)]) }
    #expect(bench.takeEvents().reports.count == 1)
    var options = Self.background([0x180D])
    options.isInBackground = false
    bench.request(.startScan(options))
    bench.reply(to: "UnregisterMonitor")
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.changeDevice(["ManufacturerData": .numbered([1: .bytes([1])])])
    #expect(bench.takeEvents().reports.count == 1)
  }

  @Test func `A link that waits for its device needs the discovery`() throws {
    var bench = started()
    _ = try register(Self.beacons, &bench)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.reply(to: "StopDiscovery")
    bench.request(.connect(.peer, ConnectOptions()))
    bench.reply(to: "UnregisterMonitor")
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.hear()
    #expect(bench.count(of: "Connect") == 1)
    #expect(bench.takeEvents().reports.count == 1)
  }

  @Test func `Without experimental interfaces a scan for beacons is a discovery`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(Self.beacons))
    #expect(bench.calls.map(\.call.member) == ["SetDiscoveryFilter"])
    // The manager goes with its interface, too.
    bench = started()
    bench.remove(adapterPath, BusName.monitorManager)
    bench.request(.startScan(Self.beacons))
    #expect(bench.calls.map(\.call.member) == ["SetDiscoveryFilter"])
  }

  // MARK: Monitors in the controller

  @Test func `A device that the controller hears is reported until the controller loses it`() throws
  {
    var bench = started()
    let path = try register(Self.beacons, &bench, inController: true)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.reply(to: "StopDiscovery")
    bench.hear()
    bench.call(path, BusName.monitor, "DeviceFound", [.path(devicePath)])
    #expect(bench.takeEvents().reports.count == 2)
    bench.advance(by: .seconds(20))
    #expect(bench.takeEvents().reports.count == 4)
    bench.call(path, BusName.monitor, "DeviceLost", [.path(devicePath)])
    bench.advance(by: .seconds(20))
    #expect(bench.takeEvents() == [])
    bench.call(path, BusName.monitor, "DeviceFound", [.path(devicePath)])
    bench.remove(devicePath, BusName.device)
    bench.advance(by: .seconds(20))
    #expect(bench.takeEvents().reports.count == 1)
  }

  // MARK: Failures

  @Test func `Refused and released monitors are a discovery until bluetoothd is back`() throws {
    for step in 0..<3 {
      var bench = started()
      switch step {
      case 0:
        bench.request(.startScan(Self.beacons))
        bench.refuse("GetAll", BlueZErrorName.unknownMethod)
      case 1:
        bench.request(.startScan(Self.beacons))
        bench.reply(to: "GetAll", [.properties(Self.manager(inController: false))])
        bench.refuse("RegisterMonitor", "org.bluez.Error.Failed")
        bench.reply(to: "UnregisterMonitor")
      default:
        let path = try register(Self.beacons, &bench)
        bench.call(path, BusName.monitor, "Release")
        bench.reply(to: "UnregisterMonitor")
      }
      bench.reply(to: "SetDiscoveryFilter")
      bench.reply(to: "StartDiscovery")
      bench.hear()
      #expect(bench.takeEvents().reports.count == 1)
      #expect(bench.warnings.count == 1)
      #expect(bench.calls.isEmpty)
      bench.ownerChanged(to: "")
      bench.ownerChanged(to: daemon)
      bench.reply(
        to: "GetManagedObjects", [.objects(Self.objects(Self.manager(inController: false)))])
      #expect(bench.count(of: "GetAll") == 1)
    }
  }

  @Test func `Monitors are registered again when the adapter was off, with another path`() throws {
    var bench = started()
    let old = try register(Self.beacons, &bench)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.reply(to: "StopDiscovery")
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    bench.reply(to: "UnregisterMonitor")
    // bluetoothd releases what it has.
    bench.call(old, BusName.monitor, "Release")
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    bench.reply(to: "GetAll", [.properties(Self.manager(inController: false))])
    #expect(bench.call("RegisterMonitor")?.arguments != [.path(old)])
    #expect(bench.warnings == [])
  }

  @Test func `Another program can't report devices to a monitor`() throws {
    var bench = started()
    let path = try register(Self.beacons, &bench)
    bench.hear()
    _ = bench.takeEvents()
    let call = bench.call(
      path, BusName.monitor, "DeviceFound", [.path(devicePath)], from: ":1.99")
    guard case .failure? = bench.answers[call] else {
      Issue.record("another program was answered")
      return
    }
    #expect(bench.takeEvents() == [])
    // A device that bluetoothd does not have is none.
    bench.call(path, BusName.monitor, "DeviceFound", [.path("/org/bluez/hci0/dev_1")])
    bench.call(path, BusName.monitor, "DeviceFound", [.uint16(1)])
    #expect(bench.takeEvents() == [])
  }
}

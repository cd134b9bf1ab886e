import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines
import Testing

@testable import AppHubMachines

/// A phone whose host, beacons and processes a test plays.
private struct RegionSystem {
  static let app = AppID("com.example.shop")
  static let shop = AppRegion.Name(.managers, "shop")

  var machine = AppHubMachine()
  var now = Instant.zero
  private(set) var launches: [AppLaunch] = []
  /// What processes got of regions, in order.
  private(set) var given: [AppRegionEvent] = []
  private(set) var isScanOpen = false
  private(set) var process: AppProcessID?
  /// Whether processes open their receiver of regions.
  var opensReceiver = true

  init() { handle(.life(.installed(Self.app, AppDescription()))) }

  mutating func handle(_ event: AppHubMachine.Event) {
    var actions: [AppHubMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    #expect(machine.violations().isEmpty, "after \(event)")
    for action in actions { perform(action) }
  }

  @discardableResult
  mutating func request(_ request: AppRegionRequest, of app: AppID = app) -> AppRegionReply {
    var actions: [AppHubMachine.Action] = []
    let reply = machine.answer(request, of: app, now: now, into: &actions)
    #expect(machine.violations().isEmpty, "after \(request)")
    for action in actions { perform(action) }
    return reply
  }

  private mutating func perform(_ action: AppHubMachine.Action) {
    switch action {
    case .openSession(let key, _):
      #expect(key == AppHubMachine.regionKey)
      isScanOpen = true
      setPower(true)
    case .closeSession: isScanOpen = false
    case .give(let id, let delivery, let number):
      if case .event(_, let event) = delivery, let content = AppRegionEvent(event.payload) {
        given.append(content)
      }
      handle(.handled(id, number))
    case .life(.start(_, let id, let launch)):
      process = id
      launches.append(launch)
      if opensReceiver { open() }
      handle(.life(.process(id, .launched)))
    case .life(.kill(let id)), .life(.terminate(let id)): end(id)
    default: break
    }
  }

  mutating func open() {
    if let process { handle(.life(.process(process, .opened(.location)))) }
  }

  private mutating func end(_ id: AppProcessID) {
    process = nil
    handle(.life(.process(id, .exited(.signal(9), hasOthers: false))))
  }

  mutating func setPower(_ isOn: Bool) {
    handle(.delivered(AppHubMachine.regionKey, [.stateChanged(isOn ? .poweredOn : .poweredOff)]))
  }

  mutating func person(_ deed: AppMachine.PersonEvent) { handle(.life(.person(Self.app, deed))) }

  /// Opens the app, which monitors its region, and lets the system end it.
  mutating func terminate(_ region: AppRegion = .shop) {
    person(.opened)
    #expect(request(.start(region, assuming: .unknown)) == .done)
    person(.sentToBackground)
    advance(by: .seconds(60))
    handle(.life(.memoryPressure(.critical)))
    #expect(machine.life.state(of: Self.app) == .notRunning)
    given = []
  }

  mutating func hear(minor: UInt16 = 2) {
    let report = AdvertisingReport(
      address: DeviceAddress(bits: 9, kind: .public), isConnectable: false, isScannable: false,
      isLegacy: true, rssi: -60, data: ShopBeacon.advertisement(minor: minor)[...], heardAt: now)
    handle(.delivered(AppHubMachine.regionKey, [.discovered(report)]))
  }

  mutating func advance(by span: TimeSpan) {
    let end = now + span
    while let next = machine.nextWake, next <= end {
      now = max(now, next)
      handle(.life(.wake))
    }
    now = end
  }

  var changes: [AppRegionEvent.Change] { given.map(\.change) }
}

private enum ShopBeacon {
  static let uuid = BluetoothUUID(high: 0x0102_0304, low: 0x0506_0708)

  /// An iBeacon's manufacturer data (Apple, Proximity Beacon Specification).
  static func advertisement(minor: UInt16) -> [UInt8] {
    var writer = ByteWriter()
    writer.append([0x1A, 0xFF, 0x4C, 0x00, 0x02, 0x15])
    writer.bigEndian(uuid.high, count: 8)
    writer.bigEndian(uuid.low, count: 8)
    writer.bigEndian(7, count: 2)
    writer.bigEndian(UInt64(minor), count: 2)
    writer.uint8(0xC5)
    return writer.bytes
  }
}

extension AppRegion {
  fileprivate static let shop = region("shop")

  fileprivate static func region(_ identifier: String, _ owner: Name.Owner = .managers) -> AppRegion
  {
    AppRegion(
      Name(owner, identifier), uuidHigh: ShopBeacon.uuid.high, uuidLow: ShopBeacon.uuid.low,
      major: 7)
  }
}

@Suite
struct RegionTests {
  @Test func `One scan serves the regions of all apps and ends with the last one`() {
    var system = RegionSystem()
    system.person(.opened)
    #expect(!system.isScanOpen)
    system.request(.start(.shop, assuming: .unknown))
    system.request(.start(.region("1", .monitor), assuming: .unknown))
    #expect(system.isScanOpen)
    system.request(.stop(RegionSystem.shop))
    #expect(system.isScanOpen)
    system.request(.stop(AppRegion.Name(.monitor, "1")))
    #expect(!system.isScanOpen)
    #expect(system.machine.nextRegionWake == nil)
  }

  @Test func `The regions of many apps are looked at together, once a second`() {
    var system = RegionSystem()
    for number in 0..<20 {
      let app = AppID("com.example.shop\(number)")
      system.handle(.life(.installed(app, AppDescription())))
      system.request(.start(.shop, assuming: .unknown), of: app)
      system.advance(by: .milliseconds(40))
    }
    let end = system.now + .seconds(10)
    var wakeCount = 0
    while let next = system.machine.nextWake, next <= end {
      system.now = max(system.now, next)
      system.handle(.life(.wake))
      wakeCount += 1
    }
    #expect((10...12).contains(wakeCount))
    // None of them has been heard for the exit delay: nothing is left to wait for.
    system.advance(by: .seconds(40))
    #expect(system.machine.nextWake == nil)
    for number in 0..<20 {
      let state = system.request(.state(RegionSystem.shop), of: AppID("com.example.shop\(number)"))
      #expect(state == .state(.outside))
    }
  }

  @Test func `A region that is monitored again after the scan has ended is entered`() {
    var system = RegionSystem()
    system.person(.opened)
    for _ in 0..<2 {
      system.request(.start(.shop, assuming: .unknown))
      system.hear()
      system.request(.stop(RegionSystem.shop))
    }
    #expect(system.changes == [.entered, .inside, .entered, .inside])
  }

  @Test func `An app that doesn't run is launched for entries and exits only`() {
    var system = RegionSystem()
    system.terminate()
    system.setPower(false)
    system.advance(by: .seconds(60))
    system.setPower(true)
    system.advance(by: .seconds(60))
    #expect(system.launches.count == 1)
    system.hear()
    #expect(system.launches.count == 2)
    #expect(system.launches.last?.options?.isForLocation == true)
    #expect(system.changes == [.entered, .inside])
    system.handle(.life(.memoryPressure(.critical)))
    // The region was not left, though its state was unknown meanwhile.
    system.setPower(false)
    system.setPower(true)
    system.hear()
    #expect(system.launches.count == 2)
    system.advance(by: .seconds(60))
    #expect(system.launches.count == 3)
    #expect(system.changes.suffix(2) == [.exited, .outside])
  }

  @Test func `Events wait for the receiver of a process, and are given once`() {
    var system = RegionSystem()
    system.terminate()
    system.opensReceiver = false
    system.hear()
    #expect(system.launches.count == 2)
    #expect(system.given.isEmpty)
    system.advance(by: .seconds(5))
    system.open()
    #expect(system.changes == [.entered, .inside])
    system.advance(by: .seconds(20))
    system.hear()
    #expect(system.changes == [.entered, .inside])
  }

  @Test func `An event that waits is dropped if its region was replaced meanwhile`() {
    var system = RegionSystem()
    system.terminate()
    system.opensReceiver = false
    system.hear()
    var other = AppRegion.shop
    other.major = 8
    system.request(.start(other, assuming: .unknown))
    system.open()
    #expect(system.given.isEmpty)
    system.advance(by: .seconds(20))
    #expect(system.machine.life.state(of: RegionSystem.app) == .suspended)
  }

  @Test func `A region that is monitored twice keeps its state and its events`() {
    var system = RegionSystem()
    system.terminate()
    system.opensReceiver = false
    system.hear()
    system.request(.start(.shop, assuming: .unknown))
    system.open()
    #expect(system.changes == [.entered, .inside])
  }

  @Test func `A condition tells its app only what the app doesn't know`() {
    var system = RegionSystem()
    system.person(.opened)
    system.request(.start(.region("1", .monitor), assuming: .inside))
    system.hear()
    #expect(system.given.isEmpty)
    system.advance(by: .seconds(60))
    #expect(system.changes == [.outside])
    system.hear(minor: 5)
    #expect(system.changes == [.outside, .inside])
    #expect(system.given.last?.minor == 5)
    system.person(.sentToBackground)
    system.advance(by: .seconds(20))
    // The radio's absence wakes no suspended app, and its return changes nothing.
    system.setPower(false)
    system.setPower(true)
    system.hear()
    #expect(system.changes == [.outside, .inside])
  }

  @Test func `Of the waiting states of a condition, the newest one is given`() {
    var system = RegionSystem()
    system.terminate(.region("1", .monitor))
    system.opensReceiver = false
    system.hear()
    for _ in 0..<3 {
      system.advance(by: .seconds(1))
      system.setPower(false)
      system.setPower(true)
    }
    system.hear()
    system.open()
    #expect(system.changes == [.inside])
  }

  @Test(arguments: [true, false])
  func `An app that was force-quit gets the state of its condition when it is opened again`(
    _ waits: Bool
  ) {
    var system = RegionSystem()
    system.terminate(.region("1", .monitor))
    system.opensReceiver = false
    // An event that waits for a process is discarded, and so is one of an app that may not be launched.
    if waits { system.hear() }
    system.person(.forceQuit)
    let launchCount = system.launches.count
    if !waits { system.hear() }
    #expect(system.launches.count == launchCount)
    #expect(system.given.isEmpty)
    system.opensReceiver = true
    system.person(.opened)
    #expect(system.changes == [.inside])
    #expect(system.given.last?.minor == 2)
    system.hear()
    system.advance(by: .seconds(60))
    #expect(system.changes == [.inside, .outside])
    // It knows the state.
    system.person(.forceQuit)
    system.person(.opened)
    #expect(system.changes == [.inside, .outside])
  }

  @Test func `Each owner of an app has 20 regions, and a 21st is refused`() {
    var system = RegionSystem()
    system.person(.opened)
    for owner in [AppRegion.Name.Owner.managers, .monitor] {
      for number in 0..<20 {
        let reply = system.request(.start(.region("\(number)", owner), assuming: .unknown))
        #expect(reply == .done)
      }
      let reply = system.request(.start(.region("20", owner), assuming: .unknown))
      #expect(reply == .refused(.tooManyRegions(max: 20)))
    }
    let long = AppRegion.region(String(repeating: "x", count: 2_000))
    let reply = system.request(.start(long, assuming: .unknown))
    #expect(reply == .refused(.identifierTooLong(max: 1_024)))
    #expect(system.machine.regionCount(of: RegionSystem.app) == 40)
  }

  @Test func `What an app keeps is given back, and more than a megabyte is refused`() {
    var system = RegionSystem()
    system.person(.opened)
    #expect(system.request(.keep([1, 2, 3])) == .done)
    let tooLong = [UInt8](repeating: 0, count: (1 << 20) + 1)
    #expect(system.request(.keep(tooLong)) == .refused(.tooLongToKeep(max: 1 << 20)))
    #expect(system.request(.read) == .monitored([], kept: [1, 2, 3]))
    #expect(system.request(.read, of: AppID("other")) == .refused(.unavailable))
  }

  @Test func `The regions of an app end with its removal, and its waiting events, too`() {
    var system = RegionSystem()
    system.terminate()
    system.handle(.life(.removed(RegionSystem.app)))
    #expect(!system.isScanOpen)
    system.handle(.life(.installed(RegionSystem.app, AppDescription())))
    system.hear()
    #expect(system.launches.count == 1)
    #expect(system.request(.read) == .monitored([], kept: []))
  }

  @Test func `Regions and conditions go on after a restart of the system, with what was entered`()
    throws
  {
    var first = RegionSystem()
    first.terminate()
    first.request(.start(.region("1", .monitor), assuming: .outside))
    first.request(.keep([1, 2, 3]))
    let count = first.machine.preservedChangeCount
    first.hear()
    #expect(first.machine.preservedChangeCount > count)
    let kept = try #require(first.machine.preservedRegions.first)
    #expect(PreservedRegions(app: kept.app, bytes: kept.bytes) == kept)
    #expect(PreservedRegions(app: kept.app, bytes: Array(kept.bytes.prefix(20))) == nil)
    #expect(PreservedRegions(app: kept.app, bytes: []) == nil)

    var second = RegionSystem()
    second.handle(.preservedRegions(kept))
    #expect(second.isScanOpen && second.launches.isEmpty)
    #expect(second.machine.preservedRegions == [kept])
    #expect(second.request(.read) == .monitored([.shop], kept: [1, 2, 3]))
    // It was entered already.
    second.hear()
    #expect(second.launches.isEmpty)
    second.advance(by: .seconds(60))
    #expect(second.launches.count == 1)
    #expect(second.changes == [.exited, .outside, .outside])
  }

  @Test(arguments: 0..<60)
  func `Preserved regions that were damaged are refused, or break no rule`(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var first = RegionSystem()
    first.terminate()
    first.request(.start(.region("1", .monitor), assuming: .inside))
    first.request(.keep([1, 2, 3]))
    var bytes = try #require(first.machine.preservedRegions.first).bytes
    for _ in 0...random.next(upperBound: UInt64(3)) {
      let index = Int(random.next(upperBound: UInt64(bytes.count)))
      bytes[index] = UInt8(truncatingIfNeeded: random.next())
    }
    bytes = Array(bytes.prefix(1 + Int(random.next(upperBound: UInt64(bytes.count)))))
    guard let damaged = PreservedRegions(app: RegionSystem.app, bytes: bytes) else { return }
    var second = RegionSystem()
    second.handle(.preservedRegions(damaged))
    second.hear()
    second.advance(by: .seconds(60))
    #expect(second.launches.count <= 2, "seed \(seed)")
  }

  @Test func `Preserved regions of an app that runs, or is not installed, have no effect`() throws {
    var first = RegionSystem()
    first.terminate()
    let kept = try #require(first.machine.preservedRegions.first)
    var second = RegionSystem()
    second.person(.opened)
    second.handle(.preservedRegions(kept))
    #expect(!second.isScanOpen)
    second.handle(.life(.removed(RegionSystem.app)))
    second.handle(.preservedRegions(kept))
    #expect(!second.isScanOpen && second.machine.preservedRegions.isEmpty)
  }

  @Test(arguments: [[], [0], [9, 0], Array(repeating: UInt8(0xFF), count: 40)])
  func `Bytes that are no event of a region are refused`(_ bytes: [UInt8]) {
    #expect(AppRegionEvent(bytes) == nil)
  }

  @Test(arguments: 0..<20)
  func `Entries and exits of random lives alternate, and none is given twice`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var system = RegionSystem()
    system.person(.opened)
    system.request(.start(.shop, assuming: .unknown))
    for _ in 0..<200 {
      switch random.next(upperBound: UInt64(9)) {
      case 0: system.person(.opened)
      case 1: system.person(.sentToBackground)
      case 2: system.handle(.life(.memoryPressure(.critical)))
      case 3: system.setPower(random.next(upperBound: UInt64(2)) == 0)
      case 4, 5: system.advance(by: .seconds(Int64(random.next(upperBound: UInt64(60)))))
      case 6: system.handle(.life(.displaySwitchedOn))
      default: system.hear()
      }
    }
    let crossings = system.changes.filter { $0 == .entered || $0 == .exited }
    #expect(zip(crossings, crossings.dropFirst()).allSatisfy { $0 != $1 }, "seed \(seed)")
  }
}

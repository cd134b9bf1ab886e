import BluetoothWire
import Essentials
import PeripheralFiles
import Simulation
import Testing

@Suite("Advertising and scanning")
struct AdvertisingTests {
  private func pair(
    seed: UInt64 = 1, radio: RadioModel = RadioModel(), distance: Double = 2
  ) -> (world: World, scanner: ScriptedHost, advertiser: ScriptedHost) {
    let world = World(seed: seed, radio: radio)
    let scanner = ScriptedHost(world, "scanner", address: 1)
    let advertiser = ScriptedHost(world, "advertiser", address: 2, at: Position(x: distance))
    scanner.start()
    advertiser.start()
    return (world, scanner, advertiser)
  }

  @Test("a scanner that always listens hears ten advertisements a second")
  func rate() {
    let (world, scanner, advertiser) = pair()
    advertiser.advertise(data: [2, 1, 6])
    scanner.scan()
    world.run(for: .seconds(100))
    let reports = scanner.reports
    // 100 ms and on average 5 ms: 952 events, 3 % lost, some at the edges of windows.
    #expect((800...953).contains(reports.count), "\(reports.count)")
    #expect(reports.allSatisfy { $0.kind == .connectable && Array($0.data) == [2, 1, 6] })
    #expect(reports.allSatisfy { $0.advertiser.address == advertiser.address })
  }

  @Test("A device of a file advertises in the file's interval", arguments: [50, 200])
  func intervalOfFile(milliseconds: Int64) {
    var radio = RadioModel.ideal
    radio.advertisingDelayMax = .zero
    let world = World(seed: 1, radio: radio)
    var file = PeripheralFile()
    file.name = "Lamp"
    file.advertising = .init()
    file.advertising?.interval = .milliseconds(milliseconds)
    world.addDevice(file, at: Position(x: 1))
    let scanner = ScriptedHost(world, "scanner", address: 1)
    scanner.start()
    scanner.scan()
    world.run(for: .seconds(10))
    let expected = 10_000 / Int(milliseconds)
    #expect((expected - 1...expected + 1).contains(scanner.reports.count))
  }

  @Test("a world may send advertising as often as a measurement wants, without time on air")
  func hastyAdvertising() {
    var radio = RadioModel.ideal
    radio.advertisingInterval = .microseconds(100)
    radio.advertisingDelayMax = .zero
    let (world, scanner, advertiser) = pair(radio: radio)
    advertiser.advertise(data: [2, 1, 6])
    scanner.scan()
    let count = scanner.reports.count
    world.run(for: .milliseconds(10))
    #expect((99...101).contains(scanner.reports.count - count))
  }

  @Test("reports are as rare as the scanner's windows", arguments: [(96, 96), (96, 48), (160, 16)])
  func duty(_ interval: UInt16, _ window: UInt16) {
    let (world, scanner, advertiser) = pair()
    advertiser.advertise(type: .nonConnectable)
    scanner.scan(interval: interval, window: window)
    world.run(for: .seconds(300))
    let heard = Double(scanner.reports.count) / (300 / 0.105)
    let expected = Double(window) / Double(interval) * 0.97
    #expect(abs(heard - expected) < 0.06 + expected * 0.05, "\(heard) instead of \(expected)")
  }

  @Test("the mean time to discovery follows from interval and duty cycle")
  func discoveryTime() {
    var times: [Double] = []
    for seed in UInt64(0)..<60 {
      let (world, scanner, advertiser) = pair(seed: seed)
      advertiser.advertise(interval: 0x640)  // 1 s
      world.run(for: .milliseconds(Int64(seed) * 173))
      // 133 ms, so that a second is no multiple of it and phases mix.
      scanner.scan(interval: 213, window: 107)
      let start = world.now
      world.run(atMost: .seconds(60)) { !scanner.reports.isEmpty }
      times.append((world.now - start).seconds)
    }
    // Half the events are heard, and the next after one that wasn't.
    let mean = times.reduce(0, +) / Double(times.count)
    #expect((0.7...1.6).contains(mean), "\(mean) s")
  }

  @Test("strength falls with distance, by the path loss exponent")
  func strength() {
    var radio = RadioModel()
    radio.shadowingDB = 0
    func mean(_ distance: Double) -> Double {
      let (world, scanner, advertiser) = pair(radio: radio, distance: distance)
      advertiser.advertise()
      scanner.scan()
      world.run(for: .seconds(30))
      let values = scanner.reports.compactMap(\.rssi).map(Double.init)
      return values.reduce(0, +) / Double(max(1, values.count))
    }
    #expect(abs(mean(1) + 59) < 1)
    #expect(abs(mean(10) + 81) < 1)
    #expect(abs(mean(20) + 87.6) < 1)
  }

  @Test("walls weaken, and signals below the sensitivity are not heard")
  func walls() {
    var radio = RadioModel()
    radio.shadowingDB = 0
    radio.walls = [Wall(from: Position(x: 5, y: -5), to: Position(x: 5, y: 5), attenuationDB: 10)]
    let (world, scanner, advertiser) = pair(radio: radio, distance: 10)
    advertiser.advertise()
    scanner.scan()
    world.run(for: .seconds(10))
    let values = scanner.reports.compactMap(\.rssi).map(Double.init)
    #expect(abs(values.reduce(0, +) / Double(max(1, values.count)) + 91) < 1.5)
    world.radio.walls[0].attenuationDB = 40
    scanner.events = []
    world.run(for: .seconds(10))
    #expect(scanner.reports.isEmpty)
  }

  @Test("an active scan brings scan responses, a passive one none")
  func scanResponses() {
    let (world, scanner, advertiser) = pair()
    advertiser.advertise(data: [1], scanResponse: [2, 3])
    scanner.scan(type: .passive)
    world.run(for: .seconds(2))
    #expect(scanner.reports.allSatisfy { $0.kind == .connectable })
    scanner.perform(LESetScanEnable(isEnabled: false))
    scanner.events = []
    scanner.scan(type: .active)
    world.run(for: .seconds(10))
    let responses = scanner.reports.filter { $0.kind == .scanResponse }
    #expect(responses.count > 50)
    #expect(responses.count <= scanner.reports.count / 2)
    #expect(responses.allSatisfy { Array($0.data) == [2, 3] })
  }

  @Test("the duplicate filter passes an advertiser and its scan response once each")
  func duplicates() {
    let (world, scanner, advertiser) = pair()
    advertiser.advertise(scanResponse: [9])
    scanner.scan(type: .active, filtersDuplicates: true)
    world.run(for: .seconds(10))
    #expect(scanner.reports.map(\.kind) == [.connectable, .scanResponse])
    // Enabling again forgets.
    scanner.perform(LESetScanEnable(isEnabled: true, filtersDuplicates: true))
    world.run(for: .seconds(10))
    #expect(scanner.reports.count == 4)
  }

  @Test("only listed devices are reported with a filter accept list")
  func filterAcceptList() {
    let (world, scanner, advertiser) = pair()
    let other = ScriptedHost(world, "other", address: 3)
    other.start()
    other.advertise()
    advertiser.advertise()
    scanner.perform(LEAddDeviceToFilterAcceptList(address: other.address))
    scanner.scan(filterPolicy: .basicFiltered)
    world.run(for: .seconds(2))
    #expect(!scanner.reports.isEmpty)
    #expect(scanner.reports.allSatisfy { $0.advertiser.address == other.address })
    #expect(scanner.perform(LEClearFilterAcceptList()) == .commandDisallowed)
  }

  @Test("long extended advertising data comes in pieces, and legacy scanners hear none of it")
  func extended() throws {
    let (world, scanner, advertiser) = pair()
    let data = (0..<600).map { UInt8(truncatingIfNeeded: $0) }
    advertiser.perform(
      LESetExtendedAdvertisingParameters(
        set: 1, properties: [.includesPower], intervalMinUnits625us: 160,
        intervalMaxUnits625us: 160, secondaryPHY: .le2M, setID: 5))
    for (operation, range) in [
      (AdvertisingDataOperation.first, 0..<250), (.intermediate, 250..<500), (.last, 500..<600),
    ] {
      #expect(
        advertiser.perform(
          LESetExtendedAdvertisingData(set: 1, operation: operation, data: Array(data[range])))
          == .success)
    }
    advertiser.perform(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 1)]))
    scanner.scan()
    world.run(for: .seconds(2))
    #expect(scanner.reports.isEmpty)
    scanner.start()
    scanner.events = []
    scanner.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters()))
    scanner.perform(LESetExtendedScanEnable(isEnabled: true, duplicates: .on))
    world.run(for: .seconds(5))
    let reports = scanner.extendedReports
    #expect(reports.map(\.data.count) == [229, 229, 142])
    #expect(reports.map { $0.type.contains(.moreToCome) } == [true, true, false])
    #expect(reports.flatMap { Array($0.data) } == data)
    #expect(reports.allSatisfy { $0.setID == 5 && $0.secondaryPHY == .le2M })
    #expect(reports.allSatisfy { $0.txPowerDBm == 0 })
  }

  @Test("a set ends after its events (0x43) or its time (0x3C)")
  func setEnds() throws {
    let (_, _, advertiser) = pair()
    advertiser.perform(
      LESetExtendedAdvertisingParameters(
        set: 1, properties: [.legacy], intervalMinUnits625us: 160, intervalMaxUnits625us: 160))
    func terminated() -> LEAdvertisingSetTerminated? {
      advertiser.wait {
        if case .leAdvertisingSetTerminated(let event) = $0 { event } else { nil }
      }
    }
    advertiser.perform(
      LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 1, eventCountMax: 5)]))
    let byCount = try #require(terminated())
    #expect(byCount.status == .limitReached)
    #expect(byCount.completedEventCount == 5)
    advertiser.perform(
      LESetExtendedAdvertisingEnable(
        isEnabled: true, sets: [.init(set: 1, durationUnits10ms: 100)]))
    let start = advertiser.world.now
    #expect(try #require(terminated()).status == .advertisingTimeout)
    #expect(abs((advertiser.world.now - start).seconds - 1) < 0.01)
  }

  @Test("extended connecting ends the advertising set and reports the connection")
  func extendedConnection() throws {
    let (_, central, advertiser) = pair()
    advertiser.perform(
      LESetExtendedAdvertisingParameters(
        set: 2, properties: [.connectable], intervalMinUnits625us: 64,
        intervalMaxUnits625us: 64, secondaryPHY: .le2M))
    advertiser.perform(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 2)]))
    let timing = ConnectionTimingRequest(
      intervalMinUnits1250us: 24, intervalMaxUnits1250us: 24, latency: 0, timeoutUnits10ms: 100)
    #expect(
      central.perform(
        LEExtendedCreateConnection(
          peer: PeerAddress(advertiser.address), le1M: InitiatingParameters(timing: timing)))
        == .success)
    let complete = try #require(central.waitForConnection())
    #expect(complete.status == .success)
    #expect(central.value(LEReadPHY(handle: complete.handle))?.transmit == .le2M)
    let handle = try #require(advertiser.waitForConnection()).handle
    let ended = try #require(
      advertiser.wait {
        if case .leAdvertisingSetTerminated(let event) = $0 { event } else { nil }
      })
    #expect(ended.status == .success)
    #expect(ended.handle == handle)
  }

  @Test("high duty cycle directed advertising times out after 1.28 s")
  func directed() throws {
    let (world, scanner, advertiser) = pair()
    scanner.scan()
    advertiser.perform(
      LESetAdvertisingParameters(
        type: .directedHighDutyCycle, peer: DeviceAddress(bits: 99, kind: .public)))
    advertiser.perform(LESetAdvertisingEnable(isEnabled: true))
    let start = world.now
    #expect(try #require(advertiser.waitForConnection()).status == .advertisingTimeout)
    #expect(abs((world.now - start).seconds - 1.28) < 0.01)
    // It was directed to another device.
    #expect(scanner.reports.isEmpty)
  }

  @Test("a scan with a duration ends with a timeout")
  func scanTimeout() throws {
    let (world, scanner, _) = pair()
    scanner.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters()))
    scanner.perform(LESetExtendedScanEnable(isEnabled: true, durationUnits10ms: 50))
    let start = world.now
    let isOver = scanner.wait { if case .leScanTimeout = $0 { true } else { nil } }
    #expect(isOver == true)
    #expect(abs((world.now - start).seconds - 0.5) < 0.01)
  }

  @Test("a device without a controller is heard, changes, moves, and is called upon to connect")
  func withoutController() throws {
    let world = World(seed: 1)
    let scanner = ScriptedHost(world, "scanner", address: 1)
    scanner.start()
    scanner.scan()
    var advertisement = Advertisement(
      address: DeviceAddress(bits: 0xC0_0000_0000_07, kind: .random), data: [1, 2, 3])
    advertisement.type = .connectable
    var attempts = 0
    let id = world.advertise(advertisement, at: .still(Position(x: 3))) { attempts += 1 }
    world.run(for: .seconds(1))
    #expect(scanner.reports.count > 5)
    advertisement.data = [4]
    world.update(id, to: advertisement)
    scanner.events = []
    world.run(for: .seconds(1))
    #expect(scanner.reports.allSatisfy { Array($0.data) == [4] })
    scanner.connect(to: advertisement.address)
    world.run(for: .seconds(1))
    #expect(attempts > 0)
    world.move(id, .still(Position(x: 9_000)))
    scanner.events = []
    world.run(for: .seconds(1))
    #expect(scanner.reports.isEmpty)
    world.move(id, .still(Position(x: 1)))
    world.run(for: .seconds(1))
    #expect(!scanner.reports.isEmpty)
    world.remove(id)
    scanner.events = []
    world.run(for: .seconds(1))
    #expect(scanner.reports.isEmpty)
  }

  @Test("a scanner that comes walking hears devices that were out of reach before")
  func approaching() {
    let (world, scanner, advertiser) = pair(distance: 500)
    advertiser.advertise()
    scanner.scan()
    world.run(for: .seconds(5))
    #expect(scanner.reports.isEmpty)
    scanner.controller.motion = .steady(
      from: .origin, since: world.now, metresPerSecond: Position(x: 50))
    world.run(for: .seconds(12))
    #expect(!scanner.reports.isEmpty)
  }

  @Test("an advertising set can report the scanners that requested its scan response")
  func scanRequest() throws {
    let (world, scanner, advertiser) = pair()
    advertiser.perform(
      LESetExtendedAdvertisingParameters(
        set: 1, properties: [.scannable], intervalMinUnits625us: 64, intervalMaxUnits625us: 64,
        notifiesScanRequests: true))
    advertiser.perform(LESetExtendedScanResponseData(set: 1, data: [1, 2, 3]))
    advertiser.perform(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 1)]))
    scanner.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters(type: .active)))
    scanner.perform(LESetExtendedScanEnable(isEnabled: true))
    let asked = advertiser.wait {
      if case .leScanRequestReceived(let event) = $0 { event } else { nil }
    }
    #expect(try #require(asked).scanner.address == scanner.address)
    world.run(for: .seconds(1))
    #expect(scanner.extendedReports.allSatisfy { $0.type.contains(.scanResponse) })
    #expect(scanner.extendedReports.first.map { Array($0.data) } == [1, 2, 3])
  }

  @Test("anonymous advertising is reported without an address")
  func anonymous() throws {
    let (world, scanner, advertiser) = pair()
    advertiser.perform(
      LESetExtendedAdvertisingParameters(
        set: 1, properties: [.anonymous], intervalMinUnits625us: 64, intervalMaxUnits625us: 64))
    advertiser.perform(LESetExtendedAdvertisingData(set: 1, data: [7]))
    advertiser.perform(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [.init(set: 1)]))
    scanner.perform(LESetExtendedScanParameters(le1M: ExtendedScanParameters()))
    scanner.perform(LESetExtendedScanEnable(isEnabled: true))
    world.run(for: .seconds(2))
    #expect(!scanner.extendedReports.isEmpty)
    #expect(scanner.extendedReports.allSatisfy { $0.advertiser == nil && Array($0.data) == [7] })
  }

  @Test("advertising without listeners is not in the queue at all")
  func idle() {
    let world = World(seed: 1)
    for index in 0..<100 {
      _ = world.advertise(
        Advertisement(address: DeviceAddress(bits: UInt64(index), kind: .random), data: []),
        at: .still(Position(x: Double(index))))
    }
    #expect(world.nextEventTime == nil)
  }
}

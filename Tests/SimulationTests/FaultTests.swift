import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Faults")
struct FaultTests {
  private func scanning(
    seed: UInt64 = 1, radio: RadioModel = RadioModel()
  ) -> (world: World, scanner: ScriptedHost, advertiser: ScriptedHost) {
    let world = World(seed: seed, radio: radio)
    let scanner = ScriptedHost(world, "scanner", address: 1)
    let advertiser = ScriptedHost(world, "advertiser", address: 2, at: Position(x: 2))
    scanner.start()
    advertiser.start()
    advertiser.advertise()
    scanner.scan()
    return (world, scanner, advertiser)
  }

  @Test("dropped packets are missing")
  func drop() {
    var radio = RadioModel()
    radio.dropProbability = 0.5
    let (world, scanner, _) = scanning(radio: radio)
    world.run(for: .seconds(105))
    #expect((400...560).contains(scanner.reports.count), "\(scanner.reports.count)")
  }

  @Test("a deaf receiver hears nothing, until it does again")
  func deaf() throws {
    let (world, scanner, _) = scanning()
    scanner.controller.faults.deafUntil = world.now + .seconds(5)
    world.run(for: .milliseconds(4_900))
    #expect(scanner.reports.isEmpty)
    world.run(for: .seconds(1))
    #expect(!scanner.reports.isEmpty)
    let pair = try #require(ConnectedPair(seed: 1, timeout: 100))
    pair.central.controller.faults.deafUntil = .distantFuture
    #expect(pair.central.waitForDisconnection() == .connectionTimeout)
  }

  @Test("jamming silences its channels, its region, its time")
  func jamming() {
    let (world, scanner, _) = scanning()
    var jamming = Jamming()
    jamming.end = world.now + .seconds(5)
    world.radio.jamming = [jamming]
    world.run(for: .seconds(5))
    #expect(scanner.reports.isEmpty)
    world.run(for: .seconds(10))
    let free = scanner.reports.count
    #expect(free > 60)
    jamming.end = .distantFuture
    jamming.channels = 37...38
    world.radio.jamming = [jamming]
    scanner.events = []
    world.run(for: .seconds(10))
    #expect((10...60).contains(scanner.reports.count), "a third of the channels is left")
    jamming.channels = 0...39
    jamming.centre = Position(x: 500)
    world.radio.jamming = [jamming]
    scanner.events = []
    world.run(for: .seconds(10))
    #expect(scanner.reports.count > 60)
  }

  @Test("jamming all data channels loses a link")
  func jammedLink() throws {
    let pair = try #require(ConnectedPair(seed: 2))
    var jamming = Jamming()
    jamming.channels = 0...36
    pair.world.radio.jamming = [jamming]
    #expect(pair.central.waitForDisconnection() == .connectionTimeout)
  }

  @Test("a device that walks away grows faint and is gone; on a path it comes back")
  func movesAway() {
    let (world, scanner, advertiser) = scanning()
    let start = world.now
    advertiser.controller.motion = .path([
      .init(time: start, position: Position(x: 1)),
      .init(time: start + .seconds(60), position: Position(x: 601)),
      .init(time: start + .seconds(120), position: Position(x: 1)),
    ])
    func count(_ span: TimeSpan) -> Int {
      scanner.events = []
      world.run(for: span)
      return scanner.reports.count
    }
    #expect(count(.seconds(1)) > 5)
    world.run(for: .seconds(20))
    #expect(count(.seconds(60)) == 0)
    world.run(for: .seconds(38))
    #expect(count(.seconds(2)) > 10)
    advertiser.controller.motion = .steady(
      from: Position(x: 1), since: world.now, metresPerSecond: Position(x: 1_000))
    world.run(for: .seconds(2))
    #expect(count(.seconds(10)) == 0)
  }

  @Test("without power a controller is silent, and its peer finds out by timeout")
  func powerOff() throws {
    let pair = try #require(ConnectedPair(seed: 3))
    pair.peripheral.controller.powerOff()
    pair.peripheral.send(LERand())
    #expect(pair.central.waitForDisconnection() == .connectionTimeout)
    #expect(
      pair.peripheral.events.allSatisfy {
        if case .disconnectionComplete = $0 { false } else { true }
      })
    pair.peripheral.controller.powerOn()
    #expect(pair.peripheral.perform(LERand()) == .success)
  }

  @Test("a crash forgets everything and ends in a hardware error")
  func crash() throws {
    let pair = try #require(ConnectedPair(seed: 4))
    pair.peripheral.events = []
    pair.peripheral.controller.crash()
    let isTold = pair.peripheral.wait {
      if case .hardwareError = $0 { true } else { nil }
    }
    #expect(isTold == true)
    #expect(
      pair.peripheral.perform(ReadRSSI(handle: pair.peripheralHandle)) == .unknownConnection)
    #expect(pair.central.waitForDisconnection() == .connectionTimeout)
  }

  @Test("a controller may be silent, late, wrong or garbled")
  func controllerFaults() {
    let world = World(seed: 5)
    let host = ScriptedHost(world, "host", address: 1)
    host.start()
    host.controller.faults.isSilent = true
    #expect(host.perform(LERand()) == nil)
    host.controller.faults.isSilent = false
    host.controller.faults.commandDelay = .milliseconds(500)
    let start = world.now
    #expect(host.perform(LERand()) == .success)
    #expect((world.now - start).seconds > 0.5)
    host.controller.faults.commandDelay = .zero
    host.controller.faults.commandStatus = .hardwareFailure
    #expect(host.perform(LERand()) == .hardwareFailure)
    host.controller.faults.commandStatus = nil
    host.controller.faults.garbageProbability = 1
    let before = host.transcript.count
    #expect(host.perform(ReadBDADDR()) == .success)
    #expect(host.transcript.count > before + 24)
  }

  @Test("a controller may withhold completed packets and omit signal strengths")
  func stingyController() throws {
    let pair = try #require(ConnectedPair(seed: 6, radio: .ideal))
    pair.central.controller.faults.withholdsCompletedPackets = true
    pair.central.sendData([1], on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.count == 1)
    #expect(pair.central.completedCount == 0)
    let (world, scanner, _) = scanning()
    scanner.controller.faults.missingRSSIProbability = 0.5
    world.run(for: .seconds(20))
    let missing = scanner.reports.count { $0.rssi == nil }
    #expect((40...140).contains(missing), "\(missing)")
  }

  /// A world where much happens at once; what every host heard, one after the other.
  private func busyTranscript(seed: UInt64, extraScanner: Bool = false) -> [[UInt8]] {
    var radio = RadioModel()
    radio.packetLoss = 0.1
    let world = World(seed: seed, radio: radio)
    var hosts: [ScriptedHost] = []
    for index in 0..<8 {
      let host = ScriptedHost(
        world, "host \(index)", address: UInt64(index + 1),
        at: Position(x: Double(index) * 3, y: Double(index % 3)))
      host.start()
      hosts.append(host)
    }
    for index in 0..<50 {
      _ = world.advertise(
        Advertisement(
          address: DeviceAddress(bits: 0xC000_0000_0000 + UInt64(index), kind: .random),
          data: [UInt8(index)]), at: .still(Position(x: Double(index), y: 5)))
    }
    for index in 0..<4 { hosts[index].advertise(interval: 0x40, scanResponse: [UInt8(index)]) }
    for index in 4..<8 {
      hosts[index].scan(type: .active, interval: 96, window: 48)
      hosts[index].connect(to: hosts[index - 4].address, interval: 16)
    }
    world.run(for: .seconds(3))
    for host in hosts {
      for number in 0..<10 { host.sendData([UInt8(number)], on: 1) }
    }
    hosts[1].controller.crash()
    hosts[6].controller.motion = .steady(
      from: .origin, since: world.now, metresPerSecond: Position(x: 50))
    world.run(for: .seconds(5))
    return hosts.map(\.transcript)
  }

  @Test("one seed is one run, byte for byte; another seed is another", arguments: [1, 2, 3])
  func deterministic(_ seed: UInt64) {
    let first = busyTranscript(seed: seed)
    #expect(first == busyTranscript(seed: seed), "seed \(seed)")
    #expect(first != busyTranscript(seed: seed &+ 100), "seed \(seed)")
    #expect(first.reduce(0) { $0 + $1.count } > 50_000, "seed \(seed)")
  }

  @Test("another scanner in the world doesn't change what the first hears")
  func independentChance() {
    func transcript(withOther: Bool) -> [UInt8] {
      let world = World(seed: 9)
      let scanner = ScriptedHost(world, "scanner", address: 1)
      let advertiser = ScriptedHost(world, "advertiser", address: 2, at: Position(x: 2))
      scanner.start()
      advertiser.start()
      advertiser.advertise()
      scanner.scan()
      if withOther {
        let other = ScriptedHost(world, "other", address: 3)
        for command in [Reset().packet, LESetEventMask(mask: .default).packet] {
          other.controller.receive(command)
        }
        other.controller.receive(LESetScanParameters().packet)
        other.controller.receive(LESetScanEnable(isEnabled: true).packet)
      }
      world.run(for: .seconds(20))
      return scanner.transcript
    }
    #expect(transcript(withOther: true) == transcript(withOther: false))
  }
}

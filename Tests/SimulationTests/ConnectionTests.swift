import BluetoothWire
import Essentials
@testable import Simulation
import Testing

@Suite("Connections")
struct ConnectionTests {
  @Test("two controllers connect, exchange data both ways and disconnect with reasons")
  func endToEnd() throws {
    let pair = try #require(ConnectedPair(seed: 1))
    pair.central.sendData([1, 2, 3], on: pair.centralHandle)
    pair.peripheral.sendData(Array(0..<100), on: pair.peripheralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.map { Array($0.payload) } == [[1, 2, 3]])
    #expect(pair.peripheral.data.first?.header.boundary == .firstFlushable)
    // Without longer packets agreed, 100 bytes come in pieces of 27.
    #expect(pair.central.data.map(\.payload.count) == [27, 27, 27, 19])
    #expect(pair.central.data.map(\.header.boundary.isFirst) == [true, false, false, false])
    #expect(pair.central.data.flatMap { Array($0.payload) } == Array(0..<100))
    #expect(pair.central.completedCount == 1)
    #expect(pair.peripheral.completedCount == 1)

    #expect(pair.central.perform(Disconnect(handle: pair.centralHandle)) == .success)
    #expect(pair.central.waitForDisconnection() == .localHostTerminatedConnection)
    #expect(pair.peripheral.waitForDisconnection() == .remoteUserTerminatedConnection)
    #expect(pair.central.undecodableCount + pair.peripheral.undecodableCount == 0)
  }

  @Test("a peripheral disconnects with its own reason")
  func peripheralDisconnects() throws {
    let pair = try #require(ConnectedPair(seed: 2))
    pair.peripheral.perform(
      Disconnect(handle: pair.peripheralHandle, reason: .remotePowerOff))
    #expect(pair.peripheral.waitForDisconnection() == .localHostTerminatedConnection)
    #expect(pair.central.waitForDisconnection() == .remotePowerOff)
  }

  @Test("both hosts learn role, peer and timing, and legacy advertising ends")
  func connectionComplete() throws {
    let world = World(seed: 3)
    let central = ScriptedHost(world, "central", address: 1)
    let peripheral = ScriptedHost(world, "peripheral", address: 2, at: Position(x: 1))
    central.start()
    peripheral.start()
    peripheral.advertise()
    central.connect(to: peripheral.address, interval: 40, latency: 3, timeout: 200)
    let a = try #require(central.waitForConnection())
    let b = try #require(peripheral.waitForConnection())
    #expect(a.role == .central)
    #expect(b.role == .peripheral)
    #expect(a.peer.address == peripheral.address)
    #expect(b.peer.address == central.address)
    let timing = ConnectionTiming(intervalUnits1250us: 40, latency: 3, timeoutUnits10ms: 200)
    #expect(a.timing == timing)
    #expect(b.timing == timing)
    // A third hears nothing now.
    let scanner = ScriptedHost(world, "scanner", address: 3)
    scanner.start()
    scanner.scan()
    world.run(for: .seconds(2))
    #expect(scanner.reports.isEmpty)
  }

  @Test("a link whose first packets are lost fails to be established")
  func failsToBeEstablished() throws {
    let world = World(seed: 4)
    let central = ScriptedHost(world, "central", address: 1)
    let peripheral = ScriptedHost(world, "peripheral", address: 2, at: Position(x: 1))
    central.start()
    peripheral.start()
    peripheral.advertise()
    // The advertiser sends, but hears no request.
    peripheral.controller.faults.deafUntil = .distantFuture
    central.connect(to: peripheral.address)
    let complete = try #require(central.waitForConnection())
    #expect(complete.status == .success)
    #expect(central.waitForDisconnection() == .connectionFailedToBeEstablished)
    #expect(peripheral.waitForConnection(atMost: .seconds(1)) == nil)
  }

  @Test("moving out of reach ends a link by its supervision timeout on both sides")
  func supervisionTimeout() throws {
    let pair = try #require(ConnectedPair(seed: 5, timeout: 200))
    pair.world.run(for: .seconds(1))
    let moved = pair.world.now
    pair.peripheral.controller.position = Position(x: 5_000)
    #expect(pair.central.waitForDisconnection() == .connectionTimeout)
    let took = (pair.world.now - moved).seconds
    #expect((1.9...2.2).contains(took), "\(took) s")
    #expect(pair.peripheral.waitForDisconnection() == .connectionTimeout)
  }

  @Test(
    "data throughput is what packets, spaces and the PHY allow",
    arguments: [
      // Bytes a second for 27-byte and 251-byte packets: 1M 27: 27 B per 676 µs with an empty
      // answer; 1M 251: per 2,468 µs; 2M 251: per 1,404 µs.
      (PHY.le1M, false, 27.0 / 676e-6), (.le1M, true, 251.0 / 2_468e-6),
      (.le2M, true, 251.0 / 1_404e-6),
    ])
  func throughput(_ phy: PHY, _ isLong: Bool, _ ceiling: Double) throws {
    var radio = RadioModel()
    radio.packetLoss = 0
    let pair = try #require(ConnectedPair(seed: 6, radio: radio, interval: 40))
    let handle = pair.centralHandle
    if isLong {
      pair.central.perform(
        LESetDataLength(handle: handle, txOctets: 251, txTimeMicroseconds: 2_120))
      pair.peripheral.perform(
        LESetDataLength(
          handle: pair.peripheralHandle, txOctets: 251, txTimeMicroseconds: 2_120))
    }
    if phy == .le2M {
      pair.central.perform(
        LESetPHY(handle: handle, preference: .init(transmit: .le2M, receive: .le2M)))
    }
    pair.world.run(for: .seconds(2))
    pair.peripheral.data = []
    let payload = [UInt8](repeating: 7, count: isLong ? 251 : 27)
    let start = pair.world.now
    var outstanding = 0
    pair.central.completedCount = 0
    var sent = 0
    while (pair.world.now - start).seconds < 5 {
      outstanding = sent - pair.central.completedCount
      while outstanding < 32 {
        pair.central.sendData(payload, on: handle)
        sent += 1
        outstanding += 1
      }
      pair.world.run(for: .milliseconds(5))
    }
    let bytes = pair.peripheral.data.reduce(0) { $0 + $1.payload.count }
    let rate = Double(bytes) / 5
    #expect(rate <= ceiling * 1.01, "\(rate) B/s of \(ceiling)")
    #expect(rate >= ceiling * 0.85, "\(rate) B/s of \(ceiling)")
  }

  @Test("lost packets are sent again: nothing is missing, doubled or out of order")
  func retransmission() throws {
    for seed in UInt64(10)..<20 {
      var radio = RadioModel()
      radio.packetLoss = 0.3
      radio.advertisementLoss = 0
      let pair = try #require(
        ConnectedPair(seed: seed, radio: radio, interval: 8, timeout: 400), "seed \(seed)")
      for number in UInt8(0)..<30 {
        pair.central.sendData([number], on: pair.centralHandle)
        pair.peripheral.sendData([number, number], on: pair.peripheralHandle)
      }
      pair.world.run(for: .seconds(5))
      #expect(
        pair.peripheral.data.map { Array($0.payload) } == (0..<30).map { [UInt8($0)] },
        "seed \(seed)")
      #expect(
        pair.central.data.map { Array($0.payload) } == (0..<30).map { [UInt8($0), UInt8($0)] },
        "seed \(seed)")
      #expect(pair.central.completedCount == 30, "seed \(seed)")
    }
  }

  @Test("peripheral latency delays what the central sends, but not the peripheral's own data")
  func latency() throws {
    var radio = RadioModel()
    radio.packetLoss = 0
    let pair = try #require(
      ConnectedPair(seed: 7, radio: radio, interval: 80, latency: 9, timeout: 600))
    var delays: [Double] = []
    for _ in 0..<20 {
      pair.world.run(for: .milliseconds(1_370))
      let start = pair.world.now
      pair.peripheral.data = []
      pair.central.sendData([1], on: pair.centralHandle)
      pair.world.run(atMost: .seconds(5)) { !pair.peripheral.data.isEmpty }
      delays.append((pair.world.now - start).seconds)
    }
    #expect(delays.max() ?? 0 > 0.3, "\(delays)")
    #expect(delays.max() ?? 9 <= 1.1, "\(delays)")
    let start = pair.world.now
    pair.peripheral.sendData([2], on: pair.peripheralHandle)
    pair.world.run(atMost: .seconds(5)) { !pair.central.data.isEmpty }
    #expect((pair.world.now - start).seconds <= 0.11)
  }

  @Test("without pacing, data arrives at once and counts of completed packets are joined")
  func ideal() throws {
    let pair = try #require(ConnectedPair(seed: 8, radio: .ideal))
    let start = pair.world.now
    for number in UInt8(0)..<32 { pair.central.sendData([number], on: pair.centralHandle) }
    pair.world.run(for: .zero)
    #expect(pair.world.now == start)
    #expect(pair.peripheral.data.map { Array($0.payload) } == (0..<32).map { [UInt8($0)] })
    #expect(pair.central.completedCount == 32)
    #expect(pair.peripheral.data.first?.header.handle == pair.peripheralHandle)
    pair.central.perform(Disconnect(handle: pair.centralHandle))
    #expect(pair.peripheral.waitForDisconnection() == .remoteUserTerminatedConnection)
  }

  @Test("a single completed packet without pacing is reported with the answer, or soon")
  func delayedCompletion() throws {
    let pair = try #require(ConnectedPair(seed: 9, radio: .ideal))
    pair.central.sendData([1], on: pair.centralHandle)
    pair.world.run(for: .zero)
    #expect(pair.peripheral.data.count == 1)
    #expect(pair.central.completedCount == 0)
    pair.peripheral.sendData([2], on: pair.peripheralHandle)
    pair.world.run(for: .zero)
    #expect(pair.central.data.count == 1)
    #expect(pair.central.completedCount == 1)
    #expect(pair.peripheral.completedCount == 0)
    pair.world.run(for: .milliseconds(2))
    #expect(pair.peripheral.completedCount == 1)
  }

  @Test("links and worlds leave nothing behind")
  func releases() throws {
    weak var world: World?
    weak var link: AirLink?
    do {
      let pair = try #require(ConnectedPair(seed: 9))
      world = pair.world
      link = pair.world.links.compactMap { $0 }.first
      #expect(link != nil)
      pair.central.perform(Disconnect(handle: pair.centralHandle))
      pair.world.run(for: .seconds(1))
      #expect(link == nil)
      #expect(pair.world.links.allSatisfy { $0 == nil })
    }
    #expect(world == nil)
  }
}

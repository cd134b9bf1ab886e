import BluetoothHost
import BluetoothInterface
import BluetoothSessions
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import BestPractices

/// The documentation's examples, run as they are.
@Suite("Best practices")
struct BestPracticesTests {
  @Test("an app finds a strap, stops scanning, and connects")
  func findsStrap() {
    let radio = VirtualRadio(seed: 1)
    let strap = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let finder = StrapFinder()
    let central = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: finder, queue: DispatchQueue(label: "finder"))
    }
    #expect(radio.advance(within: .seconds(1)) { central.isScanning })
    #expect(radio.advance(within: .seconds(20)) { !central.isScanning })
    let identifier = PeerIdentifier.uuid(of: strap.controller.address)
    let found = central.retrievePeripherals(withIdentifiers: [identifier]).first
    #expect(radio.advance(within: .seconds(20)) { found?.state == .connected })
  }

  @Test("an app discovers only what it needs, subscribes, and disconnects after ten values")
  func readsPulse() throws {
    let radio = VirtualRadio(seed: 1)
    let strap = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let recorder = CentralRecorder()
    let central = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: recorder, queue: DispatchQueue(label: "phone"))
    }
    radio.advance(by: .seconds(1))
    let identifier = PeerIdentifier.uuid(of: strap.controller.address)
    let reconnector = Reconnector(central: central, service: CBUUID(string: "180D"))
    reconnector.reconnect(identifier)
    #expect(radio.advance(within: .seconds(20)) { recorder.record.lines.last == "connected" })
    let peripheral = try #require(
      central.retrievePeripherals(withIdentifiers: [identifier]).first)
    let reader = PulseReader(central: central)
    reader.start(peripheral)
    #expect(
      radio.advance(within: .seconds(60)) { recorder.record.lines.last == "disconnected ok" })
    let measurement = peripheral.services?.first?.characteristics
    #expect(measurement == nil, "what was discovered is void")
  }

  @Test("an app that was killed restores its lock, whose pending connection completes")
  func restoresLock() throws {
    func start(_ keeping: KeepingHost) -> DoorLock {
      let app = DoorLock()
      CurrentHost.$override.withValue(keeping) { app.start(on: DispatchQueue(label: "lock")) }
      return app
    }
    let first = KeepingHost()
    let app = start(first)
    first.attach(nil)
    first.host.deliver(.stateChanged(.poweredOn))
    let report = AdvertisingReport(
      address: .strap, isConnectable: true, isScannable: true, isLegacy: true, rssi: -60, data: [],
      heardAt: .zero)
    first.host.deliver(.discovered(report))
    #expect(first.host.requests.suffix(2) == [.stopScan, .connect(.strap, ConnectOptions())])
    #expect(app.lock?.state == .connecting)

    var holdings = SessionHoldings()
    holdings.links = [
      SessionHoldings.Link(peer: .strap, options: ConnectOptions(), isConnected: false)
    ]
    let second = KeepingHost()
    let next = start(second)
    second.attach(holdings)
    second.host.post(.stateChanged(.poweredOn), .connected(.strap))
    second.host.settle()
    #expect(next.lock?.identifier == .strap && next.lock?.state == .connected)
    #expect(second.host.requests.isEmpty)
  }

  @Test("a long message goes in writes without response, none is dropped")
  func sendsMessage() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let target = try pair.discover(peripheral)[1]
    let sender = MessageSender()
    let message = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    sender.send(message, to: target, of: peripheral)
    var received: Data { pair.gadget.writes.reduce(Data()) { $0 + ($1[0].value ?? Data()) } }
    #expect(
      pair.radio.advance(within: .seconds(300)) {
        pair.gadget.writes.reduce(0) { $0 + ($1[0].value?.count ?? 0) } == message.count
      })
    #expect(received == message)
  }

  @Test("an app reads ten heart rates with async and await")
  func heartRates() async throws {
    let radio = VirtualRadio(seed: 1)
    _ = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let isDone = Mutex(false)
    let task = Task {
      try await BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
        defer { isDone.withLock { $0 = true } }
        try await printHeartRates()
      }
    }
    // Each step lets the task go on; how many there are is bounded.
    for _ in 0..<200_000 where !isDone.withLock({ $0 }) {
      radio.advance(by: .milliseconds(1))
      await Task.yield()
    }
    #expect(isDone.withLock { $0 })
    task.cancel()
    try await task.value
  }
}

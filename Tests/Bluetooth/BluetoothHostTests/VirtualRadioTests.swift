import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import Simulation
import Synchronization
import Testing

@testable import BluetoothHost
@testable import SimulatedRadio

@Suite("A radio in virtual time")
struct VirtualRadioTests {
  @Test("two hosts find each other, connect and talk, while no real time passes")
  func encounter() async throws {
    let radio = VirtualRadio(seed: 7)
    var encounter = Encounter(
      phone: TestClient(radio.makeHost(name: "phone"), on: radio),
      strap: TestClient(radio.makeHost(name: "strap", at: Position(x: 3)), on: radio))
    try await encounter.meet()
    try await encounter.subscribe()
    #expect(try await encounter.notify([0x06, 0x48]) == [0x06, 0x48])
    let peer = encounter.peer
    let handle = encounter.subscription.valueHandle
    #expect(try await encounter.phone.ask { .gatt(peer, .read(handle), $0) } == .value([1, 2, 3]))
  }

  @Test("nothing happens before time is advanced, and all of it while it is")
  func standsStill() {
    let radio = VirtualRadio(seed: 1)
    let host = radio.makeHost(name: "phone")
    let client = TestClient(host, on: radio)
    #expect(client.events.isEmpty)
    radio.advance(by: .zero)
    #expect(client.events.count == 1)
    radio.advance(by: .seconds(1))
    #expect(client.isPoweredOn)
    #expect(radio.now == .zero + .seconds(1))
    #expect(host.problem == nil)
  }

  @Test("a seed determines the run")
  func deterministic() {
    func run(_ seed: UInt64) -> [String] {
      let radio = VirtualRadio(seed: seed)
      let phone = TestClient(radio.makeHost(name: "phone"), on: radio)
      let strap = TestClient(radio.makeHost(name: "strap", at: Position(x: 3)), on: radio)
      radio.advance(by: .seconds(1))
      var options = ScanOptions()
      options.allowsDuplicates = true
      phone.send(.startScan(options))
      strap.send(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 1)))
      radio.advance(by: .seconds(5))
      return phone.events.map { "\($0)" }
    }
    let first = run(3)
    #expect(first.count > 3)
    #expect(run(3) == first)
    #expect(run(4) != first)
  }

  @Test("a condition ends the wait as soon as it holds")
  func until() {
    let radio = VirtualRadio(seed: 1)
    let client = TestClient(radio.makeHost(name: "phone"), on: radio)
    #expect(radio.advance(within: .seconds(10)) { client.isPoweredOn })
    #expect(radio.now < .zero + .seconds(1))
    let before = radio.now
    #expect(!radio.advance(within: .seconds(2)) { false })
    #expect(radio.now == before + .seconds(2))
  }

  @Test("time waits for a client that works through its events elsewhere")
  func settles() {
    let radio = VirtualRadio(seed: 1)
    let host = radio.makeHost(name: "phone")
    let queue = DispatchQueue(label: "delegate")
    let heardAt = Mutex<[Instant]>([])
    let client = host.makeClient(settle: { queue.sync {} }) { _ in
      let now = radio.now
      queue.async { heardAt.withLock { $0.append(now) } }
    }
    radio.advance(by: .seconds(1))
    let count = heardAt.withLock { $0.count }
    #expect(count >= 2)
    radio.advance(by: .seconds(1))
    #expect(heardAt.withLock { $0.count } == count)
    client.close()
  }

  @Test("a closed client hears nothing more")
  func closedClient() {
    let radio = VirtualRadio(seed: 1)
    let client = TestClient(radio.makeHost(name: "phone"), on: radio)
    radio.advance(by: .zero)
    client.client.close()
    let count = client.events.count
    radio.advance(by: .seconds(2))
    #expect(client.events.count == count)
  }

  @Test("a controller without power is a radio that is off, until the power is back")
  func powerCycle() async throws {
    let radio = VirtualRadio(seed: 1)
    let host = radio.makeHost(name: "phone")
    let client = TestClient(host, on: radio)
    try await client.state(.poweredOn)
    radio.withController(of: host) { $0.powerOff() }
    try await client.state(.poweredOff)
    #expect(host.problem == "The simulated controller has no power.")
    radio.withController(of: host) { $0.powerOn() }
    try await client.state(.poweredOn)
    #expect(host.problem == nil)
  }

  @Test("hosts and clients may be used from many threads while time goes on")
  func threads() async {
    let radio = VirtualRadio(seed: 1)
    let host = radio.makeHost(name: "phone")
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            let client = host.makeClient { _ in }
            client.send(.startScan(ScanOptions()))
            client.close()
          }
        }
      }
      for _ in 0..<200 { radio.advance(by: .milliseconds(10)) }
    }
    let client = TestClient(host, on: radio)
    radio.advance(by: .seconds(1))
    #expect(client.isPoweredOn)
  }

  @Test("a host that is closed while another thread reads the radio is closed after that")
  func closedMeanwhile() throws {
    let radio = VirtualRadio(seed: 5)
    let host = radio.makeHost(name: "a")
    radio.advance(by: .seconds(1))
    let isClosed = Mutex(false)
    let asked = DispatchSemaphore(value: 0)
    radio.withWorld { _ in
      Thread.detachNewThread {
        host.driver.stop { isClosed.withLock { $0 = true } }
        asked.signal()
      }
      asked.wait()
      #expect(!isClosed.withLock { $0 })
    }
    #expect(isClosed.withLock { $0 })
  }

  @Test("a closed host is complete at once, and off the air")
  func closedHost() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let radio = VirtualRadio(seed: 1)
    let host = try radio.makeHost(name: "phone", captureTo: path)
    radio.advance(by: .seconds(1))
    await host.close()
    let records = try CaptureTests.records(path)
    #expect(records.first?.packet.bytes.prefix(2) == [0x03, 0x0C])
    #expect(records.count > 10)
    #expect(!radio.withController(of: host) { $0.isPoweredOn })
  }
}

extension TestClient {
  /// Whether the last state heard was `poweredOn`.
  var isPoweredOn: Bool {
    let states = events.compactMap { event -> RadioState? in
      if case .stateChanged(let state) = event { state } else { nil }
    }
    return states.last == .poweredOn
  }
}

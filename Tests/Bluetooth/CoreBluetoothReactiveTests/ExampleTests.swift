import BluetoothHost
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Reactive
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import BestPractices

/// The documentation's example, run as it is.
@Suite("Best practices with producers")
struct ReactiveExampleTests {
  @Test("an app follows a heart-rate strap, also after it was away")
  func heartRates() {
    let radio = VirtualRadio(seed: 3)
    let strap = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let central = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: nil, queue: DispatchQueue(label: "phone"))
    }
    let scheduler = TestScheduler()
    let rates = Mutex<[UInt8]>([])
    let count = { rates.withLock { $0.count } }
    let run = BestPractices.heartRates(central, on: scheduler).startWithResult { result in
      if case .success(let rate) = result { rates.withLock { $0.append(rate) } }
    }
    #expect(radio.advance(within: .seconds(60)) { count() == 3 })
    radio.withWorld { _ in strap.controller.position = Position(x: 100_000, y: 0) }
    radio.advance(by: .seconds(60))
    let before = count()
    radio.withWorld { _ in strap.controller.position = Position(x: 1, y: 0) }
    radio.advance(by: .seconds(60))
    #expect(count() == before)
    // The time to wait before the next attempt.
    scheduler.advance(by: .seconds(60))
    #expect(radio.advance(within: .seconds(60)) { count() > before + 3 })
    run.dispose()
    radio.advance(by: .seconds(1))
    let after = count()
    radio.advance(by: .seconds(60))
    #expect(count() == after)
    #expect(!central.isScanning)
    #expect(rates.withLock { $0 }.allSatisfy { $0 > 30 })
  }
}

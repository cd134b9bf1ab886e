import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

/// Looks at the radio's world, changes it and lets time pass, or tries to, when it hears something.
private final class Meddler: NSObject, CBCentralManagerDelegate, Sendable {
  let radio: VirtualRadio
  let letsTimePass: Bool
  let times = Mutex<[Instant]>([])
  let names = Record()

  init(_ radio: VirtualRadio, letsTimePass: Bool = false) {
    self.radio = radio
    self.letsTimePass = letsTimePass
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    times.withLock { $0.append(radio.now) }
    _ = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    if letsTimePass { radio.advance(by: .seconds(1)) }
    central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    times.withLock { $0.append(radio.now) }
    names.add(peripheral.name ?? "?")
  }

  func makeManager() -> CBCentralManager {
    BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: self, queue: DispatchQueue(label: "meddler"))
    }
  }
}

@Suite("The world of a virtual radio, seen from a delegate")
struct WorldFromDelegatesTests {
  @Test("a delegate may look at the world and change it while time waits for it")
  func meddles() {
    let radio = VirtualRadio(seed: 1)
    let meddler = Meddler(radio)
    let manager = meddler.makeManager()
    #expect(radio.advance(within: .seconds(20)) { meddler.names.lines.contains("Pulse strap") })
    withExtendedLifetime(manager) {
      let times = meddler.times.withLock { $0 }
      #expect(times == times.sorted())
      #expect(times.last == radio.now)
    }
  }

  @Test("time cannot pass in a delegate for which time waits: that ends the process")
  func advanceInDelegate() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let radio = VirtualRadio(seed: 1)
      let meddler = Meddler(radio, letsTimePass: true)
      let manager = meddler.makeManager()
      radio.advance(by: .seconds(1))
      withExtendedLifetime((meddler, manager)) {}
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("advance was called from within a callback of the virtual radio"))
  }

  @Test("threads that let time pass at once do it one after the other, and the app is heard")
  func manyThreads() {
    let radio = VirtualRadio(seed: 1)
    let meddler = Meddler(radio)
    let manager = meddler.makeManager()
    DispatchQueue.concurrentPerform(iterations: 8) { number in
      if number.isMultiple(of: 2) {
        radio.advance(by: .seconds(2))
      } else {
        for _ in 0..<50 { _ = radio.withWorld { $0.now } }
      }
    }
    #expect(radio.now == .zero + .seconds(8))
    #expect(manager.isScanning)
    #expect(meddler.names.lines.contains("Pulse strap"))
  }
}

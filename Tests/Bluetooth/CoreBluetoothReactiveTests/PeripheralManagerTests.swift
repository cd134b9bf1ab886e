import BluetoothHost
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Reactive
import RunLoopSupport
import SimulatedRadio
import Simulation
import Testing

@testable import CoreBluetoothReactive

@Suite("A peripheral manager's producers")
struct PeripheralManagerTests {
  private let pair = Pair()

  @Test("a service is published and advertised as long as its runs last")
  func publication() {
    let manager = BluetoothHost.$current.withValue(pair.radio.makeHost(name: "other")) {
      CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "other"))
    }
    let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    service.characteristics = []
    let publication = manager.reactive.publication(of: service).record("service", in: pair.log) {
      $0.uuid.uuidString
    }
    let advertising = manager.reactive.advertising([:]).record("advertising", in: pair.log) { "on" }
    pair.wait(for: "service: 180F", "advertising: on")
    #expect(manager.isAdvertising)
    // Another addition is refused while it is published.
    _ = manager.reactive.publication(of: service).take(first: 1).record("again", in: pair.log)
    pair.wait(for: "again failed: refused, invalidParameters")
    // The run that was refused didn't take the service with it.
    #expect(pair.log.lines.filter { $0.hasPrefix("service") } == ["service: 180F"])
    manager.add(service)
    pair.advance(seconds: 1)
    #expect(pair.log.lines.filter { $0.hasPrefix("service") } == ["service: 180F"])
    advertising.dispose()
    #expect(!manager.isAdvertising)
    publication.dispose()
    pair.advance(seconds: 1)
    #expect(PeripheralManagerListener.all.useCount(for: manager) == 0)
    #expect(manager.delegateProxy == nil)
    #expect(manager.keyValueObservers.count == 0)
  }

  @Test("advertising goes on when the radio is back, with the service")
  func powerOff() throws {
    _ = pair.gadgetLog.take()
    pair.crash(pair.gadget)
    pair.wait(pair.gadgetLog, for: ["advertising: on"])
    let (peripheral, run) = try pair.connect()
    _ = try pair.characteristic(Pair.readingUUID, of: peripheral)
    run.dispose()
  }

  @Test("requests go to their observers, else to the delegate, else are refused")
  func requests() throws {
    final class Listener: NSObject, CBPeripheralManagerDelegate, Sendable {
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
      func peripheralManager(
        _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
      ) {
        request.value = Data([9])
        peripheral.respond(to: request, withResult: .success)
      }
    }
    let manager = BluetoothHost.$current.withValue(pair.gadget) {
      CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "second"))
    }
    let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    let level = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: .read, value: nil, permissions: .readable)
    service.characteristics = [level]
    let publication = manager.reactive.publication(of: service)
      .record("battery", in: pair.gadgetLog) { $0.uuid.uuidString }
    pair.wait(pair.gadgetLog, for: ["battery: 180F"])
    let (peripheral, run) = try pair.connect()
    let lines = { () -> [String] in
      _ = peripheral.reactive.characteristic(CBUUID(string: "2A19"), of: CBUUID(string: "180F"))
        .flatMap(.latest) { peripheral.reactive.read($0) }
        .record("read", in: pair.log) { "\(Array($0))" }
      #expect(pair.radio.advance(within: .seconds(20)) { !pair.log.lines.isEmpty })
      return pair.log.take()
    }
    #expect(lines() == ["read failed: attribute 6"])
    let listener = Listener()
    publication.dispose()
    manager.delegate = listener
    let second = manager.reactive.publication(of: service)
      .record("again", in: pair.gadgetLog) { $0.uuid.uuidString }
    pair.wait(pair.gadgetLog, for: ["again: 180F"])
    pair.advance(seconds: 2)
    #expect(lines().first == "read: [9]")
    let reads = manager.reactive.readRequests.startWithValues { request in
      request.value = Data([5])
      manager.respond(to: request, withResult: .success)
    }
    #expect(lines().first == "read: [5]")
    reads.dispose()
    #expect(lines().first == "read: [9]")
    second.dispose()
    #expect(manager.delegate === listener)
    run.dispose()
  }

  @Test("updates wait for room, and fail when the radio goes")
  func updates() throws {
    let (peripheral, _) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let values = peripheral.reactive.values(of: reading).record("value", in: pair.log) {
      "\($0.count)"
    }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    let room = pair.manager.reactive.updateReadiness.record("room", in: pair.gadgetLog) { "again" }
    for length in 1...300 {
      _ = pair.manager.reactive.updateValue(Data(count: length), for: pair.reading)
        .record("update", in: pair.gadgetLog)
    }
    #expect(pair.gadgetLog.lines.count { $0 == "update completed" } == 128)
    pair.wait(for: "value: 300")
    #expect(pair.log.lines == (1...300).map { "value: \($0)" })
    #expect(pair.gadgetLog.lines.contains("room: again"))
    for _ in 0..<200 {
      _ = pair.manager.reactive.updateValue(Data([1]), for: pair.reading)
        .record("last", in: pair.gadgetLog)
    }
    pair.crash(pair.gadget)
    pair.wait(pair.gadgetLog, for: ["last failed: not available, poweredOff"])
    let last = pair.gadgetLog.lines.filter { $0.hasPrefix("last") }
    #expect(last.count == 200)
    room.dispose()
    values.dispose()
  }
}

import BluetoothHost
import CoreBluetooth
import CoreBluetoothAsync
import CoreBluetoothReactive
import Essentials
import Reactive
import SimulatedRadio
import Simulation
import Testing

@Suite("A central manager's producers")
struct CentralTests {
  private let pair = Pair()

  @Test("the state is sent now, and when the radio goes and comes back")
  func states() {
    let run = pair.central.reactive.states.record("state", in: pair.log)
    #expect(pair.log.lines == ["state: poweredOn"])
    pair.crash(pair.phone)
    pair.advance(seconds: 60)
    run.dispose()
    pair.crash(pair.phone)
    pair.advance(seconds: 60)
    #expect(
      pair.log.lines == [
        "state: poweredOn", "state: poweredOff", "state: poweredOn", "state interrupted",
      ])
    #expect(pair.central.keyValueObservers.count == 0)
  }

  @Test("a scan lasts as long as its runs, and goes on when the radio is back")
  func scan() {
    let discoveries = pair.central.reactive.discoveries(
      withServices: [Pair.serviceUUID], allowDuplicates: true)
    let run = discoveries.record("found", in: pair.log) { $0.advertisement.localName ?? "?" }
    #expect(pair.central.isScanning)
    pair.wait(for: "found: Gadget")
    pair.crash(pair.phone)
    #expect(pair.radio.advance(within: .seconds(10)) { !pair.central.isScanning })
    _ = pair.log.take()
    pair.wait(for: "found: Gadget")
    run.dispose()
    #expect(!pair.central.isScanning)
    _ = pair.log.take()
    pair.advance(seconds: 5)
    #expect(pair.log.lines == [])
    #expect(pair.central.delegate == nil)
  }

  @Test("a scan is shared by several runs, and each gets only its own results")
  func sharedScan() {
    let strange = CBUUID(string: "180D")
    let reactive = pair.central.reactive
    let runs = [
      reactive.discoveries(withServices: [strange]).record("pulse", in: pair.log) { _ in "found" },
      reactive.discoveries().record("all", in: pair.log) { $0.advertisement.localName ?? "?" },
      reactive.discoveries(withServices: [Pair.serviceUUID]).record("sense", in: pair.log) {
        $0.advertisement.localName ?? "?"
      },
    ]
    pair.wait(for: "all: Gadget", "sense: Gadget")
    runs[1].dispose()
    #expect(pair.central.isScanning)
    _ = pair.log.take()
    pair.wait(for: "sense: Gadget")
    #expect(!pair.log.lines.contains { $0.hasPrefix("pulse") || $0.hasPrefix("all") })
    for run in runs { run.dispose() }
    #expect(!pair.central.isScanning)
  }

  @Test("an empty list of services finds all advertisers, also beside a run that looks for some")
  func emptyList() {
    let reactive = pair.central.reactive
    let runs = [
      reactive.discoveries(withServices: []).record("all", in: pair.log) {
        $0.advertisement.localName ?? "?"
      },
      reactive.discoveries(withServices: [CBUUID(string: "180D")]).record("pulse", in: pair.log) {
        _ in "found"
      },
    ]
    pair.wait(for: "all: Gadget")
    for run in runs { run.dispose() }
  }

  @Test("a connection lasts until its run is disposed of")
  func connection() throws {
    let (peripheral, run) = try pair.connect()
    #expect(peripheral.state == .connected)
    run.dispose()
    #expect(peripheral.state == .disconnecting)
    pair.advance(seconds: 1)
    #expect(peripheral.state == .disconnected)
    #expect(pair.log.lines == ["connection interrupted"])
    pair.expectNoListeners(of: peripheral)
  }

  @Test("disposing of a connection that is waited for cancels it")
  func pending() throws {
    let peripheral = try pair.discover()
    pair.move(metres: 100_000)
    let run = pair.central.reactive.connection(to: peripheral).record("connection", in: pair.log)
    pair.advance(seconds: 10)
    #expect(peripheral.state == .connecting)
    run.dispose()
    pair.move(metres: 2)
    pair.advance(seconds: 10)
    #expect(peripheral.state == .disconnected)
    #expect(pair.log.lines == ["connection interrupted"])
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a connection that is lost fails with the reason, and so do its operations")
  func lost() throws {
    let (peripheral, _) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let runs = [
      peripheral.reactive.values(of: reading).record("values", in: pair.log),
      pair.central.reactive.connection(to: peripheral).flatMap(.latest) {
        $0.reactive.values(of: reading)
      }.record("chain", in: pair.log),
    ]
    pair.advance(seconds: 1)
    pair.move(metres: 100_000)
    pair.wait(for: "connection failed: disconnected connectionTimeout")
    #expect(
      pair.log.lines.sorted() == [
        "chain failed: disconnected connectionTimeout",
        "connection failed: disconnected connectionTimeout",
        "values failed: disconnected connectionTimeout",
      ])
    pair.expectNoListeners(of: peripheral)
    withExtendedLifetime(runs) {}
  }

  @Test("a connection that the app cancels completes, and so do the values over it")
  func cancelledElsewhere() throws {
    let (peripheral, _) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: reading).record("values", in: pair.log)
    pair.advance(seconds: 1)
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(for: "connection completed", "values completed")
    #expect(pair.log.lines.count == 2)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("the last of two runs with one peripheral ends the connection")
  func sharedConnection() throws {
    let (peripheral, one) = try pair.connect()
    let another = pair.central.reactive.connection(to: peripheral).record("other", in: pair.log) {
      _ in "connected"
    }
    #expect(pair.log.take() == ["other: connected"])
    one.dispose()
    pair.advance(seconds: 5)
    #expect(peripheral.state == .connected)
    another.dispose()
    pair.advance(seconds: 5)
    #expect(peripheral.state == .disconnected)
    #expect(pair.log.lines == ["connection interrupted", "other interrupted"])
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a connection that is wanted again at once comes about again")
  func again() throws {
    let (peripheral, run) = try pair.connect()
    run.dispose()
    let next = pair.central.reactive.connection(to: peripheral).record("next", in: pair.log) { _ in
      "connected"
    }
    pair.wait(for: "next: connected")
    pair.advance(seconds: 5)
    #expect(peripheral.state == .connected)
    #expect(pair.log.lines == ["connection interrupted", "next: connected"])
    next.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("when the radio goes the connection fails; tried again, it waits for the radio")
  func powerOff() throws {
    let peripheral = try pair.discover()
    let connection = pair.central.reactive.connection(to: peripheral)
    _ = connection.record("once", in: pair.log) { _ in "connected" }
    let run = connection.retry(upTo: 1).record("twice", in: pair.log) { _ in "connected" }
    pair.wait(for: "once: connected", "twice: connected")
    pair.crash(pair.phone)
    pair.wait(for: "once failed: not available, poweredOff")
    #expect(!pair.log.take().contains { $0.hasPrefix("twice failed") })
    pair.wait(for: "twice: connected")
    #expect(peripheral.state == .connected)
    run.dispose()
    pair.advance(seconds: 1)
    #expect(peripheral.state == .disconnected)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a connection that is waited for fails when the radio goes")
  func powerOffWhileWaiting() throws {
    let peripheral = try pair.discover()
    pair.move(metres: 100_000)
    _ = pair.central.reactive.connection(to: peripheral).record("connection", in: pair.log)
    pair.advance(seconds: 5)
    pair.crash(pair.phone)
    pair.wait(for: "connection failed: not available, poweredOff")
    pair.expectNoListeners(of: peripheral)
  }

  @Test("the app's delegate receives every call, and stays the delegate")
  func delegate() throws {
    final class Listener: NSObject, CBCentralManagerDelegate, Sendable {
      let log = Log()
      func centralManagerDidUpdateState(_ central: CBCentralManager) {
        log.add("state \(central.state)")
      }
      func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
        advertisementData: [String: Any], rssi RSSI: NSNumber
      ) { log.add("discovered") }
      func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        log.add("connected")
      }
      func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
        error: (any Error)?
      ) { log.add("disconnected") }
    }
    let listener = Listener()
    pair.central.delegate = listener
    let (peripheral, run) = try pair.connect()
    #expect(pair.central.delegate === listener)
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(for: "connection completed")
    #expect(Set(listener.log.lines) == ["discovered", "connected", "disconnected"])
    #expect(pair.central.delegate === listener)
    run.dispose()
  }

  @Test("neither manager nor peripheral nor what a run captured is kept alive")
  func release() throws {
    weak var captured: Log?
    weak var central: CBCentralManager?
    weak var peripheral: CBPeripheral?
    do {
      let log = Log()
      captured = log
      let manager = BluetoothHost.$current.withValue(pair.radio.makeHost(name: "other")) {
        CBCentralManager(delegate: nil, queue: DispatchQueue(label: "other"))
      }
      pair.advance(seconds: 1)
      central = manager
      let found = try #require(
        manager.retrievePeripherals(withIdentifiers: [try pair.discover().identifier]).first)
      peripheral = found
      let run = manager.reactive.connection(to: found)
        .flatMap(.latest) { $0.reactive.characteristic(Pair.readingUUID, of: Pair.serviceUUID) }
        .flatMap(.latest) { found.reactive.values(of: $0) }
        .record("values", in: log)
      #expect(
        pair.wait(pair.gadgetLog, for: ["subscribed: true"]), "\(log.lines)")
      run.dispose()
      pair.advance(seconds: 1)
      #expect(found.state == .disconnected)
    }
    #expect(captured == nil)
    #expect(peripheral == nil)
    #expect(central == nil)
  }
}

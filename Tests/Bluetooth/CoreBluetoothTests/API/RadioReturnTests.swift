import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app as most are written: it keeps its peripheral and connects it whenever the radio is on.
private final class ReconnectingApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  // Unchecked: changed on the delegate queue and read after it has settled.
  let record = Record()
  var saved: CBPeripheral?

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    record.add("state \(central.state)")
    guard central.state == .poweredOn, let saved else { return }
    central.connect(saved)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    record.add("connected")
  }
  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) { record.add("failed \(text(error))") }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) { record.add("disconnected \(text(error)) at \(Int(timestamp)) s") }
}

@Suite("A radio that goes away and comes back")
struct RadioReturnTests {
  private func meet() throws -> (Pair, ReconnectingApp, CBCentralManager) {
    let pair = Pair()
    let app = ReconnectingApp()
    let central = BluetoothHost.$current.withValue(pair.phoneHost) {
      CBCentralManager(delegate: app, queue: DispatchQueue(label: "app"))
    }
    pair.radio.advance(by: .seconds(1))
    app.saved = central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first
    central.connect(try #require(app.saved))
    pair.wait(app.record, for: "connected")
    return (pair, app, central)
  }

  @Test("a radio that crashed is used again with the peripheral that the app kept")
  func crash() throws {
    let (pair, app, central) = try meet()
    pair.radio.withController(of: pair.phoneHost) { $0.crash() }
    let isBack = pair.radio.advance(within: .seconds(60)) { app.record.lines.last == "connected" }
    #expect(isBack)
    let lines = app.record.take()
    #expect(lines.count == 4, "\(lines)")
    #expect(lines.first == "state poweredOff")
    // The time stamp is virtual, as the radio's time is.
    let now = Int((pair.radio.now - .zero).seconds)
    let times = (0...now).map { "disconnected peripheralDisconnected at \($0) s" }
    #expect(times.contains(lines[1]), "\(lines)")
    #expect(Array(lines[2...]) == ["state poweredOn", "connected"])
    #expect(app.saved?.state == .connected)
    withExtendedLifetime(central) {}
  }

  @Test("a radio that fell silent is used again with the peripheral that the app kept")
  func silence() throws {
    let (pair, app, central) = try meet()
    pair.radio.withController(of: pair.phoneHost) { $0.faults.isSilent = true }
    app.saved?.readRSSI()
    pair.wait(app.record, for: "state poweredOff")
    pair.radio.withController(of: pair.phoneHost) { $0.faults.isSilent = false }
    let isBack = pair.radio.advance(within: .seconds(60)) { app.record.lines.last == "connected" }
    #expect(isBack, "\(app.record.lines)")
    #expect(!app.record.lines.contains { $0.hasPrefix("failed") })
    withExtendedLifetime(central) {}
  }

  @Test("a connection to another manager's peripheral fails through the delegate")
  func foreignPeripheral() throws {
    let (pair, app, central) = try meet()
    let other = try #require(
      pair.central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first)
    central.connect(other)
    pair.wait(app.record, for: "failed unknownDevice")
    #expect(app.saved?.state == .connected)
  }
}

@testable import AppCode
import BluetoothHost
import BluetoothWire
import CoreBluetooth
import Dispatch
import Essentials
import Foundation
import PeripheralFiles
import SimulatedRadio
import Simulation
import Testing

@Suite("Recorded devices in virtual time")
struct RecordedDeviceTests {
  private static func recording() throws -> PeripheralFile {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples/recordings/strap.json").standardizedFileURL.path
    return try PeripheralFile(contentsOf: path)
  }

  @Test("an app finds a recorded device, connects it, and gets the recorded values")
  func app() throws {
    let file = try Self.recording()
    let recorded = try #require(
      file.services.flatMap(\.characteristics).first { $0.uuid == 0x2A37 })
    let rates = recorded.notifications.map { "rate \($0.value[1])" }
    try #require(rates.count >= 3)

    let radio = VirtualRadio(seed: 7)
    radio.addDevice(file)
    let phone = radio.makeHost(name: "phone")
    let app = BluetoothHost.$current.withValue(phone) {
      HeartRateMonitor(queue: DispatchQueue(label: "app"))
    }
    radio.advance(by: .seconds(20))
    // The name is in the scan response, which comes after the first discovery.
    #expect(app.log.prefix(4) == ["on", "found n/a", "connected", "subscribed"])
    #expect(Array(app.log.dropFirst(4).prefix(rates.count)) == rates)
  }

  @Test("one seed makes one run of a recorded device")
  func repeatable() throws {
    let file = try Self.recording()
    let logs = (0..<2).map { _ in
      let radio = VirtualRadio(seed: 3)
      radio.addDevice(file)
      let app = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
        HeartRateMonitor(queue: DispatchQueue(label: "app"))
      }
      radio.advance(by: .seconds(30))
      return app.log
    }
    #expect(logs[0] == logs[1] && logs[0].count > 10)
  }
}

import BluetoothInterface
import BluetoothWire
import CoreBluetoothAsync
import Essentials
import Foundation
import Testing

@testable import CoreBluetooth

@Suite("Restored peripherals with async and await", .timeLimit(.minutes(5)))
struct AsyncRestorationTests {
  private let keeping = KeepingHost()

  private func restore(_ events: HostEvent...) -> Central {
    let central = Central(host: keeping, restoreIdentifier: "lock")
    keeping.attach(.strap())
    let link = LinkInfo(peer: .strap, role: .central)
    for event in [.linkOpened(link), .stateChanged(.poweredOn)] + events {
      keeping.host.post(event)
    }
    keeping.host.settle()
    return central
  }

  @Test("the values that came meanwhile are the first ones of a restored peripheral's sequence")
  func values() async throws {
    let central = restore(
      .valueUpdated(.strap, handle: 12, [1]), .valueUpdated(.strap, handle: 12, [2]))
    let restored = await central.restoredPeripherals()
    #expect(restored.map(\.identifier) == [.strap])
    #expect(await central.restoredPeripherals().isEmpty)
    let strap = try #require(restored.first)
    let measurement = try #require(strap.peripheral.services?.first?.characteristics?.first)
    var values: [UInt8] = []
    for try await value in strap.values(of: measurement) {
      values += value
      if values.count == 2 { keeping.host.deliver(.valueUpdated(.strap, handle: 12, [3])) }
      if values.count == 3 { break }
    }
    #expect(values == [1, 2, 3])
    // Nothing is held any more.
    keeping.host.deliver(.valueUpdated(.strap, handle: 12, [4]))
    let later = strap.values(of: measurement)
    keeping.host.deliver(.valueUpdated(.strap, handle: 12, [5]))
    for try await value in later {
      #expect(value == Data([5]))
      break
    }
  }

  @Test("a pending connection that is established before anything waits for it stays")
  func pendingConnection() async throws {
    let central = restore(.connected(.phone))
    let restored = await central.restoredPeripherals()
    let phone = PeerIdentifier.uuid(of: .phone)
    #expect(restored.map(\.identifier) == [.strap, phone])
    #expect(restored.allSatisfy(\.isConnected) && keeping.host.requests.isEmpty)
  }

  @Test("connecting a restored peripheral waits for its pending connection")
  func connecting() async throws {
    let central = restore()
    let phone = PeerIdentifier.uuid(of: .phone)
    let connection = Task { try await central.connect(phone) }
    while central.callerCount(of: phone) == 0 { await Task.yield() }
    keeping.host.deliver(.connected(.phone))
    let connected = try await connection.value
    #expect(connected.identifier == phone)
    #expect(await central.restoredPeripherals().map(\.identifier) == [.strap])
  }
  @Test("a restored connection that is lost ends its peripheral, also if the host would reconnect")
  func loss() async throws {
    let central = restore()
    let strap = try #require(await central.restoredPeripherals().first)
    let measurement = try #require(strap.peripheral.services?.first?.characteristics?.first)
    let timeout = HostError.disconnected(HCIStatus(rawValue: 0x08))
    keeping.host.deliver(.disconnected(.strap, timeout, reconnecting: true))
    #expect(await strap.waitForDisconnection() == .disconnected(CBError(.connectionTimeout)))
    await #expect(throws: BluetoothError.self) { try await strap.read(measurement) }
    #expect(keeping.host.requests.contains(.disconnect(.strap)))
  }

  @Test("restored connections that no caller has taken end with their central")
  func release() {
    do { _ = restore() }
    #expect(keeping.host.requests.contains(.disconnect(.strap)))
    #expect(keeping.host.requests.contains(.disconnect(.phone)))
    #expect(keeping.host.isClosed)
  }
}

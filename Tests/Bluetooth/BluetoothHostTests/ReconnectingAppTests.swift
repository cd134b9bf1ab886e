import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app as most are written: it finds a strap once, keeps it, and connects it whenever the radio is on.
private final class ReconnectingApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  // Unchecked: changed on the delegate's queue only.
  private let continuation: AsyncStream<String>.Continuation
  private var saved: CBPeripheral?

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    continuation.yield("\(central.state)")
    guard central.state == .poweredOn else { return }
    if let saved {
      central.connect(saved)
    } else {
      central.scanForPeripherals(withServices: nil)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard saved == nil else { return }
    saved = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    continuation.yield(peripheral === saved ? "connected" : "another object connected")
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) { continuation.yield("failed") }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { continuation.yield(error == nil ? "disconnected" : "lost") }
}

@Suite("An app whose radio's process ends and comes back", .timeLimit(.minutes(5)))
struct ReconnectingAppTests {
  private static func serve(at address: RadioChoice) async throws -> RadioServer {
    try await RadioServer.start(at: [address]) {
      let world = World(seed: 1, radio: .ideal)
      _ = world.addHeartRateStrap(at: Position(x: 1, y: 0))
      return world
    }
  }

  @Test("an app reconnects the peripheral that it kept", arguments: ["tcp", "unix"])
  func comesBack(_ transport: String) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    var server = try await Self.serve(
      at: transport == "tcp" ? .tcp(host: "127.0.0.1", port: 0) : .unix(path: path))
    let address = try #require(server.addresses.first)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let app = ReconnectingApp(continuation)
    let host = try BluetoothHost(radio: address)
    let manager = BluetoothHost.$current.withValue(host) {
      CBCentralManager(delegate: app, queue: DispatchQueue(label: "app"))
    }
    var iterator = lines.makeAsyncIterator()
    var heard: [String?] = []
    for _ in 0..<2 { heard.append(await iterator.next()) }
    #expect(heard == ["poweredOn", "connected"])
    for _ in 0..<2 {
      await server.close()
      heard = [await iterator.next(), await iterator.next()]
      #expect(heard == ["poweredOff", "lost"])
      server = try await Self.serve(at: address)
      heard = [await iterator.next(), await iterator.next()]
      #expect(heard == ["poweredOn", "connected"])
    }
    #expect(manager.state == .poweredOn)
    await host.close()
    await server.close()
  }
}

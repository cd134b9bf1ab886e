import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Foundation
import HubHost
import HubMachines
import SimulatedRadio
import Simulation

/// The processes on which hubs are measured, besides those of the rig.
enum HubServing {
  /// Serves a radio at this path until the process is ended, and prints the time when its state is `poweredOn`.
  static func serveHub(radio: String, path: String) async throws {
    let host = try BluetoothHost(radio: RadioChoice(parsing: radio))
    var limits = HubLimits()
    // One process of the benchmark has the connections of all programs.
    limits.connectionCountPerProcessMax = limits.connectionCountPerUserMax
    let server = try await HubServer.start(at: .path(path), host, limits: limits)
    let client = host.makeClient { event in
      if case .stateChanged(.poweredOn) = event { say("\(Clock.wallSeconds())") }
    }
    try await Rig.sleepForEver()
    client.close()
    await server.close()
    await host.close()
  }

  /// Serves ideal air on which devices advertise as often as their hosts want, for the crowd of ``servePeripherals``.
  static func serveRadio() async throws {
    let server = try await RadioServer.start(
      at: [.tcp(host: "127.0.0.1", port: 0)], makeWorld: { World(seed: 1, radio: .ideal) })
    say("\(server.addresses[0])")
    try await Rig.sleepForEver()
    await server.close()
  }

  /// The address of a peripheral of a crowd.
  static func address(ofPeripheral index: Int) -> DeviceAddress {
    DeviceAddress(bits: 0xC0BE_0000_0000 + UInt64(index), kind: .random)
  }

  /// Runs a crowd of peripherals, each a host with a controller of its own, until the process is ended.
  static func servePeripherals(radio: String, count: Int) async throws {
    let hosts = try (0..<count).map { index in
      var configuration = HostConfiguration()
      configuration.name = "peripheral \(index)"
      configuration.address = address(ofPeripheral: index)
      return try BluetoothHost(radio: RadioChoice(parsing: radio), configuration: configuration)
    }
    let runners = hosts.map { RoleRunner(ServingRole(), on: $0) }
    for runner in runners { try await runner.wait { $0.isAdvertising } }
    say("ready")
    try await Rig.sleepForEver()
    for host in hosts { await host.close() }
  }
}
